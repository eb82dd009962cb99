#include "daemon.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "guest.h"
#include "processes.h"
#include "tests/time_scale.h"

namespace kernel_ring {

using jail::Ended;
using jail::Fd;
using jail::Jail;
using jail::Phase;
using jail::Result;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

// The machine may be busy with more than this test.
constexpr seconds patience{100};
constexpr milliseconds short_deadline{40};
constexpr char line[] = "a line\n";
constexpr char answer[] = "heard a line\n";
constexpr int status = 7;

std::string text_of(Source source) {
  constexpr std::array names = {"cold", "prepared", "forked"};
  return names[static_cast<std::size_t>(source)];
}

std::string text_of(Fate fate) {
  constexpr std::array names = {"served",           "served at length", "dropped unborn",
                                "cancelled unborn", "dropped ready",    "cancelled running",
                                "killed running",   "dropped running",  "init killed"};
  return names[static_cast<std::size_t>(fate)];
}

std::string text_of(const jail::ExitReport& report) {
  return std::string(to_string(report.ended)) + ", status " + std::to_string(report.exit_code) +
         ", signal " + std::to_string(report.signal);
}

jail::JailSpec shell_spec() {
  jail::JailSpec spec = spec_for({"/usr/bin/sh", "main"});
  spec.limits.wall = patience;
  spec.limits.cpu = patience;
  return spec;
}

jail::TemplateSpec shell_template() {
  jail::TemplateSpec spec;
  spec.name = "shell";
  spec.warmth = jail::Warmth::prepared;
  spec.jail = shell_spec();
  spec.max_cpu = patience;
  return spec;
}

jail::TemplateSpec python_template() {
  jail::TemplateSpec spec;
  spec.name = "python";
  spec.jail = spec_for({"/usr/bin/python3", "/workspace/main"});
  spec.max_cpu = patience;
  return spec;
}

const char* program_of(Source source) {
  return source == Source::forked ? "print('heard', input(), flush=True)\nraise SystemExit(7)\n"
                                  : "read -r it; echo \"heard $it\"; exit 7\n";
}

std::string read_to_end(int fd) {
  std::string text;
  std::array<char, 4096> room;
  pollfd watched{fd, POLLIN, 0};
  for (;;) {
    const ssize_t got = ::read(fd, room.data(), room.size());
    if (got > 0) text.append(room.data(), static_cast<std::size_t>(got));
    if (got > 0 || (got < 0 && errno == EINTR)) continue;
    if (got == 0 || errno != EAGAIN) return text;
    if (::poll(&watched, 1, scaled_ms(10'000)) == 0) return text + "(and it is still open)";
  }
}

}  // namespace

void Findings::count(const std::string& what) {
  const std::lock_guard lock(mutex_);
  ++counts_[what];
}

void Findings::fault(std::string what) {
  const std::lock_guard lock(mutex_);
  faults_.push_back(std::move(what));
}

std::map<std::string, int> Findings::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

std::vector<std::string> Findings::faults() const {
  const std::lock_guard lock(mutex_);
  return faults_;
}

void DaemonThread::pause() { std::this_thread::sleep_for(std::chrono::microseconds(below(4000))); }

// Tries again as often as the host reports a shortage.
Result<Jail> DaemonThread::make(Source source) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    auto jail = source == Source::cold       ? launcher_.launch(shell_spec())
                : source == Source::prepared ? prepared_->lease()
                                             : forked_->lease();
    const bool later = !jail && jail.error().kind == jail::ErrorKind::exhausted;
    if (!later || std::chrono::steady_clock::now() > deadline) return jail;
    std::this_thread::sleep_for(milliseconds(1 + below(10)));
  }
}

std::string DaemonThread::jail(std::string& what) {
  const auto source = static_cast<Source>(below(3));
  // Half of the jails are served.
  constexpr unsigned fates = 9;
  const auto fate = below(2) == 0 ? Fate::served : static_cast<Fate>(below(fates));
  what = text_of(source) + ", " + text_of(fate);
  // Any thread may drive a pool.
  if (below(4) == 0) (below(2) == 0 ? prepared_ : forked_)->advance();
  auto jail = make(source);
  if (!jail) return jail.error().message();
  return lead(*jail, source, fate);
}

std::string DaemonThread::lead(Jail& jail, Source source, Fate fate) {
  if (fate == Fate::dropped_unborn) return {};
  if (fate == Fate::cancelled_unborn) {
    pause();
    jail.cancel();
    const auto ended = jail.wait(Phase::ended, patience);
    if (!ended) return ended.error().message();
    return jail.report().ended == Ended::cancelled ? "" : text_of(jail.report());
  }
  const auto ready = jail.wait(Phase::ready, patience);
  if (!ready) return ready.error().message();
  if (*ready != Phase::ready) return text_of(jail.report());
  if (fate == Fate::dropped_ready) return {};
  const auto written = jail.write_file("main", program_of(source), 0644);
  if (!written) return written.error().message();
  return lead_ready(jail, fate);
}

std::string DaemonThread::lead_ready(Jail& jail, Fate fate) {
  const Fd input = jail.take_stdin();
  const Fd output = jail.take_stdout();
  if (fate == Fate::init_killed) {
    // Init may say that it is ready before its launcher has handed over the pidfd.
    if (!soon([&] { return jail.process_fd() >= 0 || !jail.advance(); })) return "it has no pidfd";
    ::syscall(SYS_pidfd_send_signal, jail.process_fd(), SIGKILL, nullptr, 0);
    for (pollfd init{jail.process_fd(), POLLIN, 0}; ::poll(&init, 1, -1) != 1;) {
    }
    // This may succeed or fail, as long as the launcher has not closed its end; what follows must
    // be the truth.
    static_cast<void>(jail.start());
    const auto ended = jail.wait(Phase::ended, patience);
    if (!ended) return ended.error().message();
    return jail.report().ended == Ended::killed ? "" : text_of(jail.report());
  }
  if (fate == Fate::served || fate == Fate::served_at_length) {
    return serve(jail, input, output, fate);
  }
  if (const auto started = jail.start({.wall = patience, .cpu = patience}); !started) {
    return started.error().message();
  }
  pause();
  if (fate == Fate::dropped_running) return {};
  fate == Fate::killed_running ? jail.kill(Ended::killed) : jail.cancel();
  const auto ended = jail.wait(Phase::ended, patience);
  if (!ended) return ended.error().message();
  const Ended expected = fate == Fate::killed_running ? Ended::killed : Ended::cancelled;
  return jail.report().ended == expected ? "" : text_of(jail.report());
}

// The line is in the pipe before the program runs: a program that is killed at its deadline can
// then not make this write raise SIGPIPE.
std::string DaemonThread::serve(Jail& jail, const Fd& input, const Fd& output, Fate fate) {
  const bool in_time = fate == Fate::served;
  if (in_time && ::write(input.get(), line, sizeof line - 1) != sizeof line - 1) {
    return "cannot write its line";
  }
  const milliseconds wall = in_time ? milliseconds(patience) : short_deadline;
  if (const auto started = jail.start({.wall = wall, .cpu = patience}); !started) {
    return started.error().message();
  }
  const auto ended = jail.wait(Phase::ended, patience);
  if (!ended) return ended.error().message();
  if (!in_time) return jail.report().ended == Ended::timed_out ? "" : text_of(jail.report());
  if (jail.report().ended != Ended::exited || jail.report().exit_code != status) {
    return text_of(jail.report());
  }
  const std::string heard = read_to_end(output.get());
  return heard == answer ? "" : "it said: " + heard;
}

std::string DaemonThread::child(Waits waits) {
  const auto by = static_cast<StartedBy>(below(2));
  const bool lists = below(2) == 0;
  OwnChild child =
      run_own_child(by, lists ? list_own_descriptors : std::vector<std::string>{"/bin/true"});
  if (child.pid < 0) return child.output;
  if (waits == Waits::by_pid) {
    int ended = -1;
    while (::waitpid(child.pid, &ended, 0) != child.pid) {
      if (errno != EINTR) return "its status is gone: errno " + std::to_string(errno);
    }
    if (ended != 0) return "it ended with " + std::to_string(ended);
  }
  if (!lists) return child.output;
  const std::string descriptors = descriptors_of_own_child(child);
  return descriptors == "0 1 2" ? "" : "it holds " + descriptors;
}

namespace {

// The threads, with the present activity of each.
class Crew {
 public:
  Crew(const jail::Launcher& launcher, const DaemonOptions& options, Findings& findings)
      : launcher_(launcher), options_(options), findings_(findings) {}

  void run() {
    DrivenPool prepared(launcher_, shell_template(), {.usual = 6, .most = 24});
    DrivenPool forked(launcher_, python_template(),
                      {.usual = 6, .most = 24, .forks_per_zygote = 400});
    EXPECT_TRUE(prepared.until_ready(1, patience));
    EXPECT_TRUE(forked.until_ready(1, patience));
    std::vector<std::thread> threads;
    for (int i = 0; i < options_.threads; ++i) {
      threads.emplace_back([&, i] { work(prepared, forked, static_cast<unsigned>(i)); });
    }
    disturb(threads);
    for (std::thread& thread : threads) thread.join();
  }

 private:
  void work(DrivenPool& prepared, DrivenPool& forked, unsigned seed) {
    DaemonThread thread(launcher_, prepared, forked, seed + 1);
    while (next_++ < options_.launches) {
      std::string what;
      auto fault = thread.jail(what);
      findings_.count(what);
      if (!fault.empty()) findings_.fault(what + ": " + fault);
      fault = thread.child(options_.waits);
      findings_.count("children of its own");
      if (!fault.empty()) findings_.fault("a child of its own: " + fault);
      ++done_;
    }
    ++ended_;
  }

  // Interrupts one thread after the other, wherever it is.
  void disturb(std::vector<std::thread>& threads) {
    int seen = -1;
    auto moved_at = std::chrono::steady_clock::now();
    for (std::size_t i = 0; ended_ < options_.threads; ++i) {
      ::pthread_kill(threads[i % threads.size()].native_handle(), SIGUSR1);
      std::this_thread::sleep_for(milliseconds(1));
      if (const int done = done_; done != seen) {
        seen = done;
        moved_at = std::chrono::steady_clock::now();
      } else if (std::chrono::steady_clock::now() - moved_at > 2 * patience) {
        std::fprintf(stderr, "the daemon stands still after %d launches\n", done);
        std::abort();
      }
    }
  }

  const jail::Launcher& launcher_;
  const DaemonOptions& options_;
  Findings& findings_;
  std::atomic<int> next_{0};
  std::atomic<int> done_{0};
  std::atomic<int> ended_{0};
};

}  // namespace

void run_daemon(const jail::Launcher& launcher, const DaemonOptions& options, Findings& findings) {
  Crew(launcher, options, findings).run();
}

}  // namespace kernel_ring
