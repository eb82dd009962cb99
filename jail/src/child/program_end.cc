#include "child/program_end.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

#include "child/clocks.h"
#include "child/proc_files.h"
#include "child/raw_syscall.h"

namespace jail::child {
namespace {

// The time that init leaves its processor to an owner that has the report.
constexpr long pause_for_owner_ns = 300'000;

Number number_of(int pid) { return Number(static_cast<std::uint64_t>(pid)); }

// The directory of a process's threads, closed at the end of a scope.
class Tasks {
 public:
  Tasks(int proc, const Number& process)
      : fd_(static_cast<int>(raw::call(SYS_openat, proc,
                                       raw::address(joined({process.text, "/task"}).text),
                                       O_RDONLY | O_DIRECTORY | O_CLOEXEC))) {}
  Tasks(const Tasks&) = delete;
  ~Tasks() {
    if (fd_ >= 0) raw::call(SYS_close, fd_);
  }
  int fd() const { return fd_; }

 private:
  int fd_;
};

// `children` is a thread's list of the processes that it has made and that still live.
bool names_nobody(const Text& children) { return children.bytes[0] == '\0'; }

// According to its directory `task`. A thread that is gone has handed its children on.
bool has_children(int directory, const char* task) {
  Text text;
  return read_text(directory, joined({task, "/children"}).text, text) && !names_nobody(text);
}

}  // namespace

// The kernel scales what timer interrupts found to the sum in the same way when it is reaped.
void UnreapedUse::count_time_of(long pid) {
  const std::uint64_t sum = cpu_ns_of(pid, clock_sum) / 1000;
  const std::uint64_t found = cpu_ns_of(pid, clock_prof) / 1000;
  const std::uint64_t user = cpu_ns_of(pid, clock_user) / 1000;
  user_us = found > user ? sum * user / found : sum;
  system_us = sum - user_us;
}

void ProgramEnd::expect(int proc, int pid) {
  proc_ = proc;
  pid_ = pid;
  const Number name = number_of(pid);
  status_.open(proc, joined({name.text, "/status"}).text);
  stat_.open(proc, joined({name.text, "/stat"}).text);
  children_.open(proc, joined({name.text, "/task/", name.text, "/children"}).text);
  inits_children_.open(proc, "1/task/1/children");
}

bool ProgramEnd::read_process(Text& room) {
  ProcessStat stat;
  const bool is_read = status_.read(room) && find_number(room.bytes, "Threads:", threads_) &&
                       find_size(room.bytes, "VmHWM:", memory_peak_) &&
                       read_stat(stat_, room, stat);
  const bool has_waited = stat.faults_of_children != 0 || stat.children_ticks != 0;
  const bool is_known = is_read && !has_waited && !stat.is_leaving();
  if (!is_known) threads_ = 0;
  return is_known;
}

// Every other process descends from init or from this one, and init's list is read last, since
// children whose parent has ended are there.
bool ProgramEnd::is_alone() {
  Text room;  // one for all, since init would touch more of its stack for the first time
  return read_process(room) && threads_ == 1 && children_.read(room) && names_nobody(room) &&
         is_inits_only_child(room);
}

bool ProgramEnd::kill_threads() {
  Text room;
  if (threads_ < 2 || threads_ > max_threads || !is_inits_only_child(room)) return false;
  // From here on none of the threads makes another thread or process: the kernel looks for this
  // signal before it adds one.
  if (raw::call(SYS_kill, pid_, SIGKILL) != 0) return false;
  const std::uint64_t deadline = now_ns() + longest_leave_ns;
  Left left = look_at_threads();
  while (left == Left::some_threads && now_ns() < deadline) {
    // The threads need a processor to leave.
    const timespec pause{0, 20'000};
    raw::call(SYS_nanosleep, raw::address(&pause), 0);
    left = look_at_threads();
  }
  return left == Left::all_threads && is_inits_only_child(room);
}

bool ProgramEnd::is_inits_only_child(Text& room) const {
  if (!inits_children_.read(room)) return false;
  const char* p = room.bytes;
  return parse_number(p) == static_cast<std::uint64_t>(pid_) && *skip_spaces(p) == '\0';
}

// A thread in do_exit() has taken its last signal: it runs no instruction and makes no call any
// more. Once all threads are, one that goes hands its children to init. The list of children may
// end early where one is reaped meanwhile, so it counts only where their number was the same before
// and after, and equals that of the list.
ProgramEnd::Left ProgramEnd::look_at_threads() const {
  const Number name = number_of(pid_);
  ProcessStat before;
  if (!read_stat(proc_, name.text, before)) return Left::some_threads;
  const Tasks tasks(proc_, name);
  NumberedEntries threads(tasks.fd());
  const char* thread = nullptr;
  std::uint64_t number = 0;
  std::uint64_t left = 0;
  bool has_made_others = false;
  while (threads.next(thread, number)) {
    ProcessStat stat;
    if (!read_stat(tasks.fd(), thread, stat) || !stat.is_leaving()) return Left::some_threads;
    if (has_children(tasks.fd(), thread)) has_made_others = true;
    ++left;
  }
  ProcessStat after;
  if (!read_stat(proc_, name.text, after) || before.threads != left || after.threads != left) {
    return Left::some_threads;
  }
  return has_made_others ? Left::children : Left::all_threads;
}

// It waits for no close of the control socket: an owner lets go of a jail before it answers.
void let_owner_go_on(int control) {
  const timespec pause{0, pause_for_owner_ns};
  pollfd order{control, POLLIN, 0};
  raw::call(SYS_ppoll, raw::address(&order), 1, raw::address(&pause), 0);
  if ((order.revents & POLLHUP) != 0) raw::call(SYS_nanosleep, raw::address(&pause), 0);
}

}  // namespace jail::child
