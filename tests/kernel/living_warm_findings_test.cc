// What forks of one zygote share that programs take for their own, and what hostile processes of a
// living jail do to processes that are forked beside them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
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
using std::chrono::seconds;

class WarmFindings : public WarmLivingJail {
 protected:
  // Returns what `code` prints in a jail of its own that is forked from the same zygote.
  std::string in_a_jail_of_its_own(const std::string& code) {
    auto one = (*pool_)->lease();
    EXPECT_TRUE(one);
    EXPECT_TRUE(one->wait(Phase::ready, scaled(seconds(10))));
    EXPECT_TRUE(one->write_file("main.py", code, 0644));
    one->take_stdin();
    EXPECT_TRUE(one->start());
    return collect(*one).out;
  }
};

// The key authenticates the connections of multiprocessing, and its holder can run code at the
// other end.
TEST_F(WarmFindings, TheKeyOfMultiprocessingIsAProcesssOwn) {
  jail::TemplateSpec spec = decimal_template();
  spec.imports = {"multiprocessing"};
  begin(spec);
  const std::string tell =
      "import multiprocessing as m\nprint(bytes(m.current_process().authkey).hex())";
  const std::string first = run(warm("one.py", tell)).out;
  ASSERT_EQ(first.size(), 65u);
  EXPECT_NE(first, run(warm("two.py", tell)).out) << "in one living jail";
  EXPECT_NE(first, in_a_jail_of_its_own(tell)) << "in two jails of one template";
}

// Libraries recognize a fork by a changed process number.
TEST_F(WarmFindings, NoForkHasTheNumberOfItsZygote) {
  jail::TemplateSpec spec = decimal_template();
  spec.imports = {"tempfile"};
  spec.warm_up = "import os, sys, tempfile; sys.pid_of_zygote = os.getpid(); tempfile.mktemp()";
  begin(spec);
  const std::string tell = "import os, sys\nprint(os.getpid() != sys.pid_of_zygote)";
  EXPECT_EQ(in_a_jail_of_its_own(tell), "True\n");
  const std::string name = "import tempfile\nprint(tempfile.mktemp())";
  EXPECT_NE(in_a_jail_of_its_own(name), in_a_jail_of_its_own(name));
}

// Read-only mappings of the system's files are shared in a cold process too.
TEST_F(WarmFindings, NothingThatIsMappedWritableIsSharedWithTheZygote) {
  jail::TemplateSpec spec = decimal_template();
  spec.warm_up = "import sys; sys.held = bytearray(b'x' * (60 << 20))";
  begin(spec);
  const Outcome outcome =
      run(warm("look.py",
               "for line in open('/proc/self/maps'):\n"
               "  if line.split()[1] in ('rw-s', '-w-s', 'rwxs'): print(line, end='')"));
  EXPECT_EQ(outcome.out, "") << "mapped shared";
}

// These attributes are inherited from the zygote and are not in the status file of a guest.
TEST_F(WarmFindings, AForkHasTheAttributesOfWhatIsExecuted) {
  begin();
  const std::string look = R"(
import ctypes, os, resource, time
libc = ctypes.CDLL(None)
wanted = ('Umask', 'Uid', 'Gid', 'Groups', 'NoNewPrivs', 'Seccomp', 'Cap', 'Sig', 'Shd', 'Threads', 'Speculation', 'CoreDumping', 'Cpus_allowed', 'Mems_allowed', 'THP')
print(''.join(line for line in open('/proc/self/status') if line.startswith(wanted)))
print(open('/proc/self/limits').read())
print('dumpable', libc.prctl(3, 0, 0, 0, 0), 'slack', libc.prctl(30, 0, 0, 0, 0), 'personality', libc.personality(0xffffffff))
print(os.sched_getscheduler(0), os.getpriority(0, 0), os.sched_getaffinity(0))
print(open('/proc/self/oom_score_adj').read(), os.getsid(0) == os.getpid(), os.getpgid(0) == os.getpid())
print('spent', resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
)";
  EXPECT_EQ(run(warm("look.py", look)).out, run(python_process(look)).out);
}

// The kernel stops a child whose fork had begun when all processes were stopped, and a parent that
// waits in that fork counts as standing still. So a resumption has to reach children that do not
// exist yet.
TEST_F(WarmFindings, NoForkThatJoinsStaysStoppedAfterAPause) {
  jail::TemplateSpec wide = decimal_template();
  wide.jail.limits.memory_bytes = 1u << 30;
  begin(wide);
  const ProcessSpec spec = warm("one.py", "print(1)");
  std::vector<Process> running;
  const auto is_paused = [this] {
    return jail_->advance() && jail_->activity() == jail::Activity::paused;
  };
  const auto until = std::chrono::steady_clock::now() + seconds(8);
  while (std::chrono::steady_clock::now() < until) {
    while (running.size() < 4) running.push_back(spawn(spec));
    ASSERT_TRUE(jail_->pause());
    // A fork holds a pause up for as long as the host takes for it.
    ASSERT_TRUE(soon(is_paused) || soon(is_paused));
    ASSERT_TRUE(jail_->resume());
    std::erase_if(running, [](Process& process) {
      const auto phase = process.advance();
      EXPECT_TRUE(phase) << phase.error().message();
      if (phase && *phase != ProcessPhase::ended) return false;
      EXPECT_EQ(process.report().ended, Ended::exited);
      return true;
    });
    ASSERT_FALSE(HasFailure());
  }
  for (Process& process : running) {
    const auto ended = process.wait(ProcessPhase::ended, scaled(seconds(10)));
    ASSERT_TRUE(ended) << ended.error().message();
    EXPECT_EQ(process.report().ended, Ended::exited);
  }
}

// Each orphan is one more process for init to reap.
TEST_F(WarmFindings, AStormOfOrphansDelaysNoDeadline) {
  begin();
  Process storm = attacker(python_process(R"(
import ctypes, os
libc = ctypes.CDLL(None)
print('at work', flush=True)
for _ in range(6): os.fork()
while True:
    try:
        if os.fork() == 0:
            for _ in range(40):
                if libc.fork() == 0: libc._exit(0)
            libc._exit(0)
    except OSError: pass
)"));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run(warm("in.py", "print('in')")).out, "in\n");
  ProcessSpec brief = warm("late.py", "import time; time.sleep(30)");
  brief.wall = scaled(seconds(2));
  const auto begun = std::chrono::steady_clock::now();
  Process late = spawn(brief);
  const auto ended = late.wait(ProcessPhase::ended, scaled(seconds(10)));
  ASSERT_TRUE(ended) << ended.error().message();
  EXPECT_EQ(late.report().ended, Ended::timed_out);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, scaled(seconds(3)));
}

}  // namespace
}  // namespace kernel_ring
