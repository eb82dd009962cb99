// Forks of a template's zygote as processes of a living jail, also beside hostile ones.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "guest.h"
#include "jail/process.h"
#include "living_jail.h"
#include "tests/driven_pool.h"
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

jail::TemplateSpec decimal_template() {
  jail::TemplateSpec spec;
  spec.name = "python";
  spec.jail = spec_for({"/usr/bin/python3", "/workspace/main.py"});
  spec.jail.limits.wall = spec.jail.limits.cpu = scaled(seconds(60));
  spec.most_cpu = spec.jail.limits.cpu;
  spec.imports = {"decimal"};
  spec.after_fork = "import sys; sys.told_after_fork = True";
  return spec;
}

class WarmLiving : public LivingJail {
 protected:
  void begin(jail::TemplateSpec spec = decimal_template()) {
    pool_ = std::make_unique<::DrivenPool>(launcher(), std::move(spec), jail::PoolOptions{});
    ASSERT_TRUE(pool_->until_ready()) << (*pool_)->state().trouble;
    auto made = (*pool_)->launch_living();
    ASSERT_TRUE(made) << made.error().message();
    jail_.emplace(std::move(*made));
    const auto ready = jail_->wait(Phase::ready, scaled(seconds(10)));
    ASSERT_TRUE(ready) << ready.error().message();
    const auto started = jail_->start();
    ASSERT_TRUE(started) << started.error().message();
  }

  // The program's file is written first.
  ProcessSpec warm(const std::string& name, const std::string& code) {
    const auto file = jail_->open_file("/workspace/" + name, O_WRONLY | O_CREAT | O_TRUNC);
    if (!file || ::write(file->get(), code.data(), code.size()) < 0) {
      ADD_FAILURE() << "cannot write " << name;
    }
    ProcessSpec spec{.argv = {"/workspace/" + name}, .env = {"PATH=/usr/bin:/bin"}};
    spec.warm = true;
    return spec;
  }

  std::unique_ptr<::DrivenPool> pool_;
};

TEST_F(WarmLiving, ProcessesFollowEachOtherAndHaveWhatTheZygoteImported) {
  begin();
  ProcessSpec first =
      warm("one.py",
           "import sys, os\n"
           "print('decimal' in sys.modules, sys.told_after_fork, sys.argv, __file__)\n"
           "print(os.environ['MINE'], input(), os.getcwd(), os.getppid())\n"
           "open('kept', 'w').write('left')\n"
           "raise SystemExit(3)");
  first.argv.push_back("a b");
  first.env.push_back("MINE=1");
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

// As fast as it can, to every process that there is or will be.
constexpr char attack_everybody[] = R"(
import os, signal
print('at work', flush=True)
own = os.getpid()
seen, done = set(), set()
first = own + 1
while not os.path.exists('/workspace/over'):
    for what in (signal.SIGSTOP, signal.SIGKILL):
        try: os.kill(-1, what)  # says nothing about whom it has reached
        except OSError: pass
    for pid in [1, 31999, *range(first, first + 40)]:
        if pid == own: continue
        for what in (0, signal.SIGSTOP):
            try:
                os.kill(pid, what)
                done.add(f'signal {what}')
            except ProcessLookupError: continue
            except PermissionError: seen.add(pid)
        for name in ('mem', 'environ', 'maps', 'fd/3', 'ns/mnt', 'root', 'status'):
            try: os.close(os.open(f'/proc/{pid}/{name}', os.O_RDONLY))
            except OSError: continue
            done.add(name)
        if pid in seen and pid not in (1, 31999): first = max(first, pid - 30)
with open('/workspace/found', 'w') as f: f.write(f'{bool(seen - {1})} {sorted(done)}')
)";

TEST_F(WarmLiving, NobodyInTheJailReachesOneThatIsForked) {
  begin();
  std::vector<Process> spies;
  for (const bool is_warm : {false, true}) {
    Process spy =
        spawn(is_warm ? warm("spy.py", attack_everybody) : python_process(attack_everybody));
    const jail::Fd out = spy.take_stdout();
    pollfd readable{out.get(), POLLIN, 0};
    ASSERT_EQ(::poll(&readable, 1, scaled_ms(10'000)), 1);
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

TEST_F(WarmLiving, TheZygoteServesOthersWhileAJailIsHostile) {
  begin();
  Process spy = spawn(python_process(attack_everybody));
  auto other = (*pool_)->launch_living();
  ASSERT_TRUE(other);
  ASSERT_TRUE(other->wait(Phase::ready, scaled(seconds(10))));
  for (int i = 0; i < 20; ++i) run(warm("quick.py", "pass"));
  auto one = (*pool_)->lease();
  ASSERT_TRUE(one);
  ASSERT_TRUE(one->wait(Phase::ready, scaled(seconds(10))));
}

TEST_F(WarmLiving, FilesThatOthersLeftRunNothingBeforeInitHasItsNumber) {
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
    Process process = spawn(warm("one.py", "print('forked')"));
    return !process.communicate();
  }));
  EXPECT_EQ(run(shell_process("echo executed")).out, "executed\n");
}

}  // namespace
}  // namespace kernel_ring
