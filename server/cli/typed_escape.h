// The way out of a terminal whose program takes every key: ~. at the beginning of a line, as of
// ssh(1).
#pragma once

#include <string>

namespace server {

// Not thread-safe.
class TypedEscape {
 public:
  // `typed` is what was typed since the last call; what is left in it is for the program. A ~ at
  // the beginning of a line is kept back until the next key: a dot asks for the end, another ~ is
  // one ~, and whatever else comes is passed on behind it. Returns true where the end was asked
  // for.
  bool take(std::string& typed);

 private:
  bool is_line_begun_ = false;
  bool has_tilde_ = false;
};

}  // namespace server
