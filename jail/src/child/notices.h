// Calls of a guest that wait until init has heard of them: seccomp_unotify(2).
//
// exit_group(2): init hears that a process is about to end before the kernel takes the process's
// memory apart, which for many programs takes longer than all that they did.
//
// mmap(2) of anonymous memory that processes share: no file of /proc tells how much of it there is,
// so init counts it as it is made (watch.h). The arguments are in registers, so the kernel maps
// exactly what init saw.
//
// sysinfo(2): the kernel counts the machine's processes, load and free memory, by which jails could
// signal to each other. Init answers in its place.
#pragma once

#include <cstdint>

namespace jail::child {

// Must be called by a guest before it runs anything: from here on these calls of this process, and
// of all its descendants, wait for init. `channel` carries the descriptor that init listens to,
// with one wire::Listener. Needs no_new_privs or CAP_SYS_ADMIN.
//
// A process has at most one such listener. Where something outside of the jail already has one for
// this process, nothing is sent. Init then learns of ends from waitid(2) alone, no anonymous memory
// can be shared (ENOMEM), and sysinfo() fails with EPERM.
//
// Returns 0 or a negative errno.
long give_listener(int channel);

// From here on end_heard() tells init of the end of this process. In every other process, and
// before this call, end_heard() is exit_group().
//
// Init is not told of other ends: while a call waits, a signal handler may run and make it fail,
// which no program expects of exit_group(). end_heard() blocks all signals first. An mmap() may
// fail with EINTR.
void let_own_end_be_heard();
[[noreturn]] void end_heard(int status);

enum class NoticeKind : std::uint8_t { end, shared_memory, system_information };

struct Notice {
  std::uint64_t id;  // the kernel's id of the notice
  int thread;        // the caller, by its number in init's pid namespace
  NoticeKind kind;
  int status;           // for an end: 0 to 255
  std::uint64_t bytes;  // for shared memory
  std::uint64_t place;  // for sysinfo(2): the address of the answer in the caller's memory
};

class Notices {
 public:
  // Takes over the descriptor that a guest has sent.
  void listen(int fd);

  // The descriptor to poll for POLLIN; -1 where there is no listener.
  int descriptor() const { return fd_; }

  // Takes a notice. `events` are what poll() has found at descriptor(). Returns false where there
  // is none: the caller was killed meanwhile, or nobody is left who could call, and descriptor() is
  // -1 from now on. The calling thread stands still until it is answered or dies: no signal but a
  // fatal one reaches it.
  bool take(short events, Notice& notice);

  // Returns whether the call still waits for its answer.
  bool is_waiting(const Notice& notice) const;

  // Lets the call happen.
  void let_go(const Notice& notice);

  // Makes the call fail.
  void refuse(const Notice& notice, int error);

  // Answers sysinfo(2) with what is the same in every jail at any time: the size of the machine's
  // memory, all of it free, no load, one process. The call fails with the error of writing the
  // answer: EFAULT, or EPERM where the process is not dumpable or the host lets nobody write to the
  // memory of its children (ptrace_scope of Yama). Waits while that process changes its mappings.
  void tell_about_system(const Notice& notice);

 private:
  void answer(const Notice& notice, std::uint32_t flags, int error);

  int fd_ = -1;
};

}  // namespace jail::child
