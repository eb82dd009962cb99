// The kernel's word that a process is about to end by exit_group(2), before it takes the process's
// memory apart, which for many programs takes longer than all that they did. A system call filter
// makes the call wait for init: seccomp_unotify(2).
#pragma once

#include <cstdint>

namespace jail::child {

// For a guest, before it runs anything: from here on end_heard() of this process, and of all that
// descend from it, waits until init has heard of it. `channel` carries the descriptor that init
// listens to, with one wire::ExitListener. Needs no_new_privs or CAP_SYS_ADMIN.
//
// A process has one such listener at the most. Where something outside of the jail has one for this
// process already nothing is sent, and init learns of ends from waitid(2) alone.
//
// 0 or a negative errno.
long give_exit_listener(int channel);

// For a guest that gives no listener: a filter that allows everything, since the kernel tells a
// program how many filters it has, and a cold jail's is told the same number as a warm one's.
// 0 or a negative errno.
long load_filter_of_no_listener();

// exit_group(), and of the process that gave the listener one that is marked for init to hear.
// Others are not: while a call waits a signal handler may run and make it fail, which no program
// expects of this one. Here all signals are blocked before.
[[noreturn]] void end_heard(int status);

class ExitNotices {
 public:
  struct Notice {
    std::uint64_t id;  // the kernel's
    int thread;        // which called, by its number in init's pid namespace
    int status;        // 0 to 255
  };

  // Takes over the descriptor that a guest has given.
  void listen(int fd);

  // To poll for POLLIN; -1 where there is no listener.
  int descriptor() const { return fd_; }

  // False: there is no notice, since whoever called was killed meanwhile; or nobody is left who
  // could call, and this has no descriptor any more. The caller stands still until let_go() or its
  // death: no signal but a fatal one reaches it.
  bool take(Notice& notice);

  // Lets the process end.
  void let_go(const Notice& notice);

 private:
  int fd_ = -1;
};

}  // namespace jail::child
