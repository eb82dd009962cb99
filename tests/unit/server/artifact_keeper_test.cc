#include "server/cli/artifact_keeper.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <string>

namespace server {
namespace {

TEST(ArtifactKeeper, SaysWhatBecameOfAFile) {
  const auto keeper = ArtifactKeeper::start(
      [](std::uint32_t place, const jail::CollectedFile& file) {
        return place == 1 && file.path == "a/b" && file.content == "xyz" ? 0 : EACCES;
      },
      [] {});
  ASSERT_TRUE(keeper.has_value()) << keeper.error().message();
  EXPECT_EQ(keeper->store(1, {"a/b", "xyz"}), 0);
  EXPECT_EQ(keeper->store(2, {"a/b", "xyz"}), EACCES);
  EXPECT_EQ(keeper->store(1, {"a/b", ""}), EACCES);
  EXPECT_EQ(keeper->store(1, {"a/b", "xyz"}), 0);
}

// Its owner may have met a program that took it over.
TEST(ArtifactKeeper, WhoAsksForMoreThanThereCanBeIsNotServedAnyMore) {
  std::signal(SIGPIPE, SIG_IGN);
  const auto keeper =
      ArtifactKeeper::start([](std::uint32_t, const jail::CollectedFile&) { return 0; }, [] {});
  ASSERT_TRUE(keeper.has_value()) << keeper.error().message();
  EXPECT_EQ(keeper->store(0, {std::string(5000, 'x'), ""}), ENAMETOOLONG);
  const std::string large(jail::CollectLimits().file_bytes + 1, 'x');
  EXPECT_EQ(keeper->store(0, {"a", large}), EPIPE);
  EXPECT_EQ(keeper->store(0, {"a", "small"}), EPIPE);
}

}  // namespace
}  // namespace server
