// Every system call of a launch made to fail in turn: the error names the step, nothing is left,
// and the next launch works.
#include <gmock/gmock.h>
#include <sys/mman.h>

#include "faults.h"

namespace kernel_ring {
namespace {

using edited::List;
using testing::HasSubstr;

class FailingCalls : public FaultsTest {
 protected:
  static constexpr List both[] = {List::init, List::guest};

  // Descriptors that failures leaked in the launcher would exceed this limit before the last call.
  // A zygote needs the numbers up to here.
  LoweredLimit few_descriptors_{pid_, RLIMIT_NOFILE, jail::wire::zygote_control_fd + 1};

  static edited::Edit failing(List list, std::size_t index) {
    return [=](jail::Plan& plan) { edited::exchange(plan, list, index, edited::unknown_call); };
  }

  static void expect_named(const jail::Error& error, const std::string& step) {
    EXPECT_THAT(error.message(), HasSubstr(step));
    EXPECT_EQ(error.sys_errno, ENOSYS) << error.message();
    EXPECT_EQ(error.kind, jail::ErrorKind::kernel) << error.message();
  }
};

TEST_F(FailingCalls, OfAColdLaunch) {
  const LoweredLimit fewer_descriptors(pid_, RLIMIT_NOFILE, 128);
  const jail::JailSpec spec = spec_for({"/usr/bin/echo", "the guest ran"});
  const auto plan = jail::compile(spec, jail::Launcher::State::of(launcher_)->host);
  ASSERT_TRUE(plan) << plan.error().message();
  for (const List list : both) {
    const std::size_t count =
        list == List::init ? plan->init.calls.size() : plan->guest.calls.size();
    ASSERT_GT(count, 15u);
    for (std::size_t i = 0; i < count; ++i) {
      const std::string step = step_text(*plan, list, i);
      jail::Plan broken = *plan;
      failing(list, i)(broken);
      auto jail = edited::launch(launcher_, std::move(broken), spec.limits);
      ASSERT_TRUE(jail) << step << ": " << jail.error().message();
      const jail::Fd out = jail->take_stdout();
      const auto done = run_to_end(*jail);
      ASSERT_FALSE(done) << "it goes on without: " << step;
      expect_named(done.error(), step);
      EXPECT_EQ(read_all(out), "") << step;
      expect_nothing_left(step);
      expect_next_launch_works(step);
    }
  }
}

// A call that writes less than it should has failed as well.
TEST_F(FailingCalls, ByAShortResult) {
  const jail::JailSpec spec = spec_for({"/usr/bin/true"});
  const auto plan = jail::compile(spec, jail::Launcher::State::of(launcher_)->host);
  ASSERT_TRUE(plan) << plan.error().message();
  std::size_t tried = 0;
  for (std::size_t i = 0; i < plan->init.calls.size(); ++i) {
    if (plan->init.calls[i].at_least == 0) continue;
    ++tried;
    jail::Plan broken = *plan;
    broken.init.calls[i].at_least = 1 << 30;
    auto jail = edited::launch(launcher_, std::move(broken), spec.limits);
    ASSERT_TRUE(jail) << jail.error().message();
    const auto done = run_to_end(*jail);
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().message(), HasSubstr(step_text(*plan, List::init, i)));
    EXPECT_EQ(done.error().sys_errno, EIO);
  }
  EXPECT_GE(tried, 5u);
}

TEST_F(FailingCalls, OfTheCloneItself) {
  const jail::JailSpec spec = spec_for({"/usr/bin/true"});
  auto plan = jail::compile(spec, jail::Launcher::State::of(launcher_)->host);
  ASSERT_TRUE(plan) << plan.error().message();
  plan->clone_flags |= 0x00010000;  // CLONE_THREAD: not with namespaces of its own
  auto jail = edited::launch(launcher_, std::move(*plan), spec.limits);
  ASSERT_TRUE(jail) << jail.error().message();
  const auto done = run_to_end(*jail);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message(), HasSubstr("clone a jail: Invalid argument"));
}

TEST_F(FailingCalls, OfATemplatesHost) {
  jail::TemplateSpec spec = python_template();
  // Copies of them would be a thousand calls like each other.
  std::erase_if(spec.jail.root.binds, [](const jail::ReadOnlyBind& bind) {
    return bind.target.starts_with("/etc/") && bind.kind == jail::NodeKind::directory;
  });
  const auto plan = jail::compile_host(spec.jail, jail::Launcher::State::of(launcher_)->host);
  ASSERT_TRUE(plan) << plan.error().message();
  for (const List list : both) {
    const std::size_t count =
        list == List::init ? plan->init.calls.size() : plan->guest.calls.size();
    ASSERT_GT(count, 10u);
    for (std::size_t i = 0; i < count; ++i) {
      const std::string step = step_text(*plan, list, i);
      auto warm = edited::Template::start(launcher_, spec, failing(list, i), {});
      ASSERT_TRUE(warm) << step << ": " << warm.error().message();
      const auto ready = warm->wait_until_ready(patience);
      ASSERT_FALSE(ready) << "it goes on without: " << step;
      EXPECT_THAT(ready.error().message(), HasSubstr("start a zygote: "));
      expect_named(ready.error(), step);
      { const edited::Template gone = std::move(*warm); }
      expect_nothing_left(step);
    }
  }
}

TEST_F(FailingCalls, OfAForkedJailsInit) {
  auto warm = edited::Template::start(launcher_, python_template(), {}, {});
  ASSERT_TRUE(warm) << warm.error().message();
  const auto ready = warm->wait_until_ready(patience);
  ASSERT_TRUE(ready) << ready.error().message();
  const std::size_t count = warm->jail_plan().init.calls.size();
  ASSERT_GT(count, 50u);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string step = step_text(warm->jail_plan(), List::init, i);
    auto jail = warm->order(failing(List::init, i));
    ASSERT_TRUE(jail) << step << ": " << jail.error().message();
    const auto done = jail->wait(jail::Phase::ready, patience);
    ASSERT_FALSE(done) << "it goes on without: " << step;
    expect_named(done.error(), step);
    expect_ended(*jail, step);
    if (i % 8 != 0) continue;
    auto good = warm->order();
    ASSERT_TRUE(good) << step << ": " << good.error().message();
    const auto next = good->wait(jail::Phase::ready, patience);
    ASSERT_TRUE(next) << step << ": " << next.error().message();
  }
}

// A zygote runs these calls in its forks, and has had them from its start.
TEST_F(FailingCalls, OfAForkedGuest) {
  const jail::TemplateSpec spec = python_template();
  auto plans = jail::TemplatePlans::make(spec, jail::Launcher::State::of(launcher_)->host);
  ASSERT_TRUE(plans) << plans.error().message();
  const std::size_t count = plans->jail->guest.calls.size();
  ASSERT_GT(count, 50u);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string step = step_text(*plans->jail, List::guest, i);
    auto warm = edited::Template::start(launcher_, spec, {}, failing(List::guest, i));
    ASSERT_TRUE(warm) << step << ": " << warm.error().message();
    const auto ready = warm->wait_until_ready(patience);
    ASSERT_TRUE(ready) << step << ": " << ready.error().message();
    auto jail = warm->order();
    ASSERT_TRUE(jail) << step << ": " << jail.error().message();
    const auto done = jail->wait(jail::Phase::ready, patience);
    ASSERT_FALSE(done) << "it goes on without: " << step;
    expect_named(done.error(), step);
    { const edited::Template gone = std::move(*warm); }
    expect_nothing_left(step);
  }
}

}  // namespace
}  // namespace kernel_ring
