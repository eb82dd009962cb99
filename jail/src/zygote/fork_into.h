// Forks this process into the namespaces of a jail's init.
#pragma once

#include <cstddef>

namespace jail::zygote {

// Where to. Init is joined by its pidfd, as long as it is dumpable and alone; where others run in
// its jail already, by its namespaces, in the order in which they are to be joined.
struct Place {
  int channel;  // to init
  int cgroup;   // the directory of the jail's, or -1
  int init_pidfd;
  const int* namespaces;
  std::size_t namespace_count;  // 0: by the pidfd
};

// Returns true in the guest, which is a child of the jail's init, pid 2 where it is the first; it
// holds every capability of the jail's user namespace until it drops them. Returns false in the
// zygote. Whoever fails on the way reports it on the channel, and who is killed there leaves it
// closed. Signals must be blocked.
//
// A process that has joined a user namespace may not join another one, and what joins a pid
// namespace is itself not in it. So a first process joins and makes a second one, which is inside
// and forks the guest. Then both end, and init, which is next in line, has become the guest's
// parent.
//
// Where nobody else is in the jail both borrow the zygote's memory, one after the other: the copy
// of the page tables, which is what a fork costs, is made once, and both are gone before this
// returns.
//
// In company the first one has a copy of its own, which the second one borrows, and is a child of
// the host, so the zygote waits for neither. Both are in the jail's cgroup, where others decide how
// much processor time there is for them and when memory is at an end: the kernel then kills with
// one of them whoever shares its memory. They have every capability in the jail meanwhile; the
// others in it are in Landlock domains whose signals are scoped, and these two in none, so they can
// be neither traced nor read nor signalled.
bool fork_into(const Place& place);

}  // namespace jail::zygote
