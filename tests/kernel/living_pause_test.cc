// A living jail is paused: none of its processes runs, whatever they do, and afterwards all go on.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "living_jail.h"
#include "processes.h"
#include "tests/time_scale.h"

namespace kernel_ring {
namespace {

using jail::Activity;
using jail::Ended;
using jail::ErrorKind;
using jail::Phase;
using jail::Process;
using jail::ProcessPhase;
using jail::ProcessSpec;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

// The fields of /proc/PID/stat behind the name.
std::vector<std::string> stat_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  std::istringstream behind_name(text.substr(std::min(text.size(), text.rfind(')') + 1)));
  return {std::istream_iterator<std::string>(behind_name), {}};
}

class Pausing : public LivingJail {
 protected:
  void begin(const jail::JailSpec& spec = unhurried_spec()) { LivingJail::begin(spec); }

  bool becomes(Activity wanted) {
    return soon([&] { return jail_->advance() && jail_->activity() == wanted; });
  }

  void pause() {
    const auto asked = jail_->pause();
    ASSERT_TRUE(asked) << asked.error().message();
    ASSERT_TRUE(becomes(Activity::paused)) << "it goes on";
  }

  void resume() {
    const auto resumed = jail_->resume();
    ASSERT_TRUE(resumed) << resumed.error().message();
    EXPECT_EQ(jail_->activity(), Activity::active);
  }

  std::set<pid_t> guests() { return descendants_of(process_of(jail_->process_fd())); }

  // The time of these processes, in the kernel's ticks of 10 ms.
  static std::uint64_t processor_time_of(const std::set<pid_t>& processes) {
    std::uint64_t ticks = 0;
    for (const pid_t pid : processes) {
      const auto stat = stat_of(pid);
      if (stat.size() > 13) ticks += std::stoull(stat[11]) + std::stoull(stat[12]);
    }
    return ticks;
  }

  // Returns whether no process has run, come or gone for a second, in which every process that can
  // wake itself would have.
  bool is_still() {
    const std::set<pid_t> there = guests();
    const std::uint64_t before = processor_time_of(there);
    std::this_thread::sleep_for(seconds(1));
    return guests() == there && processor_time_of(there) - before <= 1;
  }

  // Returns whether the file grows, to which a process of the jail writes.
  bool goes_on(const std::string& name) {
    const auto size = [&] {
      const auto file = jail_->open_file("/workspace/" + name, O_RDONLY);
      return file ? ::lseek(file->get(), 0, SEEK_END) : 0;
    };
    const auto before = size();
    return soon([&] { return size() > before; });
  }
};

constexpr char counting[] = "while :; do echo >> count; done";

TEST_F(Pausing, NothingRunsUntilItIsResumed) {
  begin();
  Process busy = spawn(shell_process(counting));
  ASSERT_TRUE(goes_on("count"));
  pause();
  EXPECT_TRUE(is_still());
  EXPECT_EQ(jail_->phase(), Phase::running);
  resume();
  EXPECT_TRUE(goes_on("count"));
}

TEST_F(Pausing, AJailWithoutProcessesIsPausedAsWell) {
  begin();
  pause();
  ASSERT_TRUE(jail_->pause()) << "twice is as good as once";
  EXPECT_EQ(jail_->activity(), Activity::paused);
  EXPECT_THAT(jail_->spawn({.argv = {"/usr/bin/true"}}).error().message(), HasSubstr("paused"));
  resume();
  ASSERT_TRUE(jail_->resume());
  EXPECT_EQ(run(shell_process("echo $((6*7))")).out, "42\n");
}

TEST_F(Pausing, OnlyALivingJailThatRuns) {
  const jail::JailSpec one_program = spec_for({"/usr/bin/true"});
  auto other = kernel_ring::ready_jail(one_program);
  ASSERT_TRUE(other);
  EXPECT_THAT(other->pause().error().message(), HasSubstr("no living one"));
  begin();
  jail_->cancel();
  ASSERT_TRUE(jail_->wait(Phase::ended, scaled(seconds(10))));
  EXPECT_EQ(jail_->pause().error().kind, ErrorKind::closed);
  EXPECT_EQ(jail_->resume().error().kind, ErrorKind::closed);
}

TEST_F(Pausing, ClocksStandStill) {
  jail::JailSpec spec = living_spec();
  spec.limits.wall = milliseconds(3500);
  begin(spec);
  ProcessSpec brief = shell_process(counting);
  brief.wall = milliseconds(2500);
  Process process = spawn(brief);
  ASSERT_TRUE(goes_on("count"));
  pause();
  std::this_thread::sleep_for(seconds(4));
  ASSERT_TRUE(jail_->advance());
  EXPECT_EQ(jail_->phase(), Phase::running);
  ASSERT_TRUE(process.advance());
  EXPECT_EQ(process.phase(), ProcessPhase::running);
  resume();
  EXPECT_TRUE(goes_on("count"));
  ASSERT_TRUE(process.wait(ProcessPhase::ended, scaled(seconds(10))));
  EXPECT_EQ(process.report().ended, Ended::timed_out);
  EXPECT_LT(process.report().phases.ran, milliseconds(6000)) << "its pause counts";
  ASSERT_TRUE(jail_->wait(Phase::ended, scaled(seconds(10))));
  EXPECT_EQ(jail_->report().ended, Ended::timed_out);
}

TEST_F(Pausing, WhatAGuestHasStoppedStaysStopped) {
  begin();
  Process process =
      spawn(shell_process("(echo $BASHPID > stopped; kill -STOP $BASHPID; echo on >> went-on) & "
                          "while :; do echo >> count; done"));
  ASSERT_TRUE(goes_on("count"));
  const auto states = [this] {
    std::string all;
    for (const pid_t pid : guests()) all += stat_of(pid).at(0);
    std::sort(all.begin(), all.end());
    return all;
  };
  ASSERT_TRUE(soon([&] { return states().find('T') != std::string::npos; }));
  for (int i = 0; i < 3; ++i) {
    pause();
    EXPECT_EQ(states(), "TT");
    resume();
    ASSERT_TRUE(goes_on("count"));
    EXPECT_NE(states().find('T'), std::string::npos) << "it was continued";
    EXPECT_FALSE(jail_->open_file("/workspace/went-on", O_RDONLY));
  }
  EXPECT_EQ(
      run(shell_process(
              "kill -CONT $(cat stopped); until [ -s went-on ]; do sleep .01; done; cat went-on"))
          .out,
      "on\n");
}

// A shell takes the terminal back from a job that it sees stopped.
TEST_F(Pausing, AShellTakesNoJobForStopped) {
  begin(with_terminals(unhurried_spec()));
  Process process = spawn(interactive_shell());
  ASSERT_TRUE(process.wait(ProcessPhase::running, scaled(seconds(10))));
  const std::string line = "bash -c 'while :; do echo >> count; done'; echo over\n";
  ASSERT_EQ(::write(process.terminal_fd(), line.data(), line.size()),
            static_cast<ssize_t>(line.size()));
  ASSERT_TRUE(goes_on("count"));
  for (int i = 0; i < 30; ++i) {
    pause();
    resume();
    ASSERT_TRUE(goes_on("count"));
  }
  std::string shown(4096, '\0');
  const ssize_t got = ::read(process.terminal_fd(), shown.data(), shown.size());
  shown.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  EXPECT_THAT(shown, testing::Not(HasSubstr("Stopped")));
}

TEST_F(Pausing, ItEndsWhilePaused) {
  begin();
  Process kept = spawn(shell_process(counting));
  Process given_up = spawn(shell_process("sleep 1000 & sleep 1000"));
  ASSERT_TRUE(given_up.wait(ProcessPhase::running, scaled(seconds(10))));
  ASSERT_TRUE(soon([this] { return guests().size() >= 3; }));
  pause();
  ASSERT_TRUE(given_up.signal_group(SIGKILL));
  ASSERT_TRUE(given_up.wait(ProcessPhase::ended, scaled(seconds(10))));
  EXPECT_EQ(given_up.report().signal, SIGKILL);
  ASSERT_TRUE(soon([this] { return guests().size() == 1; }));
  EXPECT_TRUE(is_still());
  jail_->cancel();
  ASSERT_TRUE(jail_->wait(Phase::ended, scaled(seconds(10))));
  EXPECT_EQ(jail_->report().ended, Ended::cancelled);
  ASSERT_TRUE(kept.wait(ProcessPhase::ended, scaled(seconds(10))));
}

TEST_F(Pausing, AHandleThatGoesEndsItsProcess) {
  begin();
  {
    Process given_up = spawn(shell_process(counting));
    ASSERT_TRUE(goes_on("count"));
    pause();
    ASSERT_TRUE(given_up.signal(SIGTERM)) << "it is held, and the end is seen behind it";
  }
  EXPECT_TRUE(soon([this] { return guests().empty(); }));
  resume();
}

// Bash may begin the second trap before it has run the first command of the first.
TEST_F(Pausing, SignalsWaitUntilItGoesOn) {
  begin();
  Process process =
      spawn(shell_process("trap 'echo usr >> told' USR1; trap 'echo term >> told' TERM; "
                          "while :; do echo >> count; done"));
  ASSERT_TRUE(goes_on("count"));
  pause();
  ASSERT_TRUE(process.signal(SIGCONT));
  ASSERT_TRUE(process.signal(SIGUSR1));
  EXPECT_TRUE(is_still());
  ASSERT_TRUE(process.signal(SIGTERM));
  EXPECT_TRUE(is_still());
  resume();
  EXPECT_TRUE(soon([this] { return run(shell_process("sort told")).out == "term\nusr\n"; }));
}

TEST_F(Pausing, OverAndOverWhileProcessesStart) {
  begin();
  for (int i = 0; i < 200; ++i) {
    std::vector<Process> started;
    for (int n = 0; n < 4; ++n) started.push_back(spawn(shell_process("echo one; (echo two)")));
    pause();
    for (Process& process : started) (void)process.advance();
    resume();
    for (Process& process : started) {
      const auto output = process.communicate();
      ASSERT_TRUE(output) << output.error().message();
      ASSERT_EQ(output->out, "one\ntwo\n") << i;
      ASSERT_EQ(process.report().exit_code, 0);
    }
  }
}

TEST_F(Pausing, WhoResumesBeforeItIsPausedHearsNoLateAnswer) {
  begin();
  Process busy = spawn(shell_process(counting));
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(jail_->pause());
    ASSERT_TRUE(jail_->resume());
    ASSERT_TRUE(jail_->advance());
    ASSERT_EQ(jail_->activity(), Activity::active);
  }
  ASSERT_TRUE(goes_on("count"));
  pause();
  EXPECT_TRUE(is_still());
}

// Each of these is at work when it has said so.
struct Resistance {
  const char* name;
  std::string program;
  bool may_resist = false;  // on a busy machine
};

class PausingAttack : public Pausing, public testing::WithParamInterface<Resistance> {};

// Where init has to wait for a processor they may resist for as long as it tries, and its owner is
// then told.
TEST_P(PausingAttack, LosesOrIsTold) {
  jail::JailSpec spec = unhurried_spec();
  spec.limits.processes = 120;
  begin(spec);
  Process process = attacker(python_process(GetParam().program));
  int pauses = 0;
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(jail_->pause());
    ASSERT_TRUE(soon([&] { return jail_->advance() && jail_->activity() != Activity::pausing; }))
        << "they neither stand still nor are said to go on";
    if (jail_->activity() == Activity::paused) {
      // Init stops again what the kernel continues, up to a number of times. Processes that run a
      // few milliseconds at a time are killed within three seconds on a quiet host.
      bool was_still = pauses++ > 0;
      for (int tries = 0; tries < 10 && !was_still; ++tries) was_still = is_still();
      EXPECT_TRUE(was_still);
      resume();
    }
    std::this_thread::sleep_for(milliseconds(50));
  }
  EXPECT_TRUE(pauses > 0 || GetParam().may_resist);
  ASSERT_TRUE(jail_->pause());
  jail_->cancel();
  ASSERT_TRUE(jail_->wait(Phase::ended, scaled(seconds(10))));
}

// The beginning of a program that forks so many times, and has the kernel continue each of its
// processes again and again, every so many nanoseconds.
std::string timers_that_continue(int forks, int every_ns) {
  const std::string every = std::to_string(every_ns);
  return "import ctypes, os, signal, struct, threading, time\n"
         "libc = ctypes.CDLL(None)\n"
         "for _ in range(" +
         std::to_string(forks) +
         "):\n"
         "    if os.fork() == 0: break\n"
         "timer = ctypes.c_void_p()\n"
         "event = ctypes.create_string_buffer(struct.pack('PiiQ', 0, signal.SIGCONT, 0, 0), 64)\n"
         "assert libc.timer_create(1, event, ctypes.byref(timer)) == 0\n"
         "each = ctypes.create_string_buffer(struct.pack('qqqq', 0, " +
         every + ", 0, " + every +
         "), 32)\n"
         "assert libc.timer_settime(timer, 0, each, None) == 0\n"
         "signal.signal(signal.SIGCONT, lambda *_: None)\n";
}

const Resistance resistances[] = {
    {"ProcessesThatContinueEachOther", R"(
import os, signal
for _ in range(30):
    if os.fork() == 0: break
print('at work', flush=True)
while True:
    try: os.kill(-1, signal.SIGCONT)
    except ProcessLookupError: pass
)",
     true},
    {"ThreadsThatContinueAll", R"(
import os, signal, threading
def work():
    while True:
        try: os.kill(-1, signal.SIGCONT)
        except ProcessLookupError: pass
for _ in range(3):
    if os.fork() == 0: break
for _ in range(20): threading.Thread(target=work).start()
print('at work', flush=True)
)",
     true},
    {"OneThatPassesTheWordOn", R"(
import os, signal, time
first = os.getpid()
pids = [first]
for _ in range(60):
    pid = os.fork()
    if pid == 0:
        mine = len(pids)
        os.kill(os.getpid(), signal.SIGSTOP)
        while True:
            try: os.kill(first if mine == 60 else os.getpid() + 1, signal.SIGCONT)
            except OSError: pass
            os.kill(os.getpid(), signal.SIGSTOP)
    pids.append(pid)
time.sleep(0.1)
print('at work', flush=True)
while True:
    os.kill(pids[1], signal.SIGCONT)
    os.kill(first, signal.SIGSTOP)
)",
     true},
    {"AForkBomb", R"(
import os
print('at work', flush=True)
while True:
    try: os.fork()
    except OSError: pass
)"},
    {"AParentThatWaitsInVfork", R"(
import subprocess, threading
def work():
    while True: subprocess.run(['/usr/bin/true'], close_fds=False)
for _ in range(8): threading.Thread(target=work).start()
print('at work', flush=True)
)"},
    {"TimersThatContinue", timers_that_continue(10, 200'000'000) + R"(
print('at work', flush=True)
while True: pass
)"},
    {"TimersOfAMillisecond", timers_that_continue(40, 1'000'000) + R"(
print('at work', flush=True)
while True: pass
)"},
    {"AFirstThreadThatHasLeft", timers_that_continue(0, 200'000'000) + R"(
def work():
    print('at work', flush=True)
    while True: pass
threading.Thread(target=work).start()
libc.syscall(60, 0)
)"},
    {"ManyThatRunALittleAtATime", timers_that_continue(20, 300'000'000) + R"(
print('at work', flush=True)
while True:
    until = time.process_time() + 0.003
    while time.process_time() < until: pass
    os.kill(os.getpid(), signal.SIGSTOP)
)"},
    {"OrphansOfAStoppedGroup", R"(
import os, signal, time
print('at work', flush=True)
while True:
    if os.fork() == 0:
        os.setpgid(0, 0)
        if os.fork() == 0:
            os.kill(os.getpid(), signal.SIGSTOP)
            os._exit(0)
        os._exit(0)
    os.wait()
)"},
};

INSTANTIATE_TEST_SUITE_P(Of, PausingAttack, testing::ValuesIn(resistances),
                         [](const auto& attack) { return std::string(attack.param.name); });

}  // namespace
}  // namespace kernel_ring
