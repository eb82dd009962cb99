#include "runtime/service/turn.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <optional>
#include <utility>

namespace runtime {
namespace {

class TurnTest : public ::testing::Test {
 protected:
  void ask(std::optional<Admission::Place>& place, Cancel cancel = Cancel()) {
    boost::asio::co_spawn(
        context_, place_of(places_, "owner", std::move(cancel)),
        [this, &place](std::exception_ptr, std::optional<Admission::Place> given) {
          place = std::move(given);
          ++answered_;
        });
    run();
  }

  // Runs all that can be done without anything from outside.
  void run() {
    context_.restart();
    context_.poll();
  }

  Admission places_{1, 10};
  boost::asio::io_context context_;
  int answered_ = 0;
  std::optional<Admission::Place> first_;
  std::optional<Admission::Place> second_;
};

TEST_F(TurnTest, WhoWaitsGetsThePlaceThatIsGivenBack) {
  ask(first_);
  ask(second_);
  EXPECT_EQ(answered_, 1);
  first_.reset();
  run();
  EXPECT_EQ(answered_, 2);
  EXPECT_TRUE(second_.has_value());
}

TEST_F(TurnTest, TheWaitEndsWhenItIsCancelled) {
  const Cancel cancel;
  ask(first_);
  ask(second_, cancel);
  EXPECT_EQ(places_.queued(), 1u);
  cancel.request();
  run();
  EXPECT_EQ(answered_, 2);
  EXPECT_FALSE(second_.has_value());
  EXPECT_EQ(places_.queued(), 0u);
  first_.reset();
  EXPECT_EQ(places_.running(), 0u);
}

TEST_F(TurnTest, NoPlaceIsLostThatComesWithTheCancellation) {
  const Cancel cancel;
  ask(first_);
  ask(second_, cancel);
  first_.reset();
  cancel.request();
  run();
  EXPECT_EQ(answered_, 2);
  second_.reset();
  EXPECT_EQ(places_.running(), 0u);
}

}  // namespace
}  // namespace runtime
