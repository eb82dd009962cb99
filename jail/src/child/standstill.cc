#include "child/standstill.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

#include "child/arithmetic.h"
#include "child/clocks.h"
#include "child/proc_files.h"
#include "child/raw_syscall.h"

namespace jail::child {
namespace {

constexpr std::uint64_t pause_while_stopping_ns = ns_per_ms / 5;
// On a busy machine a process has to wait for its turn before it stops.
constexpr std::uint64_t longest_stop_in_order_ns = 200 * ns_per_ms;
// SIGSTOP is sent over and over for this long before a look, so that a process that another one
// wakes meanwhile is stopped again before it has its turn to wake others. Where init has to wait
// for a processor itself, one turn must be enough.
constexpr std::uint64_t burst_ns = 2 * ns_per_ms;

// The time between two looks at processes that stand still; the first looks follow each other soon,
// and all of them do once a process has run.
constexpr std::uint64_t shortest_pause_ns = 20 * ns_per_ms;
constexpr std::uint64_t longest_pause_ns = 1'000 * ns_per_ms;
constexpr std::uint64_t longest_pause_after_a_strike_ns = 100 * ns_per_ms;
// A guest chooses what a look costs, so looks take at most a hundredth of a processor.
std::uint64_t rest_after(std::uint64_t cost_ns) { return 100 * cost_ns; }
// The processor time that a process may use while it stands still without counting as having run:
// the kernel completes what it had begun for it. Each time that it counts halves what it may use
// until the next, so that one that runs little by little is soon killed.
constexpr std::uint64_t unseen_cpu_ns = 10 * ns_per_ms;
constexpr std::uint8_t max_runs = 4;
constexpr int max_strikes = 4;

constexpr std::uint64_t never_ns = ~std::uint64_t{0};

struct Seen {
  int pid;
  bool was_stopped;   // by a guest, before all of them were stopped
  std::uint8_t runs;  // how often it has counted as having run, at most max_runs
  std::uint64_t started_ticks;
  std::uint64_t cpu_ns;
};

// The processes that stand still. As long as none does, these pages are those of a file and take no
// memory.
class SeenProcesses {
 public:
  void clear() { count_ = 0; }

  Seen* find(int pid, std::uint64_t started_ticks) {
    for (int i = 0; i < count_; ++i) {
      if (all_[i].pid == pid && all_[i].started_ticks == started_ticks) return &all_[i];
    }
    return nullptr;
  }

  template <class Visit>
  void each(Visit visit) const {
    for (int i = 0; i < count_; ++i) visit(all_[i]);
  }

  // Returns false where there is no room.
  bool add(const Seen& seen) {
    if (count_ == capacity) return false;
    all_[count_++] = seen;
    return true;
  }

 private:
  static constexpr int capacity = 2048;
  Seen all_[capacity];
  int count_;
};

SeenProcesses seen_processes;

// For end(), which begins with the last one.
constexpr int max_numbers = 4096;
int numbers[max_numbers];

void pause_for(long ns) {
  const timespec pause{0, ns};
  raw::call(SYS_nanosleep, raw::address(&pause), 0);
}

template <class Visit>
void each_process(int proc, Visit visit) {
  NumberedEntries processes(proc);
  const char* name = nullptr;
  std::uint64_t pid = 0;
  while (processes.next(name, pid)) {
    if (pid > 1) visit(name, static_cast<int>(pid));
  }
}

}  // namespace

void Standstill::begin(std::uint64_t now, std::uint64_t longest_ns) {
  state_ = State::stopping;
  give_up_ns_ = now + longest_ns;
  next_look_ns_ = 0;
  last_ = {};
  last_.is_still = false;
  strikes_left_ = max_strikes;
  attempts_ = 0;
  note_stopped_ones();
  stop_in_order(now);
}

void Standstill::note_stopped_ones() const {
  seen_processes.clear();
  each_process(proc_, [this](const char* name, int pid) {
    ProcessStat stat;
    if (!read_stat(proc_, name, stat) || stat.state != 'T') return;
    seen_processes.add({pid, true, 0, stat.started_ticks, 0});
  });
}

// Stops them in the order of their numbers: a parent's number is usually smaller.
void Standstill::stop_in_order(std::uint64_t now) const {
  const std::uint64_t until = now + longest_stop_in_order_ns;
  each_process(proc_, [this, until](const char* name, int pid) {
    if (now_ns() >= until || raw::call(SYS_kill, pid, SIGSTOP) != 0) return;
    ProcessStat stat;
    while (read_stat(proc_, name, stat) && !stat.is_still() && now_ns() < until) {
      pause_for(20'000);
    }
  });
}

// kill() reaches every process of this pid namespace but init itself.
void Standstill::stop_all() const { raw::call(SYS_kill, -1, SIGSTOP); }

void Standstill::stop_in_a_burst() const {
  const Budget burst(burst_ns);
  while (!burst.is_spent()) stop_all();
}

template <class Wanted>
bool Standstill::any_thread(const char* name, const ProcessStat& stat, Wanted is_wanted) const {
  if (stat.threads <= 1) return is_wanted(stat);
  const long tasks = raw::call(SYS_openat, proc_, raw::address(joined({name, "/task"}).text),
                               O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (tasks < 0) return false;  // the process is gone
  NumberedEntries threads(static_cast<int>(tasks));
  const char* thread = nullptr;
  std::uint64_t number = 0;
  bool found = false;
  while (!found && threads.next(thread, number)) {
    ProcessStat own;
    found = read_stat(static_cast<int>(tasks), thread, own) && is_wanted(own);
  }
  raw::call(SYS_close, tasks);
  return found;
}

bool Standstill::may_run(const char* name, const ProcessStat& stat) const {
  return any_thread(name, stat, [](const ProcessStat& thread) { return !thread.is_still(); });
}

bool Standstill::has_stopped(const char* name) const {
  ProcessStat stat;
  return !read_stat(proc_, name, stat) ||
         !any_thread(name, stat, [](const ProcessStat& thread) { return !thread.is_stopped(); });
}

// Calls on_offender(pid) for a process that has run, or could run.
template <class OnOffender>
Standstill::Scan Standstill::scan(OnOffender on_offender) const {
  Scan all;
  each_process(proc_, [&](const char* name, int pid) {
    ProcessStat stat;
    if (!read_stat(proc_, name, stat)) return;
    const bool runs = may_run(name, stat);
    const std::uint64_t cpu = cpu_ns_of(pid, clock_sum);
    Seen* const seen = seen_processes.find(pid, stat.started_ticks);
    const bool has_run = seen != nullptr && cpu > seen->cpu_ns + (unseen_cpu_ns >> seen->runs);
    if (seen != nullptr) {
      // Once all stand still, the figure of that moment is kept, so that a process cannot run
      // little by little.
      if (state_ == State::stopping || has_run) seen->cpu_ns = cpu;
      if (state_ == State::still && has_run && seen->runs < max_runs) ++seen->runs;
    } else if (seen_processes.add({pid, false, 0, stat.started_ticks, cpu})) {
      all.has_new = true;
    }
    ++all.count;
    all.cpu_ns += cpu;
    if (runs) all.is_still = false;
    // The kernel takes such a process apart, and does nothing else. Where its first thread has
    // left, other threads may still run.
    const bool is_ending = stat.is_leaving() && stat.threads <= 1;
    if ((runs || has_run) && !is_ending) on_offender(pid);
  });
  return all;
}

bool Standstill::look(std::uint64_t now) {
  if (state_ == State::stopping) attempts_++ == 0 ? stop_all() : stop_in_a_burst();
  const std::uint64_t cost_before = own_cpu_ns();
  int offenders = 0;
  const bool is_stopping = state_ == State::stopping;
  const bool kills = !is_stopping && strikes_left_ <= 0;
  const Scan found = scan([&](int pid) {
    ++offenders;
    if (kills) raw::call(SYS_kill, pid, SIGKILL);
  });
  if (is_stopping) {
    const bool is_same = found.count == last_.count && found.cpu_ns == last_.cpu_ns;
    if (found.is_still && last_.is_still && is_same) {
      state_ = State::still;
      pause_ns_ = shortest_pause_ns;
    } else if (now >= give_up_ns_) {
      end();
      return false;
    }
  } else if (offenders > 0 || found.has_new) {
    stop_all();
    if (offenders > 0) --strikes_left_;
    pause_ns_ = shortest_pause_ns;
  } else {
    pause_ns_ = smaller(2 * pause_ns_, strikes_left_ < max_strikes ? longest_pause_after_a_strike_ns
                                                                   : longest_pause_ns);
  }
  last_ = found;
  next_look_ns_ =
      now + (state_ == State::still ? larger(pause_ns_, rest_after(own_cpu_ns() - cost_before))
                                    : pause_while_stopping_ns);
  if (state_ == State::still && found.count == 0) next_look_ns_ = never_ns;
  return true;
}

void Standstill::end() {
  state_ = State::off;
  const auto continue_one = [this](int pid) {
    ProcessStat stat;
    if (!read_stat(proc_, Number(static_cast<std::uint64_t>(pid)).text, stat)) return;
    const Seen* const seen = seen_processes.find(pid, stat.started_ticks);
    if (seen == nullptr || !seen->was_stopped) raw::call(SYS_kill, pid, SIGCONT);
  };
  int count = 0;
  bool all_have_stopped = true;
  each_process(proc_, [&](const char* name, int pid) {
    all_have_stopped = all_have_stopped && has_stopped(name);
    if (count < max_numbers) {
      numbers[count++] = pid;
    } else {
      continue_one(pid);
    }
  });
  while (count > 0) continue_one(numbers[--count]);
  if (!all_have_stopped) continue_all();
}

// The kernel stops the child of a fork that had begun when all were stopped, and takes that back
// only where all are continued, too: the child may be in no list yet.
void Standstill::continue_all() const {
  raw::call(SYS_kill, -1, SIGCONT);
  seen_processes.each([this](const Seen& seen) {
    ProcessStat stat;
    if (seen.was_stopped &&
        read_stat(proc_, Number(static_cast<std::uint64_t>(seen.pid)).text, stat) &&
        stat.started_ticks == seen.started_ticks) {
      raw::call(SYS_kill, seen.pid, SIGSTOP);
    }
  });
}

}  // namespace jail::child
