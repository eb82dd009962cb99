// The place of a value in a file that people write, and checks of its type, for readers whose
// errors say "strict.json: rules[3].when[0]: must be an object".
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "runtime/json/reader.h"

namespace runtime::json {

class Place {
 public:
  // `file` must outlive the place and all places that are derived from it.
  Place(std::string_view file, std::string path) : file_(file), path_(std::move(path)) {}

  Place field(std::string_view name) const;
  Place item(std::size_t index) const;
  jail::Error error(std::string_view what) const;  // ErrorKind::invalid

  std::string_view file() const { return file_; }

 private:
  std::string_view file_;
  std::string path_;
};

// Returns `value` as an object that has only the allowed members.
jail::Result<const Object*> object_with(const Value& value, const Place& place,
                                        std::initializer_list<std::string_view> allowed);

// Returns the member `name` of the object at `place`.
jail::Result<const Array*> non_empty_array(const Object& object, const Place& place,
                                           std::string_view name);

// Returns a string that is not empty or blank. `value` may be null: missing.
jail::Result<std::string> non_empty_text(const Value* value, const Place& place);

}  // namespace runtime::json
