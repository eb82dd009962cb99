// Forks this process into the namespaces of a jail's init.
#pragma once

namespace jail::zygote {

struct Forked {
  bool is_guest = false;
  int error = 0;  // in the zygote; 0: the guest exists
};

// Afterwards the guest is pid 2 of the jail and a child of its init; it holds every capability of
// the jail's user namespace until it drops them. `cgroup` is the directory of the jail's cgroup, or
// -1. Signals must be blocked. Returns in both.
//
// A process can join a pid namespace only for its children, and a user namespace only for good. So
// two processes stand between: the first borrows the zygote's memory, joins, and makes the second,
// which is inside and forks the guest from that same memory. The copy of the page tables, which is
// what a fork costs, is made once. Both are gone before this returns in the zygote, and init, which
// is next in line, has become the guest's parent.
Forked fork_into(int init_pidfd, int cgroup);

}  // namespace jail::zygote
