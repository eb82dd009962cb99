#include "runtime/sandbox/admission.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace runtime {
namespace {

TEST(Admission, GrantsAtOnceWhileThereIsRoom) {
  Admission admission(2, 10);
  std::vector<Admission::Place> held;
  const auto hold = [&held](Admission::Place place) { held.push_back(std::move(place)); };
  admission.ask(hold);
  admission.ask(hold);
  EXPECT_EQ(held.size(), 2u);
  EXPECT_EQ(admission.running(), 2u);
}

TEST(Admission, ServesTheQueueInOrder) {
  Admission admission(1, 10);
  Admission::Place first;
  std::vector<int> order;
  admission.ask([&first](Admission::Place place) { first = std::move(place); });
  for (int i = 0; i < 3; ++i) {
    admission.ask([&order, i](Admission::Place) { order.push_back(i); });
  }
  EXPECT_EQ(admission.queued(), 3u);
  first = Admission::Place();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(admission.running(), 0u);
}

TEST(Admission, RefusesWhenTheQueueIsFull) {
  Admission admission(1, 1);
  Admission::Place first;
  admission.ask([&first](Admission::Place place) { first = std::move(place); });
  EXPECT_NE(admission.ask([](Admission::Place) {}), nullptr);
  EXPECT_EQ(admission.ask([](Admission::Place) { FAIL() << "granted"; }), nullptr);
}

TEST(Admission, ForgetsWhoWithdrew) {
  Admission admission(1, 10);
  Admission::Place first;
  admission.ask([&first](Admission::Place place) { first = std::move(place); });
  const auto ticket = admission.ask([](Admission::Place) { FAIL() << "granted"; });
  EXPECT_TRUE(admission.withdraw(ticket));
  EXPECT_FALSE(admission.withdraw(ticket));
  first = Admission::Place();
  EXPECT_EQ(admission.running(), 0u);
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
        admission.ask([&](Admission::Place place) {
          const int now = ++inside;
          int seen = most;
          while (now > seen && !most.compare_exchange_weak(seen, now)) {
          }
          --inside;
          ++served;
          const Admission::Place leaving = std::move(place);
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
