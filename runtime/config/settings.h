// The table of all settings: their names, the allowed values, and where the values go.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/config/config.h"

namespace runtime {

struct Setting {
  std::string name;     // name in the environment; empty: it is set in the file only
  std::string key;      // name in the file; "a.b" is the member b of the object a
  std::string allowed;  // for errors: "an integer 0 .. 65535"
  std::function<bool(Config&, std::string_view)> apply;  // returns false if the text is not allowed
  enum class Kind { plain, list, secret, secret_list } kind = Kind::plain;

  bool is_list() const { return kind == Kind::list || kind == Kind::secret_list; }
  bool is_secret() const { return kind == Kind::secret || kind == Kind::secret_list; }
};

std::vector<Setting> all_settings();

}  // namespace runtime
