// Signals for the guest of a jail that has one of its own: it hears them as a program at a terminal
// does, and nothing else in the jail's making does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "guest.h"
#include "warm_jails.h"

namespace kernel_ring {
namespace {

using jail::Ended;
using jail::ErrorKind;
using jail::Phase;
using testing::HasSubstr;

// Says when it waits, and what became of it. An interpreter that hears a signal in the moment
// before a long sleep begins looks at it only afterwards, so each of these sleeps is short.
constexpr const char* waits_for_ctrl_c = R"py(
import time
try:
    print("waits", flush=True)
    while True:
        time.sleep(0.01)
except KeyboardInterrupt:
    print("interrupted")
finally:
    print("finally")
)py";

class Signalled : public testing::Test {
 protected:
  void start(jail::Jail jail, const std::string& code) {
    jail_.emplace(std::move(jail));
    ASSERT_TRUE(jail_->wait(Phase::ready, scaled(std::chrono::seconds(10))));
    ASSERT_TRUE(jail_->write_file("main.py", code, 0644));
    out_ = jail_->take_stdout();
    jail_->take_stdin();
    ASSERT_TRUE(jail_->start());
  }
  void start_cold(const std::string& code) {
    auto jail = launcher().launch(spec_for({"/usr/bin/python3", "/workspace/main.py"}));
    ASSERT_TRUE(jail) << jail.error().message();
    start(std::move(*jail), code);
  }

  // Reads its output until it has said `word`.
  void hear(const std::string& word) {
    while (heard_.find(word) == heard_.npos) ASSERT_TRUE(read_some()) << heard_;
  }

  void signal(int number) {
    const auto sent = jail_->signal(number);
    ASSERT_TRUE(sent) << sent.error().message();
  }

  const jail::ExitReport& end() {
    while (read_some()) {
    }
    const auto ended = jail_->wait(Phase::ended, scaled(std::chrono::seconds(20)));
    EXPECT_TRUE(ended) << (ended ? "" : ended.error().message());
    return jail_->report();
  }

  std::optional<jail::Jail> jail_;
  std::string heard_;

 private:
  // False: it has ended.
  bool read_some() {
    pollfd entry{.fd = out_.get(), .events = POLLIN, .revents = 0};
    ::poll(&entry, 1, static_cast<int>(scaled(std::chrono::milliseconds(20'000)).count()));
    char bytes[4096];
    const ssize_t count = ::read(out_.get(), bytes, sizeof bytes);
    if (count > 0) heard_.append(bytes, static_cast<std::size_t>(count));
    return count > 0;
  }

  jail::Fd out_;
};

TEST_F(Signalled, AColdProgramIsInterrupted) {
  start_cold(waits_for_ctrl_c);
  hear("waits");
  signal(SIGINT);
  const auto& report = end();
  EXPECT_EQ(heard_, "waits\ninterrupted\nfinally\n");
  EXPECT_EQ(report.ended, Ended::exited);
  EXPECT_EQ(report.exit_code, 0);
}

TEST_F(Signalled, AWarmProgramIsInterrupted) {
  DrivenPool pool(python_template());
  ASSERT_TRUE(pool.until_ready()) << pool->state().trouble;
  auto jail = pool->lease();
  ASSERT_TRUE(jail) << jail.error().message();
  start(std::move(*jail), waits_for_ctrl_c);
  hear("waits");
  signal(SIGINT);
  const auto& report = end();
  EXPECT_EQ(heard_, "waits\ninterrupted\nfinally\n");
  EXPECT_EQ(report.ended, Ended::exited);
}

TEST_F(Signalled, OneThatDoesNotCareDiesOfIt) {
  start_cold("import time; print('waits', flush=True); time.sleep(60)");
  hear("waits");
  signal(SIGTERM);
  const auto& report = end();
  EXPECT_EQ(report.ended, Ended::signaled);
  EXPECT_EQ(report.signal, SIGTERM);
}

TEST_F(Signalled, ItsWholeProcessGroupHearsIt) {
  start_cold(R"py(
import os, signal, sys, time
reading, writing = os.pipe()
if os.fork() == 0:
    signal.signal(signal.SIGINT, lambda *_: (print("child", flush=True), os._exit(0)))
    os.write(writing, b"x")
    while True:
        time.sleep(0.01)
os.read(reading, 1)
try:
    print("waits", flush=True)
    while True:
        time.sleep(0.01)
except KeyboardInterrupt:
    os.wait()
    print("parent")
)py");
  hear("waits");
  signal(SIGINT);
  end();
  EXPECT_EQ(heard_, "waits\nchild\nparent\n");
}

TEST_F(Signalled, OneThatLeftTheGroupDoesNotHearIt) {
  start_cold(R"py(
import os, signal, time
reading, writing = os.pipe()
child = os.fork()
if child == 0:
    os.setsid()
    os.write(writing, b"x")
    time.sleep(60)
os.read(reading, 1)
try:
    print("waits", flush=True)
    while True:
        time.sleep(0.01)
except KeyboardInterrupt:
    print(os.waitpid(child, os.WNOHANG))
)py");
  hear("waits");
  signal(SIGINT);
  EXPECT_EQ(end().exit_code, 0);
  EXPECT_EQ(heard_, "waits\n(0, 0)\n");
}

// Whenever the signal comes, it ends the program, at once or as it starts, and no other process.
TEST_F(Signalled, OneThatComesAtOnceIsTheProgramsEnd) {
  for (int round = 0; round < 20; ++round) {
    start_cold("import time; time.sleep(60)");
    signal(SIGTERM);
    const auto& report = end();
    EXPECT_EQ(report.ended, Ended::signaled);
    EXPECT_EQ(report.signal, SIGTERM);
  }
  DrivenPool pool(python_template());
  for (int round = 0; round < 5; ++round) {
    ASSERT_TRUE(pool.until_ready()) << pool->state().trouble;
    auto jail = pool->lease();
    ASSERT_TRUE(jail) << jail.error().message();
    start(std::move(*jail), "import time; time.sleep(60)");
    signal(SIGTERM);
    const auto& report = end();
    EXPECT_EQ(report.ended, Ended::signaled);
    EXPECT_EQ(report.signal, SIGTERM);
  }
}

TEST_F(Signalled, TheDeadlineStays) {
  auto spec = spec_for({"/usr/bin/python3", "/workspace/main.py"});
  spec.limits.wall = scaled(std::chrono::milliseconds(1500));
  auto jail = launcher().launch(spec);
  ASSERT_TRUE(jail);
  start(std::move(*jail), R"py(
import signal, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
print("waits", flush=True)
time.sleep(60)
)py");
  hear("waits");
  signal(SIGINT);
  EXPECT_EQ(end().ended, Ended::timed_out);
}

TEST_F(Signalled, WhatCannotBe) {
  auto jail = launcher().launch(spec_for({"/usr/bin/python3", "/workspace/main.py"}));
  ASSERT_TRUE(jail);
  ASSERT_TRUE(jail->wait(Phase::ready, scaled(std::chrono::seconds(10))));
  EXPECT_EQ(jail->signal(SIGINT).error().kind, ErrorKind::invalid);
  start(std::move(*jail), "print('x')");
  for (const int number : {0, -1, 65}) {
    EXPECT_EQ(jail_->signal(number).error().kind, ErrorKind::invalid) << number;
  }
  end();
  EXPECT_TRUE(jail_->signal(SIGINT)) << "one that has ended is no error";
}

}  // namespace
}  // namespace kernel_ring
