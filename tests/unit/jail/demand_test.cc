#include "pool/demand.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <deque>

namespace jail {
namespace {

constexpr double tick = 0.25;

TEST(Demand, BeginsWithTheUsualNumber) { EXPECT_EQ(Demand(2, 8, 64).target(), 8u); }

TEST(Demand, SinksToTheLeastWhenNobodyComes) {
  Demand demand(2, 8, 64);
  for (int i = 0; i < 1000; ++i) demand.tick(tick);
  EXPECT_EQ(demand.target(), 2u);
}

TEST(Demand, SinksSlowly) {
  Demand demand(2, 8, 64);
  for (int i = 0; i < 8; ++i) demand.tick(tick);
  EXPECT_EQ(demand.target(), 8u);
}

TEST(Demand, AMissMakesItGrow) {
  Demand demand(2, 8, 64);
  demand.leased();
  demand.missed();
  demand.tick(tick);
  EXPECT_EQ(demand.target(), 12u);
}

TEST(Demand, IsContentWithWhatIsLeftUntilMoreCome) {
  Demand demand(2, 8, 64);
  demand.content_with(20);
  EXPECT_EQ(demand.target(), 8u);
  demand.content_with(5);
  EXPECT_EQ(demand.target(), 5u);
  demand.tick(tick);
  EXPECT_EQ(demand.target(), 5u);
  demand.content_with(0);
  EXPECT_EQ(demand.target(), 2u);
  demand.leased();
  demand.missed();
  demand.tick(tick);
  EXPECT_EQ(demand.target(), 3u);
}

TEST(Demand, FollowsTheRateOfArrivalsAndStopsAtTheMost) {
  Demand demand(2, 2, 64);
  for (int i = 0; i < 100; ++i) demand.made(0.005);
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 100; ++i) demand.leased();  // 400 a second
    demand.tick(tick);
  }
  EXPECT_GE(demand.target(), 16u);
  EXPECT_LE(demand.target(), 20u);
  for (int i = 0; i < 100'000; ++i) demand.leased();
  demand.tick(tick);
  EXPECT_EQ(demand.target(), 64u);
}

TEST(Demand, OrdersOneAfterTheOtherWhileManyAreReady) {
  const Demand demand(2, 8, 64);
  EXPECT_EQ(demand.to_order(5, 0), 1u);
  EXPECT_EQ(demand.to_order(5, 1), 0u);
  EXPECT_EQ(demand.to_order(7, 0), 1u);
  EXPECT_EQ(demand.to_order(7, 1), 0u);
  EXPECT_EQ(demand.to_order(8, 0), 0u);
}

TEST(Demand, OrdersSeveralAtOnceWhereFewAreLeft) {
  const Demand demand(2, 8, 64);
  EXPECT_EQ(demand.to_order(0, 0), 4u);
  EXPECT_EQ(demand.to_order(4, 0), 4u);
  EXPECT_EQ(demand.to_order(4, 1), 3u);
  EXPECT_EQ(demand.to_order(4, 4), 0u);
}

// A jail takes five steps to make, and a request comes every four.
TEST(Demand, RefillsKeepUpWithRequestsAndCatchUpWhenItIsQuiet) {
  const Demand demand(2, 8, 64);
  std::size_t ready = 8;
  std::size_t missed = 0;
  std::deque<int> made_at;
  const auto step = [&](int now, bool requested) {
    for (; !made_at.empty() && made_at.front() == now; made_at.pop_front()) ++ready;
    if (requested) ready > 0 ? --ready : ++missed;
    const std::size_t ordered = demand.to_order(ready, made_at.size());
    made_at.insert(made_at.end(), ordered, now + 5);
  };
  int now = 0;
  for (; now < 1000; ++now) step(now, now % 4 == 0);
  EXPECT_EQ(missed, 0u);
  for (; now < 1040; ++now) step(now, false);
  EXPECT_EQ(ready, 8u);
}

TEST(Demand, OrdersNoMoreThanTheTarget) {
  const Demand demand(2, 2, 64);
  EXPECT_EQ(demand.to_order(0, 0), 2u);
  EXPECT_EQ(demand.to_order(0, 1), 1u);
  EXPECT_EQ(demand.to_order(1, 1), 0u);
  EXPECT_EQ(demand.to_order(3, 0), 0u);
}

}  // namespace
}  // namespace jail
