// JSON as commands of a client write and print it.
#pragma once

#include <string>
#include <string_view>

#include "runtime/json/reader.h"
#include "runtime/json/writer.h"
#include "server/cli/sandbox/sandbox_options.h"
#include "server/cli/sandbox/server_client.h"

namespace server::client {

// An object of texts. Of two with one name the later counts.
void write_texts(runtime::json::Writer& writer, const NamedTexts& texts);

// A member of an object as one line without control characters; "-" where there is none, or null.
std::string shown(const runtime::json::Value& object, std::string_view name);
// The same of a time: "2026-11-21 20:16:00" of "2026-11-21T20:16:00.123Z"; all times are UTC.
std::string shown_time(const runtime::json::Value& object, std::string_view name);
// The same with "UTC" behind it, where no title says so.
std::string shown_moment(const runtime::json::Value& object, std::string_view name);
// An array among the members of an object; null: there is none of that name.
const runtime::json::Array* array_in(const runtime::json::Value& object, std::string_view name);
// The exit status after a server has said no, of which is told.
int refused(const ServerClient& client, const jail::Error& error);
// Says so where the server is reached by a Unix socket, which no URL leads to. 0: it is not.
int fail_without_address(const ServerClient& client);
// For an answer that is not what the interface says.
int fail_unreadable();

// All of it to standard output. Returns the exit status.
int print(ServerClient& client, std::string_view text);
// The same of JSON, as one line; what is none is not printed.
int print_json(ServerClient& client, std::string_view text);
// The exit status after a write of output that failed with errno `error`, of which is told where
// that is not what the reader wanted.
int fail_to_write(const Signals& signals, int error);

}  // namespace server::client
