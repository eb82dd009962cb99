// Forks of a template's zygote as processes of a living jail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <optional>
#include <set>
#include <string>
#include <thread>
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
using jail::ErrorKind;
using jail::Phase;
using jail::Process;
using jail::ProcessPhase;
using jail::ProcessSpec;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

using WarmLiving = WarmLivingJail;

TEST_F(WarmLiving, ProcessesFollowEachOtherAndHaveWhatTheZygoteImported) {
  begin();
  ProcessSpec first =
      warm("one.py",
           "import sys, os\n"
           "print('decimal' in sys.modules, sys.told_after_fork, sys.argv, __file__)\n"
           "print(os.environ['MINE'], input(), os.getcwd(), os.getppid())\n"
           "open('kept', 'w').write('left')\n"
           "raise SystemExit(3)");
  first.argv.emplace_back("a b");
  first.env.emplace_back("MINE=1");
  const Outcome outcome = run(first, "typed\n");
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.out,
            "True True ['/workspace/one.py', 'a b'] /workspace/one.py\n"
            "1 typed /workspace 1\n");
  EXPECT_EQ(outcome.report.ended, Ended::exited);
  EXPECT_EQ(outcome.report.exit_code, 3);
  EXPECT_EQ(run(warm("two.py", "print(open('kept').read(), 'x' in globals())")).out,
            "left False\n");
  EXPECT_EQ(run(shell_process("cat kept; ls *.py")).out, "leftone.py\ntwo.py\n");
}

TEST_F(WarmLiving, SeveralRunAtOnceWithLimitsOfTheirOwn) {
  begin();
  std::vector<Process> running;
  for (int i = 0; i < 8; ++i) running.push_back(spawn(warm("echo.py", "print(input() * 2)")));
  ProcessSpec brief = warm("sleep.py", "import time; time.sleep(60)");
  brief.wall = scaled(milliseconds(300));
  Process late = spawn(brief);
  ProcessSpec busy = warm("spin.py", "while True: pass");
  busy.cpu = milliseconds(500);
  Process spins = spawn(busy);
  for (std::size_t i = running.size(); i-- > 0;) {
    const std::string number = std::to_string(i);
    const auto output = running[i].communicate(number + "\n");
    ASSERT_TRUE(output) << output.error().message();
    EXPECT_EQ(output->out, number + number + "\n");
  }
  for (Process* process : {&late, &spins}) {
    const auto ended = process->wait(ProcessPhase::ended, scaled(seconds(30)));
    ASSERT_TRUE(ended) << ended.error().message();
    EXPECT_EQ(process->report().ended, Ended::timed_out);
  }
  Process killed = spawn(warm("sleep.py", "import time; time.sleep(60)"));
  ASSERT_TRUE(killed.wait(ProcessPhase::running, scaled(seconds(10))));
  ASSERT_TRUE(killed.signal(SIGTERM));
  ASSERT_TRUE(killed.wait(ProcessPhase::ended, scaled(seconds(10))));
  EXPECT_EQ(killed.report().signal, SIGTERM);
}

TEST_F(WarmLiving, ASignalReachesWhoeverIsYetToJoin) {
  begin();
  const ProcessSpec spec = warm("sleep.py", "import time; time.sleep(60)");
  for (int i = 0; i < 20; ++i) {
    Process process = spawn(spec);
    ASSERT_TRUE(i % 2 == 0 ? process.signal(SIGTERM) : process.signal_group(SIGTERM));
    const auto ended = process.wait(ProcessPhase::ended, scaled(seconds(10)));
    ASSERT_TRUE(ended) << ended.error().message();
    EXPECT_EQ(process.report().signal, SIGTERM);
  }
}

TEST_F(WarmLiving, WhoJoinsWhileItIsPausedBeginsAfterwards) {
  begin();
  for (int i = 0; i < 20; ++i) {
    std::vector<Process> started;
    const ProcessSpec spec = warm("add.py", "import decimal; print(decimal.Decimal(40) + 2)");
    for (int n = 0; n < 6; ++n) started.push_back(spawn(spec));
    ASSERT_TRUE(jail_->pause());
    ASSERT_TRUE(
        soon([this] { return jail_->advance() && jail_->activity() == jail::Activity::paused; }));
    std::this_thread::sleep_for(milliseconds(i));
    ASSERT_TRUE(jail_->resume());
    for (Process& process : started) {
      const auto output = process.communicate();
      ASSERT_TRUE(output) << output.error().message();
      ASSERT_EQ(output->out, "42\n") << output->err;
    }
  }
}

TEST_F(WarmLiving, AForkIsConfinedAsTheGuestOfAOneProgramJail) {
  begin();
  const std::string look = R"(
import os, resource
wanted = ('Umask', 'Uid', 'Gid', 'Groups', 'NoNewPrivs', 'Seccomp', 'Cap', 'Sig', 'Shd', 'Threads')
print(''.join(line for line in open('/proc/self/status') if line.startswith(wanted)))
print(open('/proc/self/limits').read())
print(sorted(os.listdir('/proc/self/fd')), os.listdir('/'), os.listdir('/dev'))
print(open('/proc/self/oom_score_adj').read(), os.getsid(0) == os.getpid(), os.getpgid(0) == os.getpid())
for ns in ('pid', 'mnt', 'net', 'ipc', 'uts', 'user', 'cgroup'): print(ns, os.readlink(f'/proc/self/ns/{ns}') != '')
)";
  auto one = (*pool_)->lease();
  ASSERT_TRUE(one) << one.error().message();
  ASSERT_TRUE(one->wait(Phase::ready, scaled(seconds(10))));
  ASSERT_TRUE(one->write_file("main.py", look, 0644));
  one->take_stdin();
  ASSERT_TRUE(one->start());
  const Outcome expected = collect(*one);
  const Outcome outcome = run(warm("look.py", look));
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.out, expected.out);
}

TEST_F(WarmLiving, BothKindsAreInTheJailsNamespaces) {
  begin();
  const std::string look =
      "import os\nprint([os.readlink(f'/proc/self/ns/{n}') for n in "
      "('pid','mnt','net','ipc','uts','user','cgroup')])";
  EXPECT_EQ(run(warm("look.py", look)).out, run(python_process(look)).out);
}

TEST_F(WarmLiving, MemoryThatTheyHaveFromTheZygoteIsNobodysOwn) {
  jail::TemplateSpec spec = decimal_template();
  spec.warm_up = "import sys; sys.held = bytearray(b'x' * (60 << 20))";
  spec.jail.limits.memory_bytes = 160u << 20;
  begin(spec);
  std::vector<Process> running;
  for (int i = 0; i < 6; ++i) running.push_back(spawn(warm("wait.py", "input()")));
  for (Process& process : running) {
    const auto now = process.wait(ProcessPhase::running, scaled(seconds(10)));
    ASSERT_TRUE(now) << now.error().message();
  }
  Process greedy = spawn(warm("fill.py", "x = bytearray(b'y' * (300 << 20))"));
  const auto ended = greedy.wait(ProcessPhase::ended, scaled(seconds(20)));
  ASSERT_TRUE(ended) << ended.error().message();
  ASSERT_TRUE(jail_->wait(Phase::ended, scaled(seconds(10))));
  EXPECT_EQ(jail_->report().ended, Ended::out_of_memory);
}

// A program that says how many processes it could make.
constexpr const char* count =
    "import os, time\n"
    "children = []\n"
    "try:\n"
    "    while len(children) < 100:\n"
    "        child = os.fork()\n"
    "        if child == 0: time.sleep(60); os._exit(0)\n"
    "        children.append(child)\n"
    "except BlockingIOError: pass\n"
    "for child in children: os.kill(child, 9)\n"
    "for child in children: os.waitpid(child, 0)\n"
    "print(len(children))\n";

TEST_F(WarmLiving, LimitsAreChangedUpToTheMostOfTheTemplate) {
  jail::TemplateSpec spec = decimal_template();
  spec.jail.limits.processes = 16;
  spec.jail.max_limits = spec.jail.limits;
  spec.jail.max_limits->processes = 40;
  spec.jail.max_limits->memory_bytes = spec.max_memory_bytes;
  begin(spec);
  const auto change = [this](std::uint32_t processes) {
    const auto changed = jail_->change_limits({.processes = processes});
    ASSERT_TRUE(changed) << changed.error().message();
    ASSERT_TRUE(soon([this] { return jail_->advance() && jail_->limits_hold(); }));
  };
  EXPECT_EQ(run(warm("count.py", count)).out, "15\n");
  change(10);
  EXPECT_EQ(run(warm("count.py", count)).out, "9\n");
  EXPECT_EQ(run(python_process(count)).out, "9\n");
  change(30);
  EXPECT_EQ(run(python_process(count)).out, "29\n");
  EXPECT_EQ(run(warm("count.py", count)).out, "29\n");
}

TEST_F(WarmLiving, LimitsOfItsOwnAreChangedUpToTheirMost) {
  ASSERT_NO_FATAL_FAILURE(open());
  jail::Limits limits = decimal_template().jail.limits;
  limits.processes = 10;
  jail::Limits most = limits;
  most.processes = 300;  // more than the template's
  auto made = (*pool_)->launch_living(limits, most);
  ASSERT_TRUE(made) << made.error().message();
  ASSERT_TRUE(made->wait(Phase::ready, scaled(seconds(10))));
  start(std::move(*made));
  EXPECT_EQ(run(warm("count.py", count)).out, "9\n");
  const auto beyond = jail_->change_limits({.processes = 301});
  ASSERT_FALSE(beyond);
  EXPECT_THAT(beyond.error().message(), HasSubstr("max_limits"));
  const auto raised = jail_->change_limits({.processes = 90});
  ASSERT_TRUE(raised) << raised.error().message();
  ASSERT_TRUE(soon([this] { return jail_->advance() && jail_->limits_hold(); }));
  EXPECT_EQ(run(warm("count.py", count)).out, "89\n");
  EXPECT_EQ(run(python_process(count)).out, "89\n");
}

TEST_F(WarmLiving, WhatIsNoneOfTheTemplatesIsRefusedByField) {
  begin();
  const auto message = [this](const ProcessSpec& spec) {
    const auto refused = jail_->spawn(spec);
    return refused ? std::string("spawned") : refused.error().message();
  };
  ProcessSpec spec = warm("one.py", "");
  spec.working_directory = "/tmp";
  EXPECT_THAT(message(spec), HasSubstr("working_directory"));
  spec = warm("one.py", "");
  spec.argv = {"/tmp/one.py"};
  EXPECT_THAT(message(spec), HasSubstr("argv"));
  spec = shell_process("true");
  spec.terminal = jail::TerminalSize{};
  EXPECT_THAT(message(spec), HasSubstr("terminal"));
}

TEST_F(WarmLiving, WithoutItsZygoteAJailGoesOnWithWhatIsExecuted) {
  begin();
  pool_.reset();
  ASSERT_TRUE(soon([this] {
    const auto output = spawn(warm("one.py", "print('forked')")).communicate();
    return !output && output.error().kind == ErrorKind::closed;
  }));
  EXPECT_EQ(run(shell_process("echo executed")).out, "executed\n");
}

TEST_F(WarmLiving, AJailHasLimitsOfItsOwn) {
  ASSERT_NO_FATAL_FAILURE(open());
  jail::Limits limits = decimal_template().jail.limits;
  limits.processes = 4;
  limits.workspace_bytes = 1u << 20;
  // Both are more than the template's.
  limits.memory_bytes = std::uint64_t{3} << 30;
  limits.cpu = std::chrono::hours(1);
  const std::uint64_t leases = (*pool_)->state().leases;
  auto made = (*pool_)->launch_living(limits);
  ASSERT_TRUE(made) << made.error().message();
  ASSERT_TRUE(made->wait(Phase::ready, scaled(seconds(10))));
  start(std::move(*made));
  const Outcome outcome = run(warm("look.py",
                                   "import os, resource, sys\n"
                                   "print('decimal' in sys.modules, [resource.getrlimit(which) "
                                   "for which in (resource.RLIMIT_NPROC, resource.RLIMIT_CPU)], "
                                   "resource.getrlimit(resource.RLIMIT_DATA)[0] > 8 << 30)\n"
                                   "try: open('big', 'wb').write(bytes(2 << 20))\n"
                                   "except OSError as error: print(error.strerror)"));
  EXPECT_EQ(outcome.out, "True [(5, 5), (3602, 3602)] True\nNo space left on device\n")
      << outcome.err;
  const jail::PoolState state = (*pool_)->state();
  EXPECT_EQ(state.leased, 0u);
  EXPECT_EQ(state.leases, leases);
  limits.processes = 3;
  const auto refused = (*pool_)->launch_living(limits);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("limits.processes"));
}

TEST_F(WarmLiving, AZygoteThatAnotherOneReplacedForksIntoTheJailsThatItMade) {
  jail::TemplateSpec spec = decimal_template();
  spec.warm_up = "import os, sys; sys.zygote = os.urandom(8).hex()";
  jail::PoolOptions options;
  options.forks_per_zygote = 1;
  options.least = options.usual = 0;
  options.most = 1;
  pool_ = std::make_unique<::DrivenPool>(launcher(), spec, options);
  const std::string tell = "import sys; print(sys.zygote)";
  const auto begin_another = [this] {
    std::optional<jail::Jail> made;
    ASSERT_TRUE(soon([&] {
      auto jail = (*pool_)->launch_living();
      if (jail) made.emplace(std::move(*jail));
      return made.has_value();
    }));
    ASSERT_TRUE(made->wait(Phase::ready, scaled(seconds(10))));
    start(std::move(*made));
  };
  ASSERT_NO_FATAL_FAILURE(begin_another());
  const std::string zygote = run(warm("tell.py", tell)).out;
  ASSERT_EQ(zygote.size(), 17u);
  std::optional<jail::Jail> first = std::exchange(jail_, std::nullopt);
  std::set<std::string> later;
  std::vector<jail::Jail> of_later;
  const auto until_zygotes_are = [&](std::size_t number) {
    return soon([&] {
      begin_another();
      if (later.insert(run(warm("tell.py", tell)).out).second) {
        of_later.push_back(std::move(*jail_));
      }
      jail_.reset();
      return later.size() >= number;
    });
  };
  ASSERT_TRUE(until_zygotes_are(2));
  std::swap(first, jail_);
  EXPECT_EQ(run(warm("tell.py", tell)).out, zygote);
  std::swap(first, jail_);
  // No more than three are kept.
  ASSERT_TRUE(until_zygotes_are(6));
  std::swap(first, jail_);
  const auto output = spawn(warm("tell.py", tell)).communicate();
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().kind, ErrorKind::closed);
  EXPECT_EQ(run(shell_process("echo executed")).out, "executed\n");
}

}  // namespace
}  // namespace kernel_ring
