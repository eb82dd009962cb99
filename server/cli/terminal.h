// What a terminal may be shown.
#pragma once

#include "runtime/config/environment.h"

namespace server {

enum class Colours : bool { none, ansi };

// Whether `fd` is a terminal that obeys more than line feeds.
bool is_terminal(int fd, const runtime::Environment& environment);

// Whether text on `fd` has colours: a terminal's has, unless NO_COLOR (https://no-color.org) is
// set.
Colours colours_on(int fd, const runtime::Environment& environment);

}  // namespace server
