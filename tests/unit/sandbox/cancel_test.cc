#include "runtime/sandbox/cancel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace runtime {
namespace {

TEST(Cancel, TellsEachListenerOnce) {
  const Cancel cancel;
  int told = 0;
  const Cancel::Listener one(cancel, [&told] { ++told; });
  const Cancel::Listener other(cancel, [&told] { ++told; });
  cancel.request();
  cancel.request();
  EXPECT_EQ(told, 2);
  EXPECT_TRUE(cancel.requested());
}

TEST(Cancel, TellsAListenerThatComesLater) {
  const Cancel cancel;
  cancel.request();
  int told = 0;
  const Cancel::Listener late(cancel, [&told] { ++told; });
  EXPECT_EQ(told, 1);
}

TEST(Cancel, CopiesAreTheSameCancellation) {
  const Cancel cancel;
  const Cancel copy = cancel;  // NOLINT(performance-unnecessary-copy-initialization): the point
  copy.request();
  EXPECT_TRUE(cancel.requested());
}

TEST(Cancel, AListenerThatIsGoneIsNotTold) {
  const Cancel cancel;
  {
    const Cancel::Listener listener(cancel, [] { FAIL() << "called"; });
  }
  cancel.request();
}

TEST(Cancel, AParentEndsItsChildrenAndTheirs) {
  const Cancel parent;
  const Cancel child = parent.child();
  const Cancel grandchild = child.child();
  const Cancel other = parent.child();
  int told = 0;
  const Cancel::Listener listener(grandchild, [&told] { ++told; });
  parent.request();
  EXPECT_EQ(told, 1);
  EXPECT_TRUE(child.requested());
  EXPECT_TRUE(other.requested());
  EXPECT_TRUE(parent.child().requested()) << "a later one, too";
}

TEST(Cancel, AChildLeavesItsParentAndSiblingsAlone) {
  const Cancel parent;
  const Cancel child = parent.child();
  const Cancel sibling = parent.child();
  child.request();
  EXPECT_FALSE(parent.requested());
  EXPECT_FALSE(sibling.requested());
}

TEST(Cancel, AListenerKeepsWhatLeadsToItsCancellation) {
  const Cancel parent;
  int told = 0;
  std::optional<Cancel> child(parent.child());
  std::optional<Cancel> grandchild(child->child());
  const Cancel::Listener listener(*grandchild, [&told] { ++told; });
  grandchild.reset();
  child.reset();
  parent.request();
  EXPECT_EQ(told, 1);
}

TEST(Cancel, ACallbackMayDestroyItsListenerAndItsCancellation) {
  const Cancel parent;
  std::optional<Cancel> child(parent.child());
  std::unique_ptr<Cancel::Listener> listener;
  listener = std::make_unique<Cancel::Listener>(*child, [&] {
    child.reset();
    listener.reset();
  });
  parent.request();
  EXPECT_EQ(listener, nullptr);
  EXPECT_FALSE(child.has_value());
}

TEST(Cancel, ADestructorWaitsForItsCallbackOnAnotherThread) {
  const Cancel cancel;
  std::atomic<bool> begun{false};
  std::atomic<bool> done{false};
  std::optional<Cancel::Listener> listener;
  listener.emplace(cancel, [&] {
    begun = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    done = true;
  });
  std::thread requester([&] { cancel.request(); });
  while (!begun) std::this_thread::yield();
  listener.reset();
  EXPECT_TRUE(done);
  requester.join();
}

TEST(Cancel, ListenersAndChildrenComeAndGoWhileItIsRequested) {
  for (int round = 0; round < 200; ++round) {
    const Cancel parent;
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back([&] {
        while (!stop) {
          const Cancel child = parent.child();
          const Cancel::Listener listener(child, [] {});
        }
      });
    }
    parent.request();
    stop = true;
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(parent.child().requested());
  }
}

}  // namespace
}  // namespace runtime
