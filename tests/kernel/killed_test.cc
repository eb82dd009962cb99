// kill -9 of init, of a zygote, of a template's host, of their owner, at each phase of a jail: the
// owner learns of it, no process is left, and the next launch works.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>

#include "faults.h"
#include "tests/time_scale.h"

namespace kernel_ring {
namespace {

using edited::List;
using jail::Ended;
using jail::ErrorKind;
using jail::Phase;
using testing::HasSubstr;

bool send_signal(int pidfd, int signal) {
  return ::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0) == 0;
}

class Killed : public FaultsTest {
 protected:
  static edited::Edit hanging(List list, std::size_t index) {
    return [=](jail::Plan& plan) { edited::exchange(plan, list, index, SYS_pause); };
  }

  static std::size_t index_of(const jail::CallList& list, const std::string& purpose) {
    const auto found = std::find_if(list.texts.begin(), list.texts.end(),
                                    [&](const auto& text) { return text.purpose == purpose; });
    EXPECT_NE(found, list.texts.end()) << purpose;
    return static_cast<std::size_t>(found - list.texts.begin());
  }

  // Waits until the launcher has announced init.
  static bool has_init(jail::Jail& jail) {
    return soon([&] { return jail.advance().has_value() && jail.process_fd() >= 0; });
  }

  jail::Jail ready_jail(const std::string& script) {
    auto jail = launcher_.launch(spec_for({"/usr/bin/bash", "-c", script}));
    EXPECT_TRUE(jail) << jail.error().message();
    const auto phase = jail->wait(Phase::ready, patience);
    EXPECT_TRUE(phase) << phase.error().message();
    return std::move(*jail);
  }

  jail::Jail running_jail(const std::string& script) {
    jail::Jail jail = ready_jail(script);
    EXPECT_TRUE(jail.start());
    return jail;
  }

  edited::Template ready_template(const edited::Edit& edit_jail = {}) {
    auto warm = edited::Template::start(launcher_, python_template(), {}, edit_jail);
    EXPECT_TRUE(warm) << warm.error().message();
    const auto ready = warm->wait_until_ready(patience);
    EXPECT_TRUE(ready) << ready.error().message();
    return std::move(*warm);
  }

  static jail::Jail running_in(const edited::Template& warm, const std::string& code) {
    auto jail = warm.order();
    EXPECT_TRUE(jail) << jail.error().message();
    const auto phase = jail->wait(Phase::ready, patience);
    EXPECT_TRUE(phase) << phase.error().message();
    EXPECT_TRUE(jail->write_file("main.py", code, 0644));
    EXPECT_TRUE(jail->start());
    return std::move(*jail);
  }

  // Returns as soon as it has printed something.
  static void wait_for_word(const jail::Fd& stream) {
    pollfd word{stream.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&word, 1, scaled_ms(10'000)), 1);
  }

  static void expect_killed(jail::Jail& jail) {
    const auto phase = jail.wait(Phase::ended, patience);
    ASSERT_TRUE(phase) << phase.error().message();
    EXPECT_EQ(jail.report().ended, Ended::killed);
    expect_ended(jail, "when it was killed");
  }
};

TEST_F(Killed, InitWhileItMakesTheJail) {
  const jail::JailSpec spec = spec_for({"/usr/bin/true"});
  const auto plan = jail::compile(spec, jail::Launcher::State::of(launcher_)->host);
  ASSERT_TRUE(plan) << plan.error().message();
  for (std::size_t i = 0; i < plan->init.calls.size(); i += 16) {
    const std::string step = step_text(*plan, List::init, i);
    jail::Plan held = *plan;
    hanging(List::init, i)(held);
    auto jail = edited::launch(launcher_, std::move(held), spec.limits);
    ASSERT_TRUE(jail) << jail.error().message();
    ASSERT_TRUE(has_init(*jail)) << step;
    ASSERT_TRUE(send_signal(jail->process_fd(), SIGKILL)) << step;
    const auto phase = jail->wait(Phase::ready, patience);
    ASSERT_FALSE(phase) << step;
    EXPECT_EQ(phase.error().kind, ErrorKind::closed) << step;
    EXPECT_THAT(phase.error().message(), HasSubstr("its launcher or init is gone")) << step;
    expect_nothing_left(step);
  }
}

TEST_F(Killed, InitThatWaits) {
  jail::Jail jail = ready_jail("true");
  ASSERT_TRUE(send_signal(jail.process_fd(), SIGKILL));
  expect_killed(jail);
}

TEST_F(Killed, InitOfARunningJail) {
  jail::Jail jail = running_jail("sleep 60 & sleep 60 & echo runs; wait");
  const jail::Fd out = jail.take_stdout();
  wait_for_word(out);
  ASSERT_TRUE(send_signal(jail.process_fd(), SIGKILL));
  expect_killed(jail);
  expect_nothing_left("a running jail");
}

// The program has ended well, but the process that could report that is gone: this must never be a
// success that nobody reported.
TEST_F(Killed, InitBeforeItHasSeenTheEnd) {
  jail::Jail jail = running_jail("echo runs; read; exit 0");
  const jail::Fd out = jail.take_stdout();
  jail::Fd in = jail.take_stdin();
  wait_for_word(out);
  ASSERT_TRUE(send_signal(jail.process_fd(), SIGSTOP));
  in.reset();
  pollfd end{out.get(), 0, 0};  // POLLHUP: the program's end of it is closed
  ASSERT_EQ(::poll(&end, 1, scaled_ms(10'000)), 1);
  ASSERT_TRUE(send_signal(jail.process_fd(), SIGKILL));
  expect_killed(jail);
}

TEST_F(Killed, InitWhoseReportIsOnItsWay) {
  jail::Jail jail = running_jail("exit 3");
  expect_ended(jail, "by itself");
  send_signal(jail.process_fd(), SIGKILL);
  const auto phase = jail.wait(Phase::ended, patience);
  ASSERT_TRUE(phase) << phase.error().message();
  EXPECT_EQ(jail.report().ended, Ended::exited);
  EXPECT_EQ(jail.report().exit_code, 3);
}

TEST_F(Killed, InitOfAForkedJailWhileItWaitsAndWhileItRuns) {
  const edited::Template warm = ready_template();
  auto waiting = warm.order();
  ASSERT_TRUE(waiting) << waiting.error().message();
  ASSERT_TRUE(waiting->wait(Phase::ready, patience));
  ASSERT_TRUE(has_init(*waiting));
  ASSERT_TRUE(send_signal(waiting->process_fd(), SIGKILL));
  expect_killed(*waiting);
  jail::Jail running =
      running_in(warm, "import os, time\nos.fork()\nprint(1, flush=True)\ntime.sleep(60)");
  const jail::Fd out = running.take_stdout();
  wait_for_word(out);
  ASSERT_TRUE(send_signal(running.process_fd(), SIGKILL));
  expect_killed(running);
  jail::Jail next = running_in(warm, "raise SystemExit(5)");
  ASSERT_TRUE(next.wait(Phase::ended, patience));
  EXPECT_EQ(next.report().exit_code, 5);
}

// The zygote was asked for a guest, and is dead before it forks one.
TEST_F(Killed, ZygoteThatWasAsked) {
  const edited::Template warm = ready_template();
  ASSERT_TRUE(send_signal(warm.zygote_fd(), SIGSTOP));
  auto jail = warm.order();
  ASSERT_TRUE(jail) << jail.error().message();
  ASSERT_TRUE(has_init(*jail));
  EXPECT_FALSE(jail->wait(Phase::ready, std::chrono::milliseconds(50)));
  ASSERT_TRUE(send_signal(warm.zygote_fd(), SIGKILL));
  const auto phase = jail->wait(Phase::ready, patience);
  ASSERT_FALSE(phase);
  EXPECT_THAT(phase.error().message(), HasSubstr("fork the guest"));
  expect_ended(*jail, "without its zygote");
}

// The guest was forked, and is dead before it is ready: the zygote serves on.
TEST_F(Killed, GuestOnItsWay) {
  const jail::TemplateSpec spec = python_template();
  auto plans = jail::TemplatePlans::make(spec, jail::Launcher::State::of(launcher_)->host);
  ASSERT_TRUE(plans) << plans.error().message();
  const std::size_t held = index_of(plans->jail->guest, "set the umask");
  const edited::Template warm = ready_template(hanging(List::guest, held));
  for (int round = 0; round < 3; ++round) {
    auto jail = warm.order();
    ASSERT_TRUE(jail) << jail.error().message();
    ASSERT_TRUE(has_init(*jail));
    const pid_t init = process_of(jail->process_fd());
    std::set<pid_t> inside;
    ASSERT_TRUE(soon([&] { return !(inside = children_of(init)).empty(); })) << "no guest";
    for (const pid_t child : inside) ::kill(child, SIGKILL);
    const auto phase = jail->wait(Phase::ready, patience);
    ASSERT_FALSE(phase);
    EXPECT_THAT(phase.error().message(), HasSubstr("fork the guest"));
    expect_ended(*jail, "without its guest");
  }
}

// Its owner hears of it before the jail is given a program.
TEST_F(Killed, GuestThatWaits) {
  const edited::Template warm = ready_template();
  auto jail = warm.order();
  ASSERT_TRUE(jail) << jail.error().message();
  ASSERT_TRUE(jail->wait(Phase::ready, patience));
  ASSERT_TRUE(has_init(*jail));
  const std::set<pid_t> inside = children_of(process_of(jail->process_fd()));
  ASSERT_EQ(inside.size(), 1u);
  ASSERT_EQ(::kill(*inside.begin(), SIGKILL), 0);
  const auto phase = jail->wait(Phase::running, patience);
  ASSERT_FALSE(phase);
  EXPECT_THAT(phase.error().message(), HasSubstr("fork the guest"));
  EXPECT_EQ(phase.error().sys_errno, ECHILD);
  expect_ended(*jail, "without its guest");
}

// A pool that nobody has driven since then must hand out no dead jail.
TEST_F(Killed, JailsThatWaitInAPool) {
  jail::TemplateSpec spec;
  spec.name = "bash";
  spec.warmth = jail::Warmth::prepared;
  spec.jail = spec_for({"/usr/bin/bash", "/workspace/main.sh"});
  auto pool = jail::Pool::open(launcher_, spec, {.least = 2, .usual = 2, .most = 2});
  ASSERT_TRUE(pool) << pool.error().message();
  ASSERT_TRUE(soon([&] {
    pool->advance();
    return pool->state().ready == 2;
  }));
  const std::set<pid_t> inits = children_of(pid_);
  ASSERT_EQ(inits.size(), 2u);
  for (const pid_t init : inits) ::kill(init, SIGKILL);
  ASSERT_TRUE(soon([&] { return std::all_of(inits.begin(), inits.end(), is_gone); }));
  auto jail = pool->lease();
  ASSERT_TRUE(jail) << jail.error().message();
  ASSERT_TRUE(jail->wait(Phase::ready, patience));
  ASSERT_TRUE(jail->write_file("main.sh", "exit 5", 0644));
  ASSERT_TRUE(jail->start());
  ASSERT_TRUE(jail->wait(Phase::ended, patience));
  EXPECT_EQ(jail->report().exit_code, 5);
  EXPECT_EQ(pool->state().failures, 2u);
}

TEST_F(Killed, HostOfATemplateTakesItsJailsAlong) {
  const edited::Template warm = ready_template();
  jail::Jail running = running_in(warm, "import time\nprint(1, flush=True)\ntime.sleep(60)");
  const jail::Fd out = running.take_stdout();
  wait_for_word(out);
  auto waiting = warm.order();
  ASSERT_TRUE(waiting) << waiting.error().message();
  ASSERT_TRUE(waiting->wait(Phase::ready, patience));
  const std::set<pid_t> hosts = children_of(pid_);
  ASSERT_EQ(hosts.size(), 1u);
  ASSERT_EQ(::kill(*hosts.begin(), SIGKILL), 0);
  expect_killed(running);
  expect_killed(*waiting);
  const auto refused = warm.order();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::closed);
  expect_nothing_left("a host");
}

// The owner has jails in every phase.
TEST_F(Killed, OwnerOfColdAndForkedJails) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t owner = ::fork();
  if (owner == 0) {
    auto own = start_launcher();
    auto starting = own->launch(spec_for({"/usr/bin/true"}));
    auto waiting = own->launch(spec_for({"/usr/bin/true"}));
    auto running = own->launch(spec_for({"/usr/bin/sleep", "60"}));
    bool good = waiting->wait(Phase::ready, patience).has_value() &&
                running->wait(Phase::ready, patience).has_value() && running->start().has_value();
    auto warm = edited::Template::start(*own, python_template(), {}, {});
    good = good && warm->wait_until_ready(patience).has_value();
    auto warm_waiting = warm->order();
    good = good && warm_waiting->wait(Phase::ready, patience).has_value();
    jail::Jail warm_running = running_in(*warm, "import time\ntime.sleep(60)");
    auto warm_starting = warm->order();
    if (good && ::write(ends[1], "x", 1) == 1) ::pause();
    ::_exit(1);
  }
  ::close(ends[1]);
  char byte = 0;
  const ssize_t got = ::read(ends[0], &byte, 1);
  ::close(ends[0]);
  const std::set<pid_t> all = descendants_of(owner);
  EXPECT_GE(all.size(), 10u);
  ASSERT_EQ(::kill(owner, SIGKILL), 0);
  ASSERT_EQ(::waitpid(owner, nullptr, 0), owner);
  ASSERT_EQ(got, 1);
  EXPECT_TRUE(soon([&all] { return std::all_of(all.begin(), all.end(), is_gone); }));
}

}  // namespace
}  // namespace kernel_ring
