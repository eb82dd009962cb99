#include "runtime/sandbox/admission.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace runtime {
namespace {

using Answer = std::optional<Admission::Place>;

TEST(Admission, GrantsAtOnceWhileThereIsRoom) {
  Admission admission(2, 10);
  std::vector<Admission::Place> held;
  const auto hold = [&held](Answer place) { held.push_back(std::move(*place)); };
  admission.ask("", hold);
  admission.ask("", hold);
  EXPECT_EQ(held.size(), 2u);
  EXPECT_EQ(admission.running(), 2u);
}

TEST(Admission, ServesTheQueueInOrder) {
  Admission admission(1, 10);
  Admission::Place first;
  std::vector<int> order;
  admission.ask("", [&first](Answer place) { first = std::move(*place); });
  for (int i = 0; i < 3; ++i) {
    admission.ask("", [&order, i](Answer) { order.push_back(i); });
  }
  EXPECT_EQ(admission.queued(), 3u);
  first = Admission::Place();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(admission.running(), 0u);
}

TEST(Admission, RefusesWhenTheQueueIsFull) {
  Admission admission(1, 1);
  Admission::Place first;
  admission.ask("", [&first](Answer place) { first = std::move(*place); });
  EXPECT_NE(admission.ask("", [](Answer) {}), nullptr);
  EXPECT_EQ(admission.ask("", [](Answer) { FAIL() << "granted"; }), nullptr);
}

TEST(Admission, ForgetsWhoWithdrew) {
  Admission admission(1, 10);
  Admission::Place first;
  admission.ask("", [&first](Answer place) { first = std::move(*place); });
  const auto ticket = admission.ask("", [](Answer) { FAIL() << "granted"; });
  EXPECT_TRUE(admission.withdraw(ticket));
  EXPECT_FALSE(admission.withdraw(ticket));
  first = Admission::Place();
  EXPECT_EQ(admission.running(), 0u);
}

// The outcomes of requests, in order: the caller's name for a place, in brackets where the room in
// the queue went to another caller.
class Callers {
 public:
  explicit Callers(Admission& admission) : admission_(admission) {}

  bool ask(const std::string& caller) {
    return admission_.ask(caller, [this, caller](Answer place) {
      seen_.push_back(place ? caller : "(" + caller + ")");
      if (place) held_.push_back(std::move(*place));
    }) != nullptr;
  }
  void ask(const std::string& caller, int times) {
    for (int i = 0; i < times; ++i) ask(caller);
  }

  // Gives back one place after the other, until no place is taken.
  std::vector<std::string> run() {
    while (!held_.empty()) {
      const Admission::Place done = std::move(held_.front());
      held_.pop_front();
    }
    return seen_;
  }

  std::vector<std::string> seen_;

 private:
  Admission& admission_;
  std::deque<Admission::Place> held_;
};

TEST(Admission, CallersTakeTurns) {
  Admission admission(1, 1000);
  Callers callers(admission);
  callers.ask("a", 200);
  callers.ask("b", 1);
  callers.ask("c", 3);
  const auto order = callers.run();
  ASSERT_EQ(order.size(), 204u);
  // The first one had the only place before any other request.
  EXPECT_EQ(std::vector<std::string>(order.begin(), order.begin() + 9),
            (std::vector<std::string>{"a", "a", "b", "c", "a", "c", "a", "c", "a"}));
  EXPECT_EQ(admission.running(), 0u);
  EXPECT_EQ(admission.queued(), 0u);
}

TEST(Admission, AFullQueueHasRoomForWhoeverWaitsForLess) {
  Admission admission(1, 4);
  Callers callers(admission);
  callers.ask("a", 5);
  EXPECT_FALSE(callers.ask("a"));
  EXPECT_TRUE(callers.ask("b"));
  EXPECT_TRUE(callers.ask("b"));
  EXPECT_FALSE(callers.ask("b")) << "two and two wait: nobody has more";
  EXPECT_TRUE(callers.ask("c"));
  EXPECT_EQ(admission.queued(), 4u);
  EXPECT_EQ(callers.seen_, (std::vector<std::string>{"a", "(a)", "(a)", "(a)"}));
  EXPECT_EQ(callers.run(),
            (std::vector<std::string>{"a", "(a)", "(a)", "(a)", "a", "b", "c", "b"}));
}

TEST(Admission, WithoutAQueueNobodyIsPushedOut) {
  Admission admission(1, 0);
  Callers callers(admission);
  EXPECT_TRUE(callers.ask("a"));
  EXPECT_FALSE(callers.ask("b"));
  EXPECT_EQ(callers.seen_, (std::vector<std::string>{"a"}));
}

TEST(Admission, WhoWithdrawsLeavesTheTurnToTheSameCaller) {
  Admission admission(1, 10);
  Callers callers(admission);
  callers.ask("a", 1);
  const auto ticket = admission.ask("b", [](Answer) { FAIL() << "answered"; });
  callers.ask("a", 1);
  callers.ask("b", 1);
  EXPECT_TRUE(admission.withdraw(ticket));
  EXPECT_EQ(admission.queued(), 2u);
  EXPECT_EQ(callers.run(), (std::vector<std::string>{"a", "b", "a"}));
}

TEST(Admission, ACallerHasABoundOfItsOwn) {
  Admission admission(10, 10, 2);
  auto first = admission.claim("a");
  auto second = admission.claim("a");
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(admission.claim("a"));
  EXPECT_TRUE(admission.claim("b")) << "another caller";
  first.reset();
  EXPECT_TRUE(admission.claim("a"));
  const auto moved = std::move(second);
  auto third = admission.claim("a");
  EXPECT_TRUE(third);
  EXPECT_FALSE(admission.claim("a")) << "a claim that was moved counts once";
}

TEST(Admission, WithoutABoundEveryClaimIsGranted) {
  Admission admission(1, 0);
  std::vector<std::optional<Admission::Claim>> held;
  for (int i = 0; i < 1000; ++i) held.push_back(admission.claim("a"));
  EXPECT_TRUE(
      std::all_of(held.begin(), held.end(), [](const auto& one) { return one.has_value(); }));
}

TEST(Admission, AClaimMayOutliveIt) {
  auto admission = std::make_unique<Admission>(1, 1, 1);
  auto claim = admission->claim("a");
  ASSERT_TRUE(claim);
  admission.reset();
  claim.reset();
}

TEST(Admission, ClaimsOfManyThreadsAreCountedRight) {
  Admission admission(1, 1, 3);
  std::atomic<int> inside = 0;
  std::atomic<int> granted = 0;
  std::atomic<bool> too_many = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        const auto claim = admission.claim("a");
        if (!claim) continue;
        if (++inside > 3) too_many = true;
        ++granted;
        --inside;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(too_many);
  EXPECT_GT(granted, 0);
  std::vector<std::optional<Admission::Claim>> all;
  for (int i = 0; i < 4; ++i) all.push_back(admission.claim("a"));
  EXPECT_TRUE(all[0] && all[1] && all[2]) << "one was not given back";
  EXPECT_FALSE(all[3]);
}

TEST(Admission, NeverHasMoreThanItsPlaces) {
  Admission admission(3, 1000);
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  std::atomic<int> served = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        admission.ask("", [&](Answer place) {
          const int now = ++inside;
          int seen = most;
          while (now > seen && !most.compare_exchange_weak(seen, now)) {
          }
          --inside;
          ++served;
          const Admission::Place leaving = std::move(*place);
        });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(served, 400);
  EXPECT_LE(most, 3);
  EXPECT_EQ(admission.running(), 0u);
  EXPECT_EQ(admission.queued(), 0u);
}

}  // namespace
}  // namespace runtime
