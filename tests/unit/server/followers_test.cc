#include "runtime/service/followers.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <variant>
#include <vector>

namespace runtime {
namespace {

class FollowersTest : public testing::Test {
 protected:
  // Returns std::nullopt where there is a place, which is kept.
  std::optional<RefusalCode> why_none(std::optional<std::size_t> key) {
    auto place = followers_->take({.tenant = "", .key = key});
    if (const auto* refusal = std::get_if<Refusal>(&place)) return refusal->code;
    places_.push_back(std::get<Followers::Place>(std::move(place)));
    return std::nullopt;
  }

  const std::shared_ptr<Followers> followers_ = std::make_shared<Followers>();
  std::vector<Followers::Place> places_;
};

TEST_F(FollowersTest, AKeyHasItsBoundAndOthersHaveRoom) {
  for (std::uint32_t count = 0; count < Followers::max_per_key; ++count)
    EXPECT_EQ(why_none(0), std::nullopt);
  EXPECT_EQ(why_none(0), RefusalCode::too_many_followers);
  EXPECT_EQ(why_none(1), std::nullopt);
  EXPECT_EQ(why_none(std::nullopt), std::nullopt);
  places_.erase(places_.begin());
  EXPECT_EQ(why_none(0), std::nullopt);
  EXPECT_EQ(why_none(0), RefusalCode::too_many_followers);
}

TEST_F(FollowersTest, SoHaveAllTogether) {
  for (std::uint32_t count = 0; count < Followers::most; ++count) {
    EXPECT_EQ(why_none(count / Followers::max_per_key), std::nullopt);
  }
  EXPECT_EQ(why_none(1000), RefusalCode::busy);
  places_.clear();
  EXPECT_EQ(why_none(1000), std::nullopt);
}

}  // namespace
}  // namespace runtime
