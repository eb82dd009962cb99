// Children of init.
#pragma once

namespace jail::child {

// A descriptor that is readable when a child may have ended, since SIGCHLD is blocked; or a
// negative errno.
int open_child_signals();

// Reads it empty.
void drain_child_signals(int fd);

// A copy of this process, of whose end SIGCHLD tells: 0 in the copy, else its number or a negative
// errno.
long fork_child();

}  // namespace jail::child
