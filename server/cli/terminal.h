// What a terminal may be shown.
#pragma once

#include "runtime/config/environment.h"

namespace server {

enum class Colours : bool { none, ansi };

// Whether `fd` is a terminal that obeys more than line feeds.
bool is_terminal(int fd, const runtime::Environment& environment);

// Of text on `fd`: a terminal's, unless NO_COLOR (https://no-color.org) says otherwise.
Colours colours_on(int fd, const runtime::Environment& environment);

}  // namespace server
