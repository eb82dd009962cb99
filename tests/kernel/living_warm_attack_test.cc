// Hostile processes of a living jail against processes that a template's zygote forks into it,
// against that zygote, and so against other jails.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "guest.h"
#include "jail/process.h"
#include "processes.h"
#include "tests/time_scale.h"
#include "warm_living.h"

namespace kernel_ring {
namespace {

using jail::Ended;
using jail::Phase;
using jail::Process;
using jail::ProcessPhase;
using jail::ProcessSpec;
using std::chrono::milliseconds;
using std::chrono::seconds;

class WarmAttack : public WarmLivingJail {
 protected:
  // Counts all in this jail but init.
  std::size_t processes_in_the_jail() const {
    return descendants_of(process_of(jail_->process_fd())).size();
  }

  // Stops the zygote while the pool waits for nothing: a pool takes a zygote for dead if that does
  // not make what is waited for. The test continues it.
  void stop_zygote() {
    ASSERT_TRUE(pool_->until([](const jail::PoolState& state) {
      return state.refilling == 0 && state.ready >= state.target;
    }));
    zygote_ = zygote_below(::getpid());
    ASSERT_GT(zygote_, 0);
    ASSERT_EQ(::kill(zygote_, SIGSTOP), 0);
  }

  pid_t zygote_ = 0;
};

// The attack goes to every process that exists or will exist, as fast as possible. The calls for
// which libc has no name have the same numbers everywhere.
constexpr char attack_everybody[] = R"(
import ctypes, os, resource, signal
libc = ctypes.CDLL(None, use_errno=True)
print('at work', flush=True)
own = os.getpid()
seen, done = set(), set()
first = own + 1
space = ctypes.create_string_buffer(64)
class Part(ctypes.Structure): _fields_ = [('at', ctypes.c_void_p), ('bytes', ctypes.c_size_t)]
here, there = Part(ctypes.addressof(space), 8), Part(ctypes.addressof(space), 8)

def take_descriptor(pid):
    pidfd = libc.syscall(434, pid, 0)
    if pidfd < 0: return -1
    taken = libc.syscall(438, pidfd, 3, 0)
    os.close(pidfd)
    return taken

calls = {
    'ptrace': lambda pid: libc.ptrace(0x4206, pid, None, None),
    'read': lambda pid: libc.process_vm_readv(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0),
    'write': lambda pid: libc.process_vm_writev(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0),
    'take': take_descriptor,
    'prlimit': lambda pid: libc.prlimit64(pid, resource.RLIMIT_CPU, space, None),
    'affinity': lambda pid: libc.sched_setaffinity(pid, 8, space),
    'scheduler': lambda pid: libc.sched_setscheduler(pid, 3, ctypes.byref(ctypes.c_int(0))),
    'priority': lambda pid: libc.setpriority(0, pid, 19),
    'priority of its group': lambda pid: libc.setpriority(1, pid, 19),
    'group': lambda pid: libc.setpgid(pid, own),
}
os.setpgid(0, 0) if os.getpgid(0) != own else None
while not os.path.exists('/workspace/over'):
    for what in (signal.SIGSTOP, signal.SIGKILL):
        try: os.kill(-1, what)  # says nothing about whom it has reached
        except OSError: pass
    for pid in [1, *range(first, first + 40)]:
        if pid == own: continue
        is_there = False
        for what in (0, signal.SIGSTOP, signal.SIGXCPU):
            for reach in (os.kill,) if pid == 1 else (os.kill, os.killpg):
                try:
                    reach(pid, what)
                    done.add(f'{reach.__name__} {what}')
                except ProcessLookupError: pass
                except PermissionError: is_there = True
        if not is_there: continue
        seen.add(pid)
        for name in ('mem', 'environ', 'maps', 'fd/3', 'ns/mnt', 'root', 'cwd', 'exe', 'status', 'cmdline', 'comm'):
            try: os.close(os.open(f'/proc/{pid}/{name}', os.O_RDONLY))
            except OSError: continue
            done.add(name)
        for name, call in calls.items():
            if call(pid) >= 0: done.add(name)
        if pid != 1: first = max(first, pid - 30)
with open('/workspace/found', 'w') as f: f.write(f'{bool(seen - {1})} {sorted(done)}')
)";

TEST_F(WarmAttack, NobodyInTheJailReachesOneThatIsForked) {
  begin();
  for (const bool is_warm : {false, true}) {
    Process spy =
        attacker(is_warm ? warm("spy.py", attack_everybody) : python_process(attack_everybody));
    for (int i = 0; i < 40; ++i) {
      const Outcome outcome = run(warm("quick.py", "print('unharmed')"));
      ASSERT_EQ(outcome.out, "unharmed\n") << i << outcome.err;
    }
    run(shell_process("touch over"));
    const auto ended = spy.wait(ProcessPhase::ended, scaled(seconds(10)));
    ASSERT_TRUE(ended) << ended.error().message();
    EXPECT_EQ(run(shell_process("cat found; rm over")).out, "True []") << is_warm;
  }
}

TEST_F(WarmAttack, TheZygoteServesOthersWhileAJailIsHostile) {
  begin();
  Process spy = attacker(python_process(attack_everybody));
  auto other = (*pool_)->launch_living();
  ASSERT_TRUE(other);
  ASSERT_TRUE(other->wait(Phase::ready, scaled(seconds(10))));
  for (int i = 0; i < 20; ++i) run(warm("quick.py", "pass"));
  auto one = (*pool_)->lease();
  ASSERT_TRUE(one);
  ASSERT_TRUE(one->wait(Phase::ready, scaled(seconds(10))));
}

TEST_F(WarmAttack, FilesThatOthersLeftRunNothingBeforeInitHasItsNumber) {
  jail::TemplateSpec spec = decimal_template();
  spec.after_fork = "try: import left_by_others\nexcept ImportError: pass";
  begin(spec);
  {
    const auto file = jail_->open_file("/workspace/left_by_others.py", O_WRONLY | O_CREAT);
    ASSERT_TRUE(file);
    const std::string code =
        "import os\nprint(sorted(os.listdir('/proc/self/fd')), flush=True)\nos._exit(9)\n";
    ASSERT_GT(::write(file->get(), code.data(), code.size()), 0);
  }
  const Outcome outcome = run(warm("quick.py", "print('not reached')"));
  EXPECT_EQ(outcome.report.exit_code, 9) << "it ran as a part of the program";
}

// Numbers of threads are process numbers too. The last numbers before a round number are held by
// processes.
TEST_F(WarmAttack, WhoeverHoldsNumbersKeepsNobodyFromBeingForked) {
  begin();
  Process holder = attacker(python_process(R"(
import _thread, os, threading, time
threading.stack_size(65536)
def number_of_a_thread():
    done = threading.Lock()
    done.acquire()
    number = []
    def body():
        number.append(threading.get_native_id())
        done.release()
    while True:
        try: _thread.start_new_thread(body, ())
        except RuntimeError: continue
        done.acquire()
        return number[0]
while number_of_a_thread() < 31990: pass
for _ in range(20):
    if os.fork() == 0: time.sleep(60)
print('at work', flush=True)
time.sleep(60)
)"));
  EXPECT_EQ(run(warm("quick.py", "print('unharmed')")).out, "unharmed\n");
}

TEST_F(WarmAttack, AForkBombKeepsNobodyFromBeingForkedOrKilled) {
  jail::TemplateSpec spec = decimal_template();
  spec.jail.limits.memory_bytes = std::uint64_t{2} << 30;
  begin(spec);
  Process bomb = attacker(python_process(R"(
import os, time
print('at work', flush=True)
while True:
    try:
        if os.fork() == 0: os.setsid()
    except OSError: time.sleep(.001)
)"));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run(warm("in.py", "print('in')")).out, "in\n");
  ProcessSpec brief = warm("late.py", "import time; time.sleep(30)");
  brief.wall = seconds(2);
  Process late = spawn(brief);
  const auto ended = late.wait(ProcessPhase::ended, scaled(seconds(10)));
  ASSERT_TRUE(ended) << ended.error().message();
  EXPECT_EQ(late.report().ended, Ended::timed_out);
  jail_->cancel();
  ASSERT_TRUE(jail_->wait(Phase::ended, scaled(seconds(10))));
  EXPECT_EQ(jail_->report().ended, Ended::cancelled);
}

TEST_F(WarmAttack, WhatAForkLeftBehindCountsAndEndsWithTheJail) {
  begin();
  const std::string leave_one =
      "import os, time\nif os.fork() == 0:\n  os.setsid()\n  for fd in (0, 1, 2): os.close(fd)\n"
      "  time.sleep(600)";
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(run(warm("leave.py", leave_one)).report.ended, Ended::exited);
  }
  EXPECT_TRUE(soon([this] { return processes_in_the_jail() == 8; }));
  const pid_t init = process_of(jail_->process_fd());
  const std::set<pid_t> left = descendants_of(init);
  jail_->cancel();
  ASSERT_TRUE(jail_->wait(Phase::ended, scaled(seconds(10))));
  for (const pid_t pid : left) EXPECT_TRUE(soon([pid] { return is_gone(pid); }));
}

TEST_F(WarmAttack, AJailThatEndsMeanwhileAnswersForEach) {
  begin();
  const ProcessSpec spec = warm("wait.py", "input()");
  std::vector<Process> all;
  for (int i = 0; i < 30; ++i) all.push_back(spawn(spec));
  jail_->cancel();
  for (Process& process : all) {
    const auto ended = process.wait(ProcessPhase::ended, scaled(seconds(10)));
    ASSERT_TRUE(ended) << ended.error().message();
    EXPECT_NE(process.report().ended, Ended::exited);
  }
  ASSERT_TRUE(jail_->wait(Phase::ended, scaled(seconds(10))));
  EXPECT_EQ(jail_->report().ended, Ended::cancelled);
}

TEST_F(WarmAttack, WhoeverIsLetGoOfWhileItJoinsIsGone) {
  begin();
  const pid_t init = process_of(jail_->process_fd());
  const pid_t zygote = zygote_below(::getpid());
  const auto of_init = open_descriptors_of(init);
  const auto of_zygote = open_descriptors_of(zygote);
  const ProcessSpec spec = warm("wait.py", "import time; time.sleep(600)");
  for (int i = 0; i < 200; ++i) spawn(spec);
  const ProcessSpec quick = warm("quick.py", "print('in')");
  EXPECT_TRUE(soon([&] {
    const auto output = spawn(quick).communicate();
    return output && output->out == "in\n";
  })) << "those who are gone keep their places";
  EXPECT_TRUE(soon([this] { return processes_in_the_jail() == 0; }));
  EXPECT_TRUE(soon([] { return interpreters_of_hosts_below(::getpid()).size() == 1; }));
  EXPECT_TRUE(soon([&] {
    return open_descriptors_of(init) <= of_init && open_descriptors_of(zygote) <= of_zygote;
  })) << "descriptors are kept";
}

// The process ends by its own deadline, and none comes late.
TEST_F(WarmAttack, AZygoteThatStandsStillHoldsUpWhatItWasToForkAlone) {
  begin();
  ASSERT_NO_FATAL_FAILURE(stop_zygote());
  ProcessSpec brief = warm("late.py", "import time; time.sleep(600)");
  brief.wall = milliseconds(300);
  std::vector<Process> late;
  // There are more than there are places at a time, so places are reused while their forks are
  // still to come.
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 60; ++i) late.push_back(spawn(brief));
    EXPECT_EQ(run(shell_process("echo executed")).out, "executed\n");
    for (Process& process : late) {
      const auto ended = process.wait(ProcessPhase::ended, scaled(seconds(10)));
      ASSERT_TRUE(ended) << ended.error().message();
      EXPECT_EQ(process.report().ended, Ended::timed_out);
      EXPECT_EQ(process.report().phases.ran.count(), 0);
    }
    late.clear();
  }
  Process executed = spawn(shell_process("read word; echo $word"));
  ASSERT_EQ(::kill(zygote_, SIGCONT), 0);
  EXPECT_EQ(run(warm("quick.py", "print('in')")).out, "in\n");
  EXPECT_TRUE(soon([this] { return processes_in_the_jail() == 1; }));
  const auto output = executed.communicate("kept\n");
  ASSERT_TRUE(output) << output.error().message();
  EXPECT_EQ(output->out, "kept\n");
}

// A start has a time of its own, which is not the program's.
TEST_F(WarmAttack, WhoeverIsNotForkedInTimeHasFailedToStart) {
  begin();
  ASSERT_NO_FATAL_FAILURE(stop_zygote());
  Process late = spawn(warm("late.py", "open('begun', 'w')"));
  const auto ended = late.wait(ProcessPhase::ended, scaled(seconds(20)));
  ASSERT_EQ(::kill(zygote_, SIGCONT), 0);
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().kind, jail::ErrorKind::exhausted);
  EXPECT_THAT(ended.error().message(), testing::HasSubstr("has not run"));
  EXPECT_EQ(run(warm("quick.py", "import os; print(os.path.exists('begun'))")).out, "False\n");
  EXPECT_TRUE(soon([this] { return processes_in_the_jail() == 0; }));
}

TEST_F(WarmAttack, WhoeverCouldNotBeForkedKeepsNoPlace) {
  begin();
  const ProcessSpec spec = warm("wait.py", "input()");
  std::vector<Process> underway;
  for (int i = 0; i < 60; ++i) underway.push_back(spawn(spec));
  pool_.reset();
  for (Process& process : underway) static_cast<void>(process.communicate());
  ASSERT_TRUE(soon([&] { return !spawn(spec).communicate(); }));
  for (int i = 0; i < 300; ++i) {
    Process process = spawn(spec);
    ASSERT_FALSE(process.communicate()) << i;
  }
  EXPECT_EQ(run(shell_process("echo executed")).out, "executed\n");
}

}  // namespace
}  // namespace kernel_ring
