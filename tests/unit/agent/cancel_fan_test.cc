#include "runtime/agent/cancel_fan.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace runtime::agent {
namespace {

TEST(CancelFan, TheParentEndsAllBranches) {
  const Cancel parent;
  const CancelFan fan(parent);
  const auto one = fan.branch();
  const auto other = fan.branch();
  int told = 0;
  one.cancel().set_hook([&told] { ++told; });
  other.cancel().set_hook([&told] { ++told; });
  parent.request();
  EXPECT_EQ(told, 2);
  EXPECT_TRUE(fan.branch().cancel().requested());  // later ones, too
}

TEST(CancelFan, ItsOwnRequestLeavesTheParentAlone) {
  const Cancel parent;
  const CancelFan fan(parent);
  const auto branch = fan.branch();
  fan.requester()();
  EXPECT_TRUE(branch.cancel().requested());
  EXPECT_FALSE(parent.requested());
}

TEST(CancelFan, ABranchThatIsGoneIsNotTold) {
  const Cancel parent;
  const CancelFan fan(parent);
  int told = 0;
  {
    const auto branch = fan.branch();
    branch.cancel().set_hook([&told] { ++told; });
  }
  parent.request();
  EXPECT_EQ(told, 0);
}

TEST(CancelFan, ABranchMayEndWithinItsHook) {
  const Cancel parent;
  const CancelFan fan(parent);
  std::unique_ptr<CancelFan::Branch> branch(new CancelFan::Branch(fan.branch()));
  branch->cancel().set_hook([&branch] { branch.reset(); });
  parent.request();
  EXPECT_EQ(branch, nullptr);
}

TEST(CancelFan, AParentMayOutliveIt) {
  const Cancel parent;
  { const CancelFan fan(parent); }
  parent.request();
  EXPECT_TRUE(CancelFan(parent).branch().cancel().requested());
}

TEST(CancelFan, BranchesComeAndGoWhileOthersCancel) {
  const Cancel parent;
  const CancelFan fan(parent);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      while (!stop) {
        const auto branch = fan.branch();
        branch.cancel().set_hook([] {});
      }
    });
  }
  for (int i = 0; i < 200; ++i) fan.request();
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(fan.branch().cancel().requested());
}

}  // namespace
}  // namespace runtime::agent
