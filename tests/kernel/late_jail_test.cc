// Jails that a pool waits for in vain: one of them alone, or all that a zygote should have forked.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>

#include "processes.h"
#include "warm_jails.h"

namespace kernel_ring {
namespace {

class LateJail : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(pool_.until_ready(2)) << pool_->state().trouble;
    zygote_ = zygote_below(::getpid());
    ASSERT_GT(zygote_, 0);
    const std::set<pid_t> below = descendants_of(::getpid());
    const auto host = std::find_if(below.begin(), below.end(), [&](pid_t process) {
      return children_of(process).contains(zygote_);
    });
    ASSERT_NE(host, below.end());
    host_ = *host;
  }

  // Stops the zygote, and has the pool order a jail in place of one that nobody uses. Returns the
  // order's init.
  pid_t order_in_vain() {
    const std::set<pid_t> before = children_of(host_);
    EXPECT_EQ(::kill(zygote_, SIGSTOP), 0);
    EXPECT_TRUE(pool_->lease());
    std::set<pid_t> added;
    const bool is_there = soon([&] {
      const std::set<pid_t> now = children_of(host_);
      added.clear();
      std::set_difference(now.begin(), now.end(), before.begin(), before.end(),
                          std::inserter(added, added.end()));
      return added.size() == 1 && name_of(*added.begin()) == "jail-init";
    });
    EXPECT_TRUE(is_there);
    return is_there ? *added.begin() : -1;
  }

  DrivenPool pool_{python_template(), {.least = 2, .usual = 2, .most = 2}};
  pid_t zygote_ = -1;
  pid_t host_ = -1;
};

TEST_F(LateJail, IsGivenUpAloneWhileOthersCome) {
  const pid_t late = order_in_vain();
  ASSERT_GT(late, 0);
  ASSERT_EQ(::kill(late, SIGSTOP), 0);
  ASSERT_EQ(::kill(zygote_, SIGCONT), 0);
  EXPECT_TRUE(pool_.until_ready(2)) << "it is waited for before another one is ordered";
  auto last = std::chrono::steady_clock::now();
  EXPECT_TRUE(pool_.until([&](const jail::PoolState& state) {
    const auto now = std::chrono::steady_clock::now();
    if (state.ready == 2 && now - last > std::chrono::milliseconds(500)) {
      EXPECT_TRUE(pool_->lease()) << "others come in its place until the late one is given up";
      last = now;
    }
    return state.failures > 0;
  }));
  EXPECT_TRUE(soon([&] { return is_gone(late); }));
  EXPECT_EQ(pool_->state().failures, 1u);
  EXPECT_EQ(pool_->state().zygotes, 1u);
  EXPECT_EQ(pool_->state().trouble, "");
  EXPECT_FALSE(is_gone(zygote_));
  EXPECT_EQ(run_warm(pool_, "print(6*7)").out, "42\n");
}

TEST_F(LateJail, HasItsZygoteReplacedWhereNoneComes) {
  ASSERT_GT(order_in_vain(), 0);
  EXPECT_TRUE(pool_.until([](const jail::PoolState& state) { return state.zygotes > 1; }));
  EXPECT_TRUE(soon([&] { return is_gone(zygote_); }));
  EXPECT_TRUE(pool_.until_ready(2)) << pool_->state().trouble;
  EXPECT_EQ(pool_->state().failures, 1u) << "what was ordered of that zygote goes with it";
  EXPECT_EQ(run_warm(pool_, "print(6*7)").out, "42\n");
}

}  // namespace
}  // namespace kernel_ring
