// Terminals of a jail.
#pragma once

#include "child/wire.h"

namespace jail::child {

// Both sides of a terminal; -1: there is none.
struct Terminal {
  int master = -1;
  int slave = -1;
};

// Opens a terminal in `terminals`, where none can be opened by its name, with the size that `order`
// states. Returns 0 or a negative errno.
long open_terminal(int terminals, const wire::Order& order, Terminal& terminal);

// Opens one for the guest, puts it in the place of its streams, which are closed, and sends the
// owner's side of it over `control`. 0 or a negative errno.
long give_terminal(int control, const wire::Order& order, long* slots);

}  // namespace jail::child
