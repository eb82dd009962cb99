// What stands under a name in an object, for readers that bear what is not there.
#pragma once

#include <string>
#include <string_view>

#include "runtime/json/reader.h"

namespace runtime::json {

// Null: there is no such member, or `value` is null or no object.
const Value* member(const Object& object, std::string_view name) noexcept;
const Value* member(const Value* value, std::string_view name) noexcept;
const Value* member(const Value& value, std::string_view name) noexcept;

// Empty also where the member is no string.
std::string text_member(const Object& object, std::string_view name);
std::string text_member(const Value* value, std::string_view name);

}  // namespace runtime::json
