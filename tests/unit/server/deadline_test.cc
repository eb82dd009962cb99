#include "server/http/deadline.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "tests/time_scale.h"

namespace server {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class DeadlineTest : public ::testing::Test {
 protected:
  // Returns how often it was late within the time, or until nothing is waited for any more.
  int late_within(std::chrono::milliseconds time) {
    context_.restart();
    context_.run_for(time);
    return std::exchange(late_, 0);
  }
  void set(std::chrono::milliseconds from_now) {
    deadline_->set(from_now, [this] { ++late_; });
  }

  boost::asio::io_context context_{1};
  std::shared_ptr<Deadline> deadline_ = std::make_shared<Deadline>(context_.get_executor());
  int late_ = 0;
};

TEST_F(DeadlineTest, IsLateOnce) {
  set(5ms);
  EXPECT_EQ(late_within(scaled(10s)), 1);
}

TEST_F(DeadlineTest, ALaterOneReplacesAnEarlierOne) {
  const auto begun = Clock::now();
  set(20ms);
  set(120ms);
  EXPECT_EQ(late_within(scaled(1s)), 1);
  EXPECT_GE(Clock::now() - begun, 120ms);
}

TEST_F(DeadlineTest, AnEarlierOneReplacesALaterOne) {
  const auto begun = Clock::now();
  set(10s);
  set(20ms);
  EXPECT_EQ(late_within(5s), 1);
  EXPECT_LT(Clock::now() - begun, 5s);
}

TEST_F(DeadlineTest, IsBroughtNearerAndNeverPutOff) {
  deadline_->hasten(5ms);
  EXPECT_EQ(late_within(20ms), 0) << "none was set";
  const auto begun = Clock::now();
  set(10s);
  deadline_->hasten(20ms);
  deadline_->hasten(10s);
  EXPECT_EQ(late_within(5s), 1);
  EXPECT_LT(Clock::now() - begun, 5s);
}

TEST_F(DeadlineTest, AClearedOneIsNeverLate) {
  set(5ms);
  deadline_->clear();
  EXPECT_EQ(late_within(50ms), 0);
}

TEST_F(DeadlineTest, CanBeSetAgainAfterEachEnd) {
  for (int i = 0; i < 3; ++i) {
    set(5ms);
    deadline_->clear();
    EXPECT_EQ(late_within(20ms), 0);
    set(5ms);
    EXPECT_EQ(late_within(scaled(10s)), 1);
  }
}

TEST_F(DeadlineTest, GoesWithItsOwner) {
  set(5ms);
  deadline_.reset();
  EXPECT_EQ(late_within(50ms), 0);
}

}  // namespace
}  // namespace server
