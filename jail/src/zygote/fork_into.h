// Forks this process into the namespaces of a jail's init.
#pragma once

#include <cstddef>

namespace jail::zygote {

struct Forked {
  bool is_guest = false;
  int error = 0;  // in the zygote; 0: the guest exists
};

// Where to: init by its pidfd, as long as it is dumpable; else its namespaces, in the order in
// which they are to be joined.
struct Place {
  int init_pidfd;
  const int* namespaces;
  std::size_t namespace_count;  // 0: by the pidfd
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
//
// Both have every capability in the jail meanwhile. Where others run in it already, these are in
// Landlock domains whose signals are scoped, and both are in none: they can be neither traced nor
// read nor signalled, and above all not be stopped, which would hold the zygote up.
Forked fork_into(const Place& place, int cgroup);

}  // namespace jail::zygote
