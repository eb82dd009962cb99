// Sandboxes that are paused, for every possible reason, and go on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <optional>
#include <string>

#include "processes.h"
#include "sandbox_fixture.h"

namespace kernel_ring {
namespace {

// Returns the parent of a process below this one; 0 where there is none.
pid_t parent_of_one_named(const std::string& name) {
  for (const pid_t parent : descendants_of(::getpid())) {
    for (const pid_t child : children_of(parent)) {
      if (name_of(child) == name) return parent;
    }
  }
  return 0;
}

class SandboxPauseTest : public LivingSandboxTest {};

TEST_F(SandboxPauseTest, ItIsPausedAndGoesOn) {
  begin();
  const Process process = started(shell("while :; do echo x; sleep 0.01; done"));
  ASSERT_NE(process, nullptr);
  ASSERT_FALSE(sandbox_->paused_since());
  EXPECT_EQ(pause(), std::nullopt);
  EXPECT_EQ(pause(), std::nullopt) << "twice is as good as once";
  ASSERT_TRUE(sandbox_->paused_since());
  EXPECT_EQ(sandbox_->running(), 1u);
  EXPECT_FALSE(prints_more(process, seconds(1)));
  ASSERT_TRUE(sandbox_->resume());
  EXPECT_FALSE(sandbox_->paused_since());
  EXPECT_TRUE(prints_more(process, scaled(seconds(10))));
  EXPECT_THAT(pauses_, testing::ElementsAre(std::nullopt));
  EXPECT_EQ(resumptions_, 1);
}

TEST_F(SandboxPauseTest, WhateverNeedsItsProcessesResumesIt) {
  begin();
  EXPECT_EQ(pause(), std::nullopt);
  EXPECT_EQ(run("echo $((6*7))").out, "42\n");
  EXPECT_FALSE(sandbox_->paused_since());
  EXPECT_EQ(pause(), std::nullopt);
  EXPECT_TRUE(sandbox_->resume_on_demand());
  EXPECT_FALSE(sandbox_->paused_since());
}

TEST_F(SandboxPauseTest, WithoutThatOnlyResumeDoes) {
  pausing_.resumes_on_demand = false;
  begin();
  EXPECT_EQ(pause(), std::nullopt);
  EXPECT_EQ(spawn(shell("true")).error().kind, jail::ErrorKind::refused);
  EXPECT_EQ(sandbox_->resume_on_demand().error().kind, jail::ErrorKind::refused);
  EXPECT_TRUE(sandbox_->paused_since());
  EXPECT_TRUE(sandbox_->resume());
  EXPECT_EQ(run("echo $((6*7))").out, "42\n");
}

TEST_F(SandboxPauseTest, ItsTimeStandsStillWhileItIsPaused) {
  begin({}, milliseconds(3000), milliseconds(3000));
  const Process process = started(shell("sleep 60"));
  EXPECT_EQ(pause(), std::nullopt);
  EXPECT_FALSE(ends_within(milliseconds(4000)));
  ASSERT_TRUE(sandbox_->resume());
  ASSERT_TRUE(ends_within(scaled(seconds(10))));
  EXPECT_EQ(sandbox_->ending()->cause, LivingSandbox::Cause::lifetime);
}

TEST_F(SandboxPauseTest, ItIsPausedInPlaceOfItsEnd) {
  pausing_.in_place_of_end = true;
  begin({}, scaled(seconds(2)));
  const Process process = started(shell("while :; do echo x; sleep 0.01; done"));
  const auto is_paused = [this] { return sandbox_->paused_since().has_value(); };
  ASSERT_TRUE(soon(is_paused));
  EXPECT_THAT(pauses_, testing::ElementsAre(LivingSandbox::Cause::lifetime));
  EXPECT_FALSE(prints_more(process, milliseconds(300)));
  ASSERT_TRUE(sandbox_->resume());
  EXPECT_TRUE(prints_more(process, milliseconds(1500))) << "it has all of its time again";
  ASSERT_TRUE(soon(is_paused));
  EXPECT_EQ(sandbox_->ending(), std::nullopt);
}

TEST_F(SandboxPauseTest, AnIdleOneIsPausedAndCanBeIdleAgain) {
  pausing_.in_place_of_end = true;
  begin({}, std::nullopt, milliseconds(200));
  for (int i = 1; i <= 2; ++i) {
    ASSERT_TRUE(soon([this] { return sandbox_->paused_since().has_value(); }));
    EXPECT_EQ(sandbox_->ending(), std::nullopt);
    EXPECT_EQ(pauses_.size(), static_cast<std::size_t>(i));
    EXPECT_EQ(run("echo $((6*7))").out, "42\n");
  }
  EXPECT_THAT(pauses_, testing::Each(LivingSandbox::Cause::idle));
}

TEST_F(SandboxPauseTest, WhatItMayLiveInAllIsNotPaused) {
  pausing_.in_place_of_end = true;
  max_lifetime_ = milliseconds(500);
  begin();
  ASSERT_TRUE(ends_within(scaled(seconds(10))));
  EXPECT_EQ(sandbox_->ending()->cause, LivingSandbox::Cause::lifetime);
}

TEST_F(SandboxPauseTest, ItIsNotKeptPausedForEver) {
  pausing_.max_paused = milliseconds(400);
  begin();
  const Process process = started(shell("sleep 60"));
  EXPECT_EQ(pause(), std::nullopt);
  ASSERT_TRUE(ends_within(scaled(seconds(10))));
  EXPECT_EQ(sandbox_->ending()->cause, LivingSandbox::Cause::pause);
  EXPECT_EQ(pause(), jail::ErrorKind::closed);
  EXPECT_EQ(sandbox_->resume().error().kind, jail::ErrorKind::closed);
}

TEST_F(SandboxPauseTest, APausedOneEndsAtOnce) {
  begin();
  const Process process = started(shell("while :; do :; done"));
  EXPECT_EQ(pause(), std::nullopt);
  const auto began = std::chrono::steady_clock::now();
  sandbox_->end(LivingSandbox::Cause::deleted);
  ASSERT_TRUE(ends_within(scaled(seconds(10))));
  EXPECT_LT(std::chrono::steady_clock::now() - began, scaled(seconds(1)));
  EXPECT_EQ(sandbox_->ending()->report.ended, jail::Ended::cancelled) << "init has ended it";
}

TEST_F(SandboxPauseTest, APausedOneIsNotWaitedForWhenTheServerEnds) {
  begin();
  const Process process = started(shell("sleep 60"));
  EXPECT_EQ(pause(), std::nullopt);
  sandbox_->end_when_unattended(LivingSandbox::Cause::stopping);
  EXPECT_TRUE(ends_within(scaled(seconds(10))));
}

TEST_F(SandboxPauseTest, AnInitThatDoesNotAnswerIsWaitedForFiveSeconds) {
  begin();
  const Process process = started(shell("exec sleep 60"));
  pid_t init = 0;
  ASSERT_TRUE(soon([&] { return (init = parent_of_one_named("sleep")) > 0; }));
  ASSERT_EQ(::kill(init, SIGSTOP), 0);
  EXPECT_EQ(pause(), jail::ErrorKind::timed_out);
  EXPECT_FALSE(sandbox_->paused_since());
  ASSERT_EQ(::kill(init, SIGCONT), 0);
  EXPECT_EQ(run("echo $((6*7))").out, "42\n");
}

}  // namespace
}  // namespace kernel_ring
