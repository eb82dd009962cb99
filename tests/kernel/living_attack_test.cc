// Hostile processes of a living jail against init, the owner, and processes that come after them.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <future>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "living_jail.h"
#include "tests/time_scale.h"

namespace kernel_ring {
namespace {

using jail::Ended;
using jail::ErrorKind;
using jail::Phase;
using jail::Process;
using jail::ProcessPhase;
using jail::ProcessSpec;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

ProcessSpec on_terminal(ProcessSpec spec) {
  spec.terminal = jail::TerminalSize{};
  return spec;
}

class LivingAttack : public LivingJail {
 protected:
  void begin(const jail::JailSpec& spec = unhurried_spec()) { LivingJail::begin(spec); }
};

constexpr char stop_everybody[] = R"(
import os, signal
print('at work', flush=True)
while True:
    try: os.kill(-1, signal.SIGSTOP)
    except ProcessLookupError: pass
)";

TEST_F(LivingAttack, NothingOfAProcessIsInSightBeforeItsProgram) {
  begin();
  // The spy opens the next process numbers as fast as it can; only what it finds of a process that
  // is still a part of init counts.
  Process spy = attacker(python_process(R"(
import os, sys
print('at work', flush=True)
seen, opened = 0, set()
first = os.getpid() + 1
while not os.path.exists('/workspace/over'):
    for pid in range(first, first + 40):
        try:
            with open(f'/proc/{pid}/comm') as f: name = f.read()
        except OSError: continue
        seen += 1
        if name == 'jail-init\n': opened.add('comm')
        for what in ('mem', 'environ', 'maps', 'fd/3', 'ns/mnt', 'root'):
            try: os.close(os.open(f'/proc/{pid}/{what}', os.O_RDONLY))
            except OSError: continue
            try:
                with open(f'/proc/{pid}/comm') as f: again = f.read()
            except OSError: continue
            if again == 'jail-init\n': opened.add(what)
        first = max(first, pid - 39)
with open('/workspace/found', 'w') as f: f.write(f'{seen > 0} {sorted(opened)}')
)"));
  for (int i = 0; i < 100; ++i) run({.argv = {"/usr/bin/true"}});
  run(shell_process("touch over"));
  ASSERT_TRUE(spy.wait(ProcessPhase::ended, scaled(seconds(10))));
  EXPECT_EQ(run(shell_process("cat found")).out, "True []");
}

TEST_F(LivingAttack, WhoeverIsStoppedBeforeItsProgramHoldsNobodyUp) {
  begin();
  Process stopper = attacker(python_process(stop_everybody));
  // These processes are still copies of init, so their memory must not count as filled by a
  // program.
  std::vector<Process> held;
  for (int i = 0; i < 8; ++i) held.push_back(spawn({.argv = {"/usr/bin/sleep", "30"}}));
  ProcessSpec brief{.argv = {"/usr/bin/sleep", "30"}};
  brief.wall = scaled(milliseconds(200));
  Process ends = spawn(brief);
  const auto ended = ends.wait(ProcessPhase::ended, scaled(seconds(5)));
  ASSERT_TRUE(ended) << ended.error().message();
  EXPECT_EQ(ends.report().ended, Ended::timed_out);
  jail_->cancel();
  ASSERT_TRUE(jail_->wait(Phase::ended, scaled(seconds(10))));
  EXPECT_EQ(jail_->report().ended, Ended::cancelled);
}

constexpr char stop_everybody_and_kill_when_told[] = R"(
import os, signal
print('at work', flush=True)
while True:
    what = signal.SIGKILL if os.path.exists('/workspace/kill') else signal.SIGSTOP
    try: os.kill(-1, what)
    except ProcessLookupError: pass
)";

TEST_F(LivingAttack, WhoeverIsKilledBeforeItsProgramHasNotRun) {
  begin();
  Process killer = attacker(python_process(stop_everybody_and_kill_when_told));
  std::vector<Process> others;
  bool is_stopped = false;
  for (int i = 0; i < 60 && !is_stopped; ++i) {
    others.push_back(spawn({.argv = {"/usr/bin/sleep", "30"}}));
    is_stopped = !others.back().wait(ProcessPhase::running, scaled(seconds(2)));
  }
  ASSERT_TRUE(is_stopped) << "all of them came to their program";
  ASSERT_TRUE(jail_->open_file("/workspace/kill", O_WRONLY | O_CREAT));
  for (Process& process : others) {
    const auto ended = process.wait(ProcessPhase::ended, scaled(seconds(10)));
    ASSERT_TRUE(ended) << ended.error().message();
    EXPECT_EQ(process.report().ended, Ended::signaled);
    EXPECT_EQ(process.report().signal, SIGKILL);
    EXPECT_EQ(process.report().phases.ran.count() > 0, &process != &others.back());
  }
}

TEST_F(LivingAttack, ASpawnedProcessIsConfinedAsAColdGuest) {
  const std::string look = R"(
import os, resource, signal
for line in open('/proc/self/status'):
    if line.split(':')[0] in ('Umask', 'Uid', 'Gid', 'Groups', 'NoNewPrivs', 'Seccomp', 'Seccomp_filters',
                              'CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb', 'SigBlk', 'SigIgn', 'SigCgt',
                              'SigPnd', 'ShdPnd', 'NSpid', 'Tgid', 'PPid', 'Cpus_allowed', 'Mems_allowed'):
        if not line.startswith(('NSpid', 'Tgid')): print(line, end='')
print(open('/proc/self/limits').read())
print(sorted(os.listdir('/proc/self/fd')), os.getcwd())
print(open('/proc/self/oom_score_adj').read(), os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0))
print(os.getsid(0) == os.getpid(), os.getpgid(0) == os.getpid())
print(sorted(line.split()[4] + ' ' + line.split()[5] for line in open('/proc/self/mountinfo') if '/pts' not in line and '/tty' not in line))
)";
  jail::JailSpec cold = spec_for({"/usr/bin/python3", "-c", look});
  cold.env = {"PATH=/usr/bin:/bin"};
  cold.limits = unhurried_spec().limits;
  begin();
  EXPECT_EQ(run(python_process(look)).out, kernel_ring::run(cold).out);
}

TEST_F(LivingAttack, LinksThatChangeLeadNowhereElse) {
  begin();
  Process swapper = attacker(python_process(R"(
import os, socket
os.mkdir('/workspace/d'); os.mkdir('/workspace/e'); open('/workspace/d/f', 'w').write('inside')
os.symlink('/proc/self/root', '/workspace/l'); os.symlink('../../../../../..', '/workspace/u')
socket.socket(socket.AF_UNIX).bind('/workspace/socket')
print('at work', flush=True)
while True:
    for path in ('l', 'u', 'e'):
        os.rename('/workspace/d', '/workspace/t'); os.rename('/workspace/' + path, '/workspace/d')
        os.rename('/workspace/d', '/workspace/' + path); os.rename('/workspace/t', '/workspace/d')
)"));
  for (int i = 0; i < 3000; ++i) {
    for (const char* path :
         {"/workspace/d/etc/machine-id", "/workspace/d/../../../../etc/machine-id",
          "/workspace/d/1/root/etc/machine-id"}) {
      const auto file = jail_->open_file(path, O_RDONLY);
      ASSERT_FALSE(file) << path;
    }
  }
  EXPECT_FALSE(jail_->open_file("/workspace/socket", O_RDWR));
  EXPECT_FALSE(jail_->open_file("/workspace/socket", O_PATH));
}

TEST_F(LivingAttack, WhatIsNoFileIsRefusedWithoutHavingBeenOpened) {
  begin();
  const int workspace = jail_->working_directory_fd();
  const jail::ActAsOwnerOf acting(workspace);
  ASSERT_EQ(::mkfifoat(workspace, "fifo", 0666), 0);
  const jail::Fd reader(::openat(workspace, "fifo", O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  ASSERT_TRUE(reader.valid());
  EXPECT_FALSE(jail_->open_file("/workspace/fifo", O_WRONLY));
  EXPECT_FALSE(jail_->open_file("/workspace/fifo", O_WRONLY | O_CREAT));
  pollfd hung_up{reader.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&hung_up, 1, 0), 0) << "a writer has come and gone";
}

TEST_F(LivingAttack, NoTerminalBecomesTheOwners) {
  begin();
  Process process = spawn(on_terminal({.argv = {"/usr/bin/sleep", "30"}}));
  ASSERT_TRUE(process.wait(ProcessPhase::running, scaled(seconds(10))));
  for (const char* path : {"/dev/pts/0", "/dev/pts/ptmx", "/dev/ptmx", "/dev/tty"}) {
    EXPECT_FALSE(jail_->open_file(path, O_RDWR)) << path;
  }
}

TEST_F(LivingAttack, TheOwnersSideOfATerminalNeverWaits) {
  begin();
  Process mute = spawn(on_terminal(python_process(R"(
import termios, time, os
mode = termios.tcgetattr(0)
mode[3] &= ~(termios.ICANON | termios.ECHO)
termios.tcsetattr(0, termios.TCSANOW, mode)
print('at work', flush=True)
for fd in (0, 1, 2): os.set_blocking(fd, True)
time.sleep(30)
)")));
  ASSERT_TRUE(mute.wait(ProcessPhase::running, scaled(seconds(10))));
  EXPECT_NE(::fcntl(mute.terminal_fd(), F_GETFL) & O_NONBLOCK, 0);
  pollfd readable{mute.terminal_fd(), POLLIN, 0};
  ASSERT_EQ(::poll(&readable, 1, scaled_ms(10'000)), 1);
  const std::string much(1u << 20, 'x');
  std::size_t written = 0;
  for (;;) {
    const ssize_t put = ::write(mute.terminal_fd(), much.data(), much.size());
    if (put <= 0) break;
    written += static_cast<std::size_t>(put);
    ASSERT_LT(written, much.size());
  }
  EXPECT_EQ(errno, EAGAIN);
  const auto before = std::chrono::steady_clock::now();
  { const Process gone = std::move(mute); }
  EXPECT_LT(std::chrono::steady_clock::now() - before, scaled(seconds(1)));
}

TEST_F(LivingAttack, AForkBombKeepsNobodyFromBeingSpawnedOrKilled) {
  jail::JailSpec spec = unhurried_spec();
  spec.limits.memory_bytes = std::uint64_t{2} << 30;
  begin(spec);
  Process bomb = attacker(python_process(R"(
import os, time
print('at work', flush=True)
while True:
    try:
        if os.fork() == 0: os.setsid()
    except OSError: time.sleep(.001)
)"));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run({.argv = {"/usr/bin/echo", "in"}}).out, "in\n");
  ProcessSpec brief{.argv = {"/usr/bin/sleep", "30"}};
  brief.wall = scaled(milliseconds(300));
  Process late = spawn(brief);
  ASSERT_TRUE(late.wait(ProcessPhase::ended, scaled(seconds(5))));
  EXPECT_EQ(late.report().ended, Ended::timed_out);
  jail_->cancel();
  ASSERT_TRUE(jail_->wait(Phase::ended, scaled(seconds(10))));
  EXPECT_EQ(jail_->report().ended, Ended::cancelled);
}

TEST_F(LivingAttack, WhoeverIsLeftBehindTakesNoPlaceOfAProcess) {
  jail::JailSpec spec = unhurried_spec();
  // Where a look is slow the watchdog counts so many processes as the most that they can be.
  spec.limits.memory_bytes = std::uint64_t{1} << 36;
  spec.limits.processes = 400;
  begin(spec);
  int left_behind = 0;
  std::optional<jail::Error> refused;
  while (left_behind < 300 && !refused) {
    Process process = spawn({.argv = {"/usr/bin/setsid", "--fork", "/usr/bin/sleep", "infinity"}});
    const auto ended = process.wait(ProcessPhase::ended, scaled(seconds(10)));
    if (ended) {
      ++left_behind;
    } else {
      refused = ended.error();
    }
  }
  EXPECT_EQ(left_behind, 256);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->kind, ErrorKind::exhausted) << refused->message();
  EXPECT_THAT(refused->message(), HasSubstr("left others behind"));
}

TEST_F(LivingAttack, SharedMemoryCountsUntilAllWhoHaveItAreGone) {
  jail::JailSpec spec = unhurried_spec();
  spec.limits.memory_bytes = 256u << 20;
  begin(spec);
  Process bystander = attacker(shell_process("echo at work; sleep 60"));
  const std::string map = "import mmap; m = mmap.mmap(-1, 150 << 20); print('mapped', flush=True)";
  for (int i = 0; i < 4; ++i) EXPECT_EQ(run(python_process(map)).out, "mapped\n") << i;
  // The memory counts as long as a child of the process that mapped it lives.
  const Outcome parent = run(python_process(map + R"(
import os, time
if os.fork() == 0: time.sleep(60)
)"));
  EXPECT_EQ(parent.out, "mapped\n");
  EXPECT_THAT(run(python_process(map)).err, HasSubstr("Cannot allocate memory"));
}

TEST_F(LivingAttack, NoLimitOfAProcessThatIsYetToBeginIsLowered) {
  begin();
  // Under the default policy these calls work only on the caller.
  const Outcome outcome = run(python_process(R"(
import os, resource
me = os.getppid() + 1
for attempt in (lambda: resource.prlimit(os.getpid() + 1, resource.RLIMIT_CPU, (1, 1)),
                lambda: os.sched_setaffinity(os.getpid() + 1, {0}),
                lambda: os.setpriority(os.PRIO_PROCESS, os.getpid() + 1, 19),
                lambda: os.setpriority(os.PRIO_USER, 0, 19)):
    try: attempt(); print('done')
    except OSError as error: print(error.errno)
)"));
  EXPECT_EQ(outcome.out, "1\n1\n1\n1\n");
}

TEST_F(LivingAttack, NoGuestMakesATerminal) {
  begin();
  EXPECT_EQ(run(python_process(R"(
import os
for path in ('/dev/ptmx', '/dev/pts/ptmx'):
    try: print(os.isatty(os.open(path, os.O_RDWR | os.O_NOCTTY)))
    except OSError as error: print(error.strerror)
try: os.openpty()
except OSError as error: print(error.strerror)
)"))
                .out,
            "No such file or directory\nFalse\nNo such file or directory\n");
}

// The process leads a session without a terminal, so every free terminal that it opens becomes its
// own.
constexpr char take_terminals[] = R"(
import os
print('at work', flush=True)
while True:
    for number in range(3):
        try: os.close(os.open(f'/dev/pts/{number}', os.O_RDWR))
        except OSError: pass
)";

TEST_F(LivingAttack, ATerminalIsNobodysBeforeItsProcess) {
  begin();
  std::vector<Process> takers;
  std::vector<jail::Fd> outputs;
  for (int i = 0; i < 4; ++i) {
    takers.push_back(attacker(python_process(take_terminals)));
    outputs.push_back(std::move(said_));
  }
  for (int i = 0; i < 200; ++i) {
    Process process = spawn(on_terminal(shell_process("read line < /dev/tty")));
    const auto now = process.wait(ProcessPhase::running, scaled(seconds(10)));
    ASSERT_TRUE(now) << i << ": " << now.error().message();
  }
}

TEST_F(LivingAttack, AShortageOfTerminalsIsNamed) {
  jail::JailSpec spec = unhurried_spec();
  spec.limits.memory_bytes = std::uint64_t{1} << 30;
  begin(spec);
  for (int i = 0; i < 64; ++i) {
    // A process that is left behind has the terminal open and ignores its hang-up.
    Process holder = spawn(on_terminal(shell_process("trap '' HUP; sleep 60 &")));
    const auto now = holder.wait(ProcessPhase::ended, scaled(seconds(10)));
    ASSERT_TRUE(now) << i << ": " << now.error().message();
  }
  Process late = spawn(on_terminal(shell_process("tty")));
  const auto refused = late.wait(ProcessPhase::running, scaled(seconds(10)));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::exhausted);
  EXPECT_THAT(refused.error().message(), HasSubstr("all of its terminals"));
}

TEST_F(LivingAttack, NoGuestChangesWhoMayHaveATerminal) {
  begin();
  const Outcome outcome = run(python_process(R"(
import os
for change in (lambda: os.chmod('/dev/pts/ptmx', 0), lambda: os.chmod('/dev/pts', 0)):
    try: change(); print('changed')
    except OSError as error: print(os.strerror(error.errno))
)"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("changed")));
  Process process = spawn(on_terminal({.argv = {"/usr/bin/true"}}));
  const auto now = process.wait(ProcessPhase::ended, scaled(seconds(10)));
  EXPECT_TRUE(now) << now.error().message();
}

TEST_F(LivingAttack, CommunicateReturnsThoughOthersGoOnWriting) {
  begin();
  Process process = spawn(python_process(R"(
import os, time
for i in range(6):
    if os.fork() == 0:
        os.setsid()
        where, data = 1 + i % 2, b'x' * 65536
        os.set_blocking(where, False)
        while True:
            try: os.write(where, data)
            except BlockingIOError: pass
time.sleep(.3)
)"));
  auto returned = std::async(std::launch::async, [&] {
    ::setpriority(PRIO_PROCESS, 0, 19);  // for this thread alone, as on a busy machine
    return process.communicate();
  });
  const bool in_time = returned.wait_for(scaled(seconds(5))) == std::future_status::ready;
  EXPECT_TRUE(in_time);
  jail_->cancel();
  EXPECT_TRUE(returned.get());
}

}  // namespace
}  // namespace kernel_ring
