#include "server/cli/terminal.h"

#include <unistd.h>

namespace server {

bool is_terminal(int fd, const runtime::Environment& environment) {
  const auto term = environment.find("TERM");
  const bool dumb = term == environment.end() || term->second.empty() || term->second == "dumb";
  return ::isatty(fd) == 1 && !dumb;
}

Colours colours_on(int fd, const runtime::Environment& environment) {
  const auto no_colour = environment.find("NO_COLOR");
  const bool is_unwanted = no_colour != environment.end() && !no_colour->second.empty();
  return is_terminal(fd, environment) && !is_unwanted ? Colours::ansi : Colours::none;
}

}  // namespace server
