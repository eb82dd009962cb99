// Lenient look-up of an object's members: a missing member is allowed.
#pragma once

#include <string>
#include <string_view>

#include "runtime/json/reader.h"

namespace runtime::json {

// Returns null where there is no such member, or where `value` is null or not an object.
const Value* member(const Object& object, std::string_view name) noexcept;
const Value* member(const Value* value, std::string_view name) noexcept;
const Value* member(const Value& value, std::string_view name) noexcept;

// Returns an empty string also where the member is not a string.
std::string text_member(const Object& object, std::string_view name);
std::string text_member(const Value* value, std::string_view name);

}  // namespace runtime::json
