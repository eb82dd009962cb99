#include "server/api/rate_limit.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace server {
namespace {

using namespace std::chrono_literals;

// A bucket and a clock that stands still until the test moves it.
class Bucket {
 public:
  explicit Bucket(RequestRate rate, std::size_t callers = 1) : limit_(rate, callers) {}

  std::chrono::nanoseconds take(std::size_t caller = 0) { return limit_.take(caller, now_); }
  void pass(std::chrono::nanoseconds time) { now_ += time; }

  // Returns how many requests can be taken at this moment.
  int empty(std::size_t caller = 0) {
    int taken = 0;
    while (take(caller) == 0ns) ++taken;
    return taken;
  }

 private:
  RateLimit limit_;
  RateLimit::Clock::time_point now_{1'000'000s};
};

TEST(RateLimit, AFullBucketHoldsTheBurst) {
  Bucket bucket({.interval = 100ms, .burst = 5});
  EXPECT_EQ(bucket.empty(), 5);
  EXPECT_EQ(bucket.take(), 100ms);
}

TEST(RateLimit, SaysHowLongUntilThereIsOneAgain) {
  Bucket bucket({.interval = 100ms, .burst = 1});
  EXPECT_EQ(bucket.take(), 0ns);
  EXPECT_EQ(bucket.take(), 100ms);
  bucket.pass(30ms);
  EXPECT_EQ(bucket.take(), 70ms);
  bucket.pass(70ms - 1ns);
  EXPECT_EQ(bucket.take(), 1ns);
  bucket.pass(1ns);
  EXPECT_EQ(bucket.take(), 0ns);
  EXPECT_EQ(bucket.take(), 100ms);
}

TEST(RateLimit, ARefusalCostsNothing) {
  Bucket bucket({.interval = 1s, .burst = 2});
  bucket.empty();
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(bucket.take(), 1s);
}

TEST(RateLimit, TheBucketRefillsAndDoesNotRunOver) {
  Bucket bucket({.interval = 10ms, .burst = 20});
  EXPECT_EQ(bucket.empty(), 20);
  bucket.pass(35ms);
  EXPECT_EQ(bucket.empty(), 3);
  bucket.pass(5ms);
  EXPECT_EQ(bucket.empty(), 1) << "half of an interval was left";
  bucket.pass(24h);
  EXPECT_EQ(bucket.empty(), 20);
}

TEST(RateLimit, OverALongTimeTheRateIsHeld) {
  Bucket bucket({.interval = 50ms, .burst = 3});
  int taken = 0;
  for (int i = 0; i < 10'000; ++i) {
    taken += bucket.empty();
    bucket.pass(7ms);
  }
  EXPECT_EQ(taken, 3 + 9'999 * 7 / 50);
}

TEST(RateLimit, EachCallerHasABucketOfItsOwn) {
  Bucket bucket({.interval = 1s, .burst = 2}, 3);
  EXPECT_EQ(bucket.empty(0), 2);
  EXPECT_EQ(bucket.empty(2), 2);
  EXPECT_EQ(bucket.empty(1), 2);
}

TEST(RateLimit, TheWidestSettingsFit) {
  Bucket slow({.interval = 1h, .burst = 1'000'000});
  EXPECT_EQ(slow.empty(), 1'000'000);
  EXPECT_EQ(slow.take(), 1h);
  Bucket fast({.interval = 1us, .burst = 1'000'000});
  EXPECT_EQ(fast.empty(), 1'000'000);
  fast.pass(10us);
  EXPECT_EQ(fast.empty(), 10);
}

TEST(RateLimit, ThreadsTogetherGetTheBurst) {
  RateLimit limit({.interval = 1h, .burst = 1000}, 2);
  const RateLimit::Clock::time_point now{1s};
  std::atomic<int> taken = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        if (limit.take(1, now) == 0ns) ++taken;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(taken, 1000);
}

}  // namespace
}  // namespace server
