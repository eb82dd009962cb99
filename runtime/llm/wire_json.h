// JSON of providers. Reading tolerates missing members, since promises and answers differ from
// provider to provider.
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
// Returns 0 where `value` is null, is not an object, or has no such member.
std::uint64_t count_member(const json::Value* value, std::string_view key);
// Returns the items of an array; an empty one where it is not an array.
const json::Array& items_of(const json::Value* value);

// Writers for the forms that OpenAI introduced and others use: the speaker, and the member "tools".
std::string_view role_of(Speaker speaker);
void write_functions(json::Writer& writer, const std::vector<Tool>& tools);

void write_value(json::Writer& writer, const json::Value& value);
std::string text_of(const json::Value& value);

// Reads the status and text of an error object {"message", "code" or "status" or "type"}, or of a
// string.
ProviderFault fault_of_error(const json::Value& error, int status);
// decode_error() for most providers: reads {"error": ...} by fault_of_error(), else takes the body
// as it is.
ProviderFault fault_of_body(int status, std::string_view body);
// The fault of an answer that is not what the provider promises.
ProviderFault malformed(std::string text);

// The member `key` of each item of the array `list`.
Models models_of(std::string_view body, std::string_view list, std::string_view key);

}  // namespace runtime::llm
