// A template's pool and a living jail of it for a test, with forks of its zygote.
#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

#include "living_jail.h"
#include "tests/driven_pool.h"

namespace kernel_ring {

inline jail::TemplateSpec decimal_template() {
  jail::TemplateSpec spec;
  spec.name = "python";
  spec.jail = spec_for({"/usr/bin/python3", "/workspace/main.py"});
  spec.jail.limits.wall = spec.jail.limits.cpu = scaled(std::chrono::seconds(60));
  spec.max_cpu = spec.jail.limits.cpu;
  spec.imports = {"decimal"};
  spec.after_fork = "import sys; sys.told_after_fork = True";
  return spec;
}

// Skips the tests where Landlock does not scope signals, after checking that no such jail is made
// there.
class WarmLivingJail : public LivingJail {
 protected:
  void SetUp() override {
    if (jail::landlock_reach().signals) return;
    open();
    const auto refused = (*pool_)->launch_living();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, jail::ErrorKind::unsupported);
    EXPECT_THAT(refused.error().message(), testing::HasSubstr("Linux 6.12"));
    GTEST_SKIP() << "this kernel's Landlock knows no signals: " << refused.error().message();
  }

  void open(jail::TemplateSpec spec = decimal_template()) {
    pool_ = std::make_unique<::DrivenPool>(launcher(), std::move(spec), jail::PoolOptions{});
    ASSERT_TRUE(pool_->until_ready()) << (*pool_)->state().trouble;
  }

  void begin(jail::TemplateSpec spec = decimal_template()) {
    ASSERT_NO_FATAL_FAILURE(open(std::move(spec)));
    auto made = (*pool_)->launch_living();
    ASSERT_TRUE(made) << made.error().message();
    const auto ready = made->wait(jail::Phase::ready, scaled(std::chrono::seconds(10)));
    ASSERT_TRUE(ready) << ready.error().message();
    start(std::move(*made));
  }

  // It may be warm itself, and wait until others have joined.
  jail::Process attacker(const jail::ProcessSpec& spec) {
    return LivingJail::attacker(spec, 60'000);
  }

  // Writes the program's file first.
  jail::ProcessSpec warm(const std::string& name, const std::string& code) {
    const auto file = jail_->open_file("/workspace/" + name, O_WRONLY | O_CREAT | O_TRUNC);
    if (!file || ::write(file->get(), code.data(), code.size()) < 0) {
      ADD_FAILURE() << "cannot write " << name;
    }
    jail::ProcessSpec spec{.argv = {"/workspace/" + name}, .env = {"PATH=/usr/bin:/bin"}};
    spec.warm = true;
    return spec;
  }

  std::unique_ptr<::DrivenPool> pool_;
};

}  // namespace kernel_ring
