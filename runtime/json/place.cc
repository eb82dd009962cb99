#include "runtime/json/place.h"

#include <algorithm>

#include "runtime/json/members.h"
#include "runtime/json/writer.h"

namespace runtime::json {

using jail::Result;

Place Place::field(std::string_view name) const {
  return {file_, path_.empty() ? std::string(name) : path_ + "." + std::string(name)};
}

Place Place::item(std::size_t index) const {
  return {file_, path_ + "[" + std::to_string(index) + "]"};
}

jail::Error Place::error(std::string_view what) const {
  std::string text(file_);
  text += ": ";
  if (!path_.empty()) text += path_ + ": ";
  return {jail::ErrorKind::invalid, text.append(what), 0, {}};
}

Result<const Object*> object_with(const Value& value, const Place& place,
                                  std::initializer_list<std::string_view> allowed) {
  const Object* object = value.as_object();
  if (object == nullptr) return place.error("must be an object");
  for (const auto& [name, unused] : *object) {
    if (std::find(allowed.begin(), allowed.end(), name) == allowed.end()) {
      std::string list;
      for (const std::string_view one : allowed) list.append(list.empty() ? "" : ", ").append(one);
      return place.field(named(name)).error("unknown field; allowed are " + list);
    }
  }
  return object;
}

Result<const Array*> non_empty_array(const Object& object, const Place& place,
                                     std::string_view name) {
  const Value* value = member(object, name);
  if (value == nullptr) return place.field(name).error("missing");
  const Array* array = value->as_array();
  if (array == nullptr || array->empty()) {
    return place.field(name).error("must be a list that is not empty");
  }
  return array;
}

Result<std::string> non_empty_text(const Value* value, const Place& place) {
  if (value == nullptr) return place.error("missing");
  const std::string* string = value->as_string();
  if (string == nullptr || string->find_first_not_of(" \t\r\n") == std::string::npos) {
    return place.error("must be a string that is not empty");
  }
  return *string;
}

}  // namespace runtime::json
