#include "server/api/followers.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <variant>
#include <vector>

namespace server {
namespace {

class FollowersTest : public testing::Test {
 protected:
  // 0: there is a place, which is kept.
  int status(std::optional<std::size_t> key) {
    auto place = followers_->take({.tenant = "", .key = key});
    if (const auto* refusal = std::get_if<Response>(&place)) return refusal->status;
    places_.push_back(std::get<Followers::Place>(std::move(place)));
    return 0;
  }

  const std::shared_ptr<Followers> followers_ = std::make_shared<Followers>();
  std::vector<Followers::Place> places_;
};

TEST_F(FollowersTest, AKeyHasItsBoundAndOthersHaveRoom) {
  for (std::uint32_t count = 0; count < Followers::most_of_a_key; ++count) EXPECT_EQ(status(0), 0);
  EXPECT_EQ(status(0), 429);
  EXPECT_EQ(status(1), 0);
  EXPECT_EQ(status(std::nullopt), 0);
  places_.erase(places_.begin());
  EXPECT_EQ(status(0), 0);
  EXPECT_EQ(status(0), 429);
}

TEST_F(FollowersTest, SoHaveAllTogether) {
  for (std::uint32_t count = 0; count < Followers::most; ++count) {
    EXPECT_EQ(status(count / Followers::most_of_a_key), 0);
  }
  EXPECT_EQ(status(1000), 503);
  places_.clear();
  EXPECT_EQ(status(1000), 0);
}

}  // namespace
}  // namespace server
