#include "server/cli/typed_escape.h"

#include <utility>

namespace server {

bool TypedEscape::take(std::string& typed) {
  std::string passed;
  bool is_end_asked_for = false;
  for (const char key : std::exchange(typed, {})) {
    const bool had_tilde = std::exchange(has_tilde_, false);
    if (had_tilde && key == '.') {
      is_end_asked_for = true;
      continue;
    }
    if (had_tilde && key != '~') passed += '~';
    if (!had_tilde && !is_line_begun_ && key == '~') {
      has_tilde_ = true;
      continue;
    }
    passed += key;
    is_line_begun_ = key != '\r' && key != '\n';
  }
  typed = std::move(passed);
  return is_end_asked_for;
}

}  // namespace server
