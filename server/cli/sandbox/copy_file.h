// One file into a sandbox or out of it, in pieces.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "runtime/json/reader.h"
#include "server/cli/sandbox/server_client.h"

namespace server::client {

// The path of a sandbox's file in the server's interface.
std::string file_path(const std::string& id, std::string_view path);

// A kernel's error of ours: "read a.txt: No such file or directory".
jail::Error failed(const std::string& doing, int error);

// The same for a file of this host that the command line names, where it cannot be opened: nothing
// was begun.
jail::Error unusable(const std::string& doing, int error);
bool is_unusable(const jail::Error& error);

struct InsideEntry {
  std::string type;  // as the server says it: "file", "directory", "link", "other"
  mode_t mode;       // of a file of one's own; for other types what a new file has
};
InsideEntry inside_entry(const runtime::json::Value& value);
jail::Result<InsideEntry> stat_inside(ServerClient& client, const std::string& id,
                                      std::string_view path);

// `outside` is a file, or a place for one, or "-" for our standard output or input. Errors as those
// of a ServerClient, and failed(); where there is one, what stood in the place still stands there.
jail::Result<void> copy_file_out(ServerClient& client, const std::string& id,
                                 const std::string& inside, const std::string& outside,
                                 mode_t mode);
jail::Result<void> copy_file_in(ServerClient& client, const std::string& id,
                                const std::string& outside, const std::string& inside);

}  // namespace server::client
