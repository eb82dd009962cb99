// The table of everything that can be set: its names, what is allowed, and where it goes.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/config/config.h"

namespace runtime {

struct Setting {
  std::string name;     // in the environment; empty: only the file has it
  std::string key;      // in the file; "a.b" is the member b of the object a
  std::string allowed;  // for errors: "an integer 0 .. 65535"
  std::function<bool(Config&, std::string_view)> apply;  // false: the text is not allowed
  enum class Kind { plain, list, secret, secret_list } kind = Kind::plain;

  bool is_list() const { return kind == Kind::list || kind == Kind::secret_list; }
  bool is_secret() const { return kind == Kind::secret || kind == Kind::secret_list; }
};

std::vector<Setting> all_settings();

}  // namespace runtime
