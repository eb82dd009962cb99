// Forks this process into the namespaces of a jail's init.
#pragma once

#include <cstddef>

namespace jail::zygote {

// The jail to fork into. Init is joined by its pidfd while it is alone in the jail and dumpable;
// where other processes run in the jail already, its namespaces are joined one by one, the pid
// namespace first.
struct Place {
  int channel;  // to init
  int cgroup;   // the directory of the jail's, or -1
  int init_pidfd;
  const int* namespaces;
  std::size_t namespace_count;  // 0: by the pidfd
};

// Returns true in the guest, which is a child of the jail's init, pid 2 where it is the first; it
// holds every capability of the jail's user namespace until it drops them. Returns false in the
// zygote. A process that fails on the way reports it on the channel; one that is killed leaves the
// channel closed. Signals must be blocked.
//
// A process that has joined a user namespace may not join another one, so the zygote cannot do it
// itself; and a process that joins a pid namespace is not in it, but its children are. So the
// zygote joins the pid namespace of the jail and makes a passing process there, which joins all
// else, forks the guest and ends. Init becomes the guest's parent when the passing process ends.
//
// Where nobody else is in the jail the passing process borrows the zygote's memory: the copy of the
// page tables, which is what a fork costs, is made once, and it is gone before this returns.
//
// In company it has a copy of its own and is a child of the host, so the zygote does not wait for
// it. It is in the jail's cgroup, where others decide how much processor time there is and when
// memory is at an end: the kernel then kills with it whoever shares its memory. Meanwhile it has
// every capability of the template's user namespace, and then of the jail's. The others in the jail
// are in Landlock domains whose signals are scoped, and it is in none, so it can be neither traced
// nor read nor signalled.
bool fork_into(const Place& place);

}  // namespace jail::zygote
