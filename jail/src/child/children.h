// Init's children.
#pragma once

namespace jail::child {

// Returns a descriptor that is readable when a child may have ended, for which SIGCHLD must be
// blocked; or a negative errno.
int open_child_signals();

// Reads the descriptor until it is empty.
void drain_child_signals(int fd);

// Forks this process, with SIGCHLD at the end of the child. Returns 0 in the child; in the parent
// the child's number or a negative errno.
long fork_child();

}  // namespace jail::child
