// Calls of a guest that wait until init has heard of them: seccomp_unotify(2).
//
// exit_group(2): the kernel's word that a process is about to end, before it takes the process's
// memory apart, which for many programs takes longer than all that they did.
//
// mmap(2) of anonymous memory that processes share: no file of /proc tells how much of it there
// is, so init counts it as it is made (watch.h). The arguments are in registers, and the kernel
// maps what init was told.
//
// sysinfo(2): the kernel counts the machine's processes, load and free memory, by which jails could
// signal to each other. Init answers in its place.
#pragma once

#include <cstdint>

namespace jail::child {

// For a guest, before it runs anything: from here on these calls of this process, and of all that
// descend from it, wait for init. `channel` carries the descriptor that init listens to, with one
// wire::Listener. Needs no_new_privs or CAP_SYS_ADMIN.
//
// A process has one such listener at the most. Where something outside of the jail has one for this
// process already nothing is sent. Then init learns of ends from waitid(2) alone, no anonymous
// memory can be shared (ENOMEM), and sysinfo() fails with EPERM.
//
// 0 or a negative errno.
long give_listener(int channel);

// From here on init hears of the end of this process by end_heard(). In every other process, and
// before, end_heard() is exit_group().
//
// Other ends are not heard: while a call waits a signal handler may run and make it fail, which no
// program expects of this one. In end_heard() all signals are blocked before. An mmap() may fail
// with EINTR.
void let_own_end_be_heard();
[[noreturn]] void end_heard(int status);

enum class NoticeKind : std::uint8_t { end, shared_memory, system_information };

struct Notice {
  std::uint64_t id;  // the kernel's
  int thread;        // which called, by its number in init's pid namespace
  NoticeKind kind;
  int status;           // of an end: 0 to 255
  std::uint64_t bytes;  // of shared memory
  std::uint64_t place;  // of the answer about the system, in the memory of whoever called
};

class Notices {
 public:
  // Takes over the descriptor that a guest has given.
  void listen(int fd);

  // To poll for POLLIN; -1 where there is no listener.
  int descriptor() const { return fd_; }

  // `events` are what poll() has found at descriptor(). False: there is no notice, since whoever
  // called was killed meanwhile; or nobody is left who could call, and this has no descriptor any
  // more. The caller stands still until it is answered or dies: no signal but a fatal one reaches
  // it.
  bool take(short events, Notice& notice);

  // Whether the call still waits to be answered.
  bool is_waiting(const Notice& notice) const;

  // Lets the call happen.
  void let_go(const Notice& notice);

  // Lets it fail.
  void refuse(const Notice& notice, int error);

  // Tells about the system what is the same in every jail at any time: the size of the machine's
  // memory, all of it free, no load, one process. The call fails with the error that writing the
  // answer met: EFAULT, or EPERM where the process is not dumpable or the host lets nobody write to
  // the memory of its children (ptrace_scope of Yama). Waits while that process changes its
  // mappings.
  void tell_about_system(const Notice& notice);

 private:
  void answer(const Notice& notice, std::uint32_t flags, int error);

  int fd_ = -1;
};

}  // namespace jail::child
