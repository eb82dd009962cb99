// Which ids are given out, and which are asked for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "parent/id_pool.h"
#include "parent/order.h"
#include "parent/subordinate_ids.h"

namespace jail {
namespace {

using testing::HasSubstr;

// A pool of ids that no process has.
std::shared_ptr<IdRange::State> pool_of(std::uint32_t count) {
  return std::make_shared<IdRange::State>(IdsOfJails{1'200'000'000, 1'300'000'000, count});
}

TEST(IdPool, GivesEachOutOnce) {
  const auto pool = pool_of(3);
  std::vector<IdLease> leases;
  std::set<std::uint32_t> users;
  for (int i = 0; i < 3; ++i) {
    auto lease = pool->lease();
    ASSERT_TRUE(lease);
    EXPECT_EQ(lease->ids().uid - 1'200'000'000, lease->ids().gid - 1'300'000'000);
    users.insert(lease->ids().uid);
    leases.push_back(std::move(*lease));
  }
  EXPECT_EQ(users, (std::set<std::uint32_t>{1'200'000'000, 1'200'000'001, 1'200'000'002}));
  const auto none = pool->lease();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::exhausted);
  EXPECT_THAT(none.error().message(), HasSubstr("all 3 of the range are in use"));
  leases.pop_back();
  EXPECT_TRUE(pool->lease());
}

TEST(IdPool, GivesTheOneThatWasGivenBackFirst) {
  const auto pool = pool_of(2);
  auto first = std::make_unique<IdLease>(std::move(*pool->lease()));
  auto second = std::make_unique<IdLease>(std::move(*pool->lease()));
  const std::uint32_t earlier = second->ids().uid;
  second.reset();
  first.reset();
  EXPECT_EQ(pool->lease()->ids().uid, earlier);
}

TEST(IdPool, PassesOverWhatAProcessHas) {
  const auto pool = std::make_shared<IdRange::State>(IdsOfJails{::getuid(), ::getgid(), 1});
  EXPECT_FALSE(pool->lease());
}

TEST(SubordinateIds, AreTheLargestRangeOfTheUser) {
  const char lines[] =
      "other:100000:65536\n"
      "owner:200000:1000\n"
      "owner:300000:2000\n"
      "1234:400000:10\n"
      "owner:nonsense:9999\n"
      "owner:500000\n";
  const IdLine largest = largest_range(lines, "owner", "1234");
  EXPECT_EQ(largest.first, 300'000u);
  EXPECT_EQ(largest.count, 2000u);
  EXPECT_EQ(largest_range(lines, "nobody", "1234").first, 400'000u);
  EXPECT_EQ(largest_range(lines, "nobody", "1").count, 0u);
  EXPECT_EQ(largest_range("", "", "0").count, 0u);
}

struct BadRange {
  const char* name;
  IdRangeOptions options;
};

class BadRanges : public testing::TestWithParam<BadRange> {};

TEST_P(BadRanges, AreRefusedBeforeAnythingIsDone) {
  const auto entered = IdRange::enter(GetParam().options);
  ASSERT_FALSE(entered);
  EXPECT_EQ(entered.error().kind, ErrorKind::invalid) << entered.error().message();
  EXPECT_FALSE(in_range_of_ids());
}

constexpr std::uint32_t last = ~std::uint32_t{0};
INSTANTIATE_TEST_SUITE_P(
    IdRange, BadRanges,
    testing::Values(BadRange{"Root", {0, 200'000, 10, 4242, 4242}},
                    BadRange{"Nobody", {65'530, 200'000, 10, 4242, 4242}},
                    BadRange{"TheGuests", {900, 200'000, 101, 4242, 4242}},
                    BadRange{"TheGuestsGroup", {200'000, 1000, 1, 4242, 4242}},
                    BadRange{"BeyondTheLast", {last - 5, 200'000, 10, 4242, 4242}},
                    BadRange{"GroupsBeyondTheLast", {200'000, last - 5, 10, 4242, 4242}}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace jail
