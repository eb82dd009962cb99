// A living jail for a test, and processes in it.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "guest.h"
#include "jail/process.h"
#include "processes.h"
#include "tests/time_scale.h"

namespace kernel_ring {

// A spec on the host root under the shipped policy, with the limits of spec_for().
inline jail::JailSpec living_spec() {
  jail::JailSpec spec = spec_for({});
  spec.life = jail::Life::until_ended;
  spec.env = {};
  return spec;
}

// The same with a minute to live and to compute.
inline jail::JailSpec unhurried_spec() {
  jail::JailSpec spec = living_spec();
  spec.limits.wall = spec.limits.cpu = scaled(std::chrono::seconds(60));
  return spec;
}

// Adds what a terminal takes to the shipped policy.
inline jail::JailSpec with_terminals(jail::JailSpec spec) {
  spec.filter =
      *jail::compile_policy(jail::with_rules(jail::default_policy(), jail::terminal_rules()));
  return spec;
}

inline jail::ProcessSpec interactive_shell() {
  jail::ProcessSpec spec{.argv = {"/usr/bin/bash", "--norc", "-i"},
                         .env = {"PATH=/usr/bin:/bin", "TERM=dumb", "PS1=$ "}};
  spec.terminal = jail::TerminalSize{};
  return spec;
}

inline jail::ProcessSpec shell_process(const std::string& script) {
  return {.argv = {"/usr/bin/bash", "-c", script}, .env = {"PATH=/usr/bin:/bin", "LANG=C.UTF-8"}};
}

inline jail::ProcessSpec python_process(const std::string& code) {
  return {.argv = {"/usr/bin/python3", "-c", code}, .env = {"PATH=/usr/bin:/bin"}};
}

class LivingJail : public testing::Test {
 protected:
  void begin(const jail::JailSpec& spec) {
    auto made = ready_jail(spec);
    ASSERT_TRUE(made) << made.error().message();
    start(std::move(*made));
  }

  // Starts a jail that is ready.
  void start(jail::Jail made) {
    jail_.emplace(std::move(made));
    const auto started = jail_->start();
    ASSERT_TRUE(started) << started.error().message();
    // Init may be quicker than the launcher's message about it.
    ASSERT_TRUE(soon([this] { return jail_->advance() && jail_->process_fd() >= 0; }));
  }

  jail::Process spawn(const jail::ProcessSpec& spec) {
    auto process = jail_->spawn(spec);
    if (!process) {
      const auto ended = jail_->wait(jail::Phase::ended, scaled(std::chrono::milliseconds(100)));
      ADD_FAILURE() << process.error().message() << "; the jail "
                    << (ended ? to_string(jail_->report().ended) : "goes on");
      std::abort();
    }
    return std::move(*process);
  }

  // Spawns a process and collects its outcome. A failure of ours fails the test.
  Outcome run(const jail::ProcessSpec& spec, const std::string& input = {}) {
    jail::Process process = spawn(spec);
    auto output = process.communicate(input);
    if (!output) {
      ADD_FAILURE() << output.error().message();
      return {};
    }
    return {process.report(), std::move(output->out), std::move(output->err)};
  }

  // Spawns a hostile process and waits until it has said that it is at work. Its further output is
  // in said_.
  jail::Process attacker(const jail::ProcessSpec& spec, int patience_ms = 10'000) {
    jail::Process process = spawn(spec);
    said_ = process.take_stdout();
    pollfd readable{said_.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&readable, 1, scaled_ms(patience_ms)), 1);
    char word = 0;
    EXPECT_EQ(::read(said_.get(), &word, 1), 1) << "the attack has not begun";
    return process;
  }

  std::optional<jail::Jail> jail_;
  jail::Fd said_;
};

}  // namespace kernel_ring
