// JSON of providers: read with tolerance for what is not there, since what is promised and what is
// sent differ from one to the next.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/json/members.h"
#include "runtime/json/reader.h"
#include "runtime/json/writer.h"
#include "runtime/llm/wire_format.h"

namespace runtime::llm {

using json::member;
using json::text_member;
// 0 where `value` is null, no object, or has no such member.
std::uint64_t count_member(const json::Value* value, std::string_view key);
// The items of an array; empty where it is none.
const json::Array& items_of(const json::Value* value);

// As OpenAI writes them and others after it: who speaks, and the member "tools".
std::string_view role_of(Speaker speaker);
void write_functions(json::Writer& writer, const std::vector<Tool>& tools);

void write_value(json::Writer& writer, const json::Value& value);
std::string text_of(const json::Value& value);

// The status and words of an error object {"message", "code" or "status" or "type"}, or of a
// string.
ProviderFault fault_of_error(const json::Value& error, int status);
// As decode_error() does for most: {"error": ...} as fault_of_error() reads it, else the body as it
// is.
ProviderFault fault_of_body(int status, std::string_view body);
// An answer that is not what the provider promises.
ProviderFault malformed(std::string text);

// The `key` of each item of the array `list`.
Models models_of(std::string_view body, std::string_view list, std::string_view key);

}  // namespace runtime::llm
