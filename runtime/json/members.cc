#include "runtime/json/members.h"

namespace runtime::json {
namespace {

std::string text_of(const Value* value) {
  const std::string* text = value == nullptr ? nullptr : value->as_string();
  return text == nullptr ? std::string() : *text;
}

}  // namespace

const Value* member(const Object& object, std::string_view name) noexcept {
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &found->second;
}

const Value* member(const Value* value, std::string_view name) noexcept {
  const Object* object = value == nullptr ? nullptr : value->as_object();
  return object == nullptr ? nullptr : member(*object, name);
}

const Value* member(const Value& value, std::string_view name) noexcept {
  return member(&value, name);
}

std::string text_member(const Object& object, std::string_view name) {
  return text_of(member(object, name));
}

std::string text_member(const Value* value, std::string_view name) {
  return text_of(member(value, name));
}

}  // namespace runtime::json
