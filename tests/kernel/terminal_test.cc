// A jail whose guest has a terminal in place of three pipes: its own, and with all that a guest is
// confined by.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "guest.h"
#include "tests/time_scale.h"
#include "warm_jails.h"

namespace kernel_ring {
namespace {

using jail::Ended;
using jail::ErrorKind;
using jail::Phase;
using jail::TerminalSize;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

class AtTerminal : public testing::Test {
 protected:
  void start(std::vector<std::string> program, const Change& change = {}) {
    jail::JailSpec spec = spec_for(std::move(program));
    spec.terminal = TerminalSize{100, 30};
    if (change) change(spec);
    auto jail = launcher().launch(spec);
    ASSERT_TRUE(jail) << jail.error().message();
    jail_.emplace(std::move(*jail));
    ASSERT_TRUE(jail_->wait(Phase::ready, scaled(seconds(10))));
    EXPECT_EQ(jail_->terminal_fd(), -1);
    ASSERT_TRUE(jail_->start());
    const auto deadline = std::chrono::steady_clock::now() + scaled(seconds(10));
    while (jail_->terminal_fd() < 0 && std::chrono::steady_clock::now() < deadline) {
      pollfd entry{jail_->control_fd(), POLLIN, 0};
      ::poll(&entry, 1, 100);
      const auto advanced = jail_->advance();
      ASSERT_TRUE(advanced) << advanced.error().message();
    }
    ASSERT_GE(jail_->terminal_fd(), 0);
  }
  void start_shell(const std::string& script, const Change& change = {}) {
    start({"/bin/sh", "-c", script}, change);
  }

  // What is shown up to and with `expected`; all of it where that does not come in time.
  std::string until(const std::string& expected) {
    const auto deadline = std::chrono::steady_clock::now() + scaled(seconds(10));
    while (shown_.find(expected) == shown_.npos && std::chrono::steady_clock::now() < deadline) {
      pollfd readable{jail_->terminal_fd(), POLLIN, 0};
      if (::poll(&readable, 1, 100) <= 0) continue;
      std::array<char, 4096> room;
      const ssize_t got = ::read(jail_->terminal_fd(), room.data(), room.size());
      if (got <= 0) break;
      shown_.append(room.data(), static_cast<std::size_t>(got));
    }
    return std::exchange(shown_, {});
  }

  void type(const std::string& text) {
    EXPECT_EQ(::write(jail_->terminal_fd(), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
  }

  const jail::ExitReport& end() {
    const auto ended = jail_->wait(Phase::ended, scaled(seconds(20)));
    EXPECT_TRUE(ended) << (ended ? "" : ended.error().message());
    return jail_->report();
  }

  std::optional<jail::Jail> jail_;

 private:
  std::string shown_;
};

TEST_F(AtTerminal, ItIsTheGuestsOwn) {
  start_shell("trap 'stty size; echo resized' WINCH; tty; stty size; while :; do sleep .05; done");
  EXPECT_THAT(until("30 100"), HasSubstr("/dev/pts/0"));
  ASSERT_TRUE(jail_->resize({90, 20}));
  EXPECT_THAT(until("resized"), HasSubstr("20 90"));
  EXPECT_FALSE(jail_->take_stdin().valid() || jail_->take_stdout().valid() ||
               jail_->take_stderr().valid());
  type("\x03");
  EXPECT_EQ(end().ended, Ended::signaled);
  EXPECT_EQ(jail_->report().signal, SIGINT);
}

TEST_F(AtTerminal, WhatIsTypedIsItsInput) {
  start({"/usr/bin/python3", "-c",
         "import os, sys; print([os.isatty(fd) for fd in range(3)], open('/dev/tty').fileno() > 2);"
         "print(repr(input('name: ')))"});
  EXPECT_THAT(until("name: "), HasSubstr("[True, True, True] True"));
  type("Ada\n");
  EXPECT_THAT(until("'Ada'"), HasSubstr("'Ada'"));
  EXPECT_EQ(end().exit_code, 0);
}

TEST_F(AtTerminal, WhatItShowedLastIsThere) {
  start_shell("echo the end; exit 3");
  EXPECT_EQ(end().exit_code, 3);
  EXPECT_EQ(until("nothing that comes"), "the end\r\n");
}

TEST_F(AtTerminal, AShellControlsItsJobs) {
  start({"/usr/bin/bash", "--norc", "-i"}, [](jail::JailSpec& spec) {
    spec.env = {"PATH=/usr/bin:/bin", "TERM=dumb", "PS1=$ "};
    spec.filter =
        *jail::compile_policy(jail::with_rules(jail::default_policy(), jail::terminal_rules()));
  });
  EXPECT_THAT(until("$ "), Not(HasSubstr("job control")));
  type("(echo be\"\"gun; exec sleep 30)\n");
  until("begun");
  type("\x1a");
  EXPECT_THAT(until("Stopped"), HasSubstr("Stopped"));
  type("exit 5\n");
  EXPECT_THAT(until("stopped jobs"), HasSubstr("stopped jobs"));
  type("exit 5\n");
  EXPECT_EQ(end().exit_code, 5);
}

TEST_F(AtTerminal, ItCanMakeNoOther) {
  start_shell("ls -l /dev/pts; cat /dev/pts/ptmx; (: > /dev/ptmx) || echo none; echo over");
  const std::string shown = until("over");
  EXPECT_THAT(shown, HasSubstr("none"));
  EXPECT_THAT(shown, HasSubstr(" 0\r\n"));
  EXPECT_THAT(shown, Not(HasSubstr(" 1\r\n")));
}

TEST_F(AtTerminal, LimitsAndSignalsAreThoseOfEveryJail) {
  start_shell("trap 'echo heard' INT; echo waits; while :; do sleep .05; done",
              [](jail::JailSpec& spec) { spec.limits.wall = scaled(seconds(2)); });
  until("waits");
  ASSERT_TRUE(jail_->signal(SIGINT));
  EXPECT_THAT(until("heard"), HasSubstr("heard"));
  EXPECT_EQ(end().ended, Ended::timed_out);
}

TEST_F(AtTerminal, OneThatNobodyReadsHoldsNothingUp) {
  start_shell("while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done",
              [](jail::JailSpec& spec) { spec.limits.wall = scaled(seconds(1)); });
  EXPECT_EQ(end().ended, Ended::timed_out);
}

TEST_F(AtTerminal, WhatCannotBe) {
  jail::JailSpec spec = spec_for({"/bin/true"});
  spec.terminal = TerminalSize{0, 24};
  EXPECT_THAT(launcher().launch(spec).error().message(), HasSubstr("terminal"));
  spec.terminal = TerminalSize{};
  spec.life = jail::Life::until_ended;
  spec.argv.clear();
  spec.env.clear();
  EXPECT_THAT(launcher().launch(spec).error().message(), HasSubstr("terminal"));
  jail::TemplateSpec pooled = python_template();
  pooled.jail.terminal = TerminalSize{};
  const auto pool = jail::Pool::open(launcher(), pooled, {});
  ASSERT_FALSE(pool);
  EXPECT_THAT(pool.error().message(), HasSubstr("terminal"));
  auto plain = launcher().launch(spec_for({"/bin/true"}));
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->resize({1, 1}).error().kind, ErrorKind::invalid);
}

}  // namespace
}  // namespace kernel_ring
