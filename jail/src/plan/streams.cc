#include <linux/close_range.h>

#include <limits>

#include "plan/concerns.h"

namespace jail {

void add_streams(Builder& builder) {
  builder.call(JAIL_CALL(setsid), {}, "start a session of the guest's own");
  const char* names[] = {"standard input", "standard output", "standard error"};
  for (std::uint8_t i = 0; i < 3; ++i) {
    const SlotRef stream{static_cast<std::uint8_t>(wire::slot_stdin + i)};
    builder.call(JAIL_CALL(dup3), {Builder::slot(stream), Builder::value(i), Builder::value(0)},
                 std::string("take ") + names[i]);
  }
  // Everything else is close-on-exec already; this covers what a later change may forget.
  builder.call(JAIL_CALL(close_range),
               {Builder::value(3), Builder::value(std::numeric_limits<unsigned>::max()),
                Builder::value(CLOSE_RANGE_CLOEXEC)},
               "close every other descriptor at execve");
}

}  // namespace jail
