#include "server/cli/volumes/volumes_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace server::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class One>
One volume_parsed_as(std::vector<std::string> args) {
  args.insert(args.begin(), "volume");
  auto command = parse_arguments(std::move(args), "1.2.3");
  if (const auto* finished = std::get_if<Finished>(&command)) ADD_FAILURE() << finished->error;
  auto* options = std::get_if<VolumesOptions>(&command);
  auto* one = options == nullptr ? nullptr : std::get_if<One>(options);
  EXPECT_NE(one, nullptr);
  return one == nullptr ? One() : *one;
}

TEST(VolumeArguments, CreateAndCopyTakeANameAndASize) {
  const auto made = volume_parsed_as<CreateVolumeOptions>({"create", "data", "--size", "2g"});
  EXPECT_EQ(made.name, "data");
  EXPECT_EQ(made.size_mb, 2048u);
  EXPECT_TRUE(made.copy_of.empty());
  const auto copied = volume_parsed_as<CreateVolumeOptions>({"copy", "data", "later", "--json"});
  EXPECT_EQ(copied.copy_of, "data");
  EXPECT_EQ(copied.name, "later");
  EXPECT_FALSE(copied.size_mb);
  EXPECT_EQ(copied.format, Format::json);
}

TEST(VolumeArguments, ChangeTakesANameOrASize) {
  const auto both =
      volume_parsed_as<ChangeVolumeOptions>({"change", "data", "--name", "kept", "--size", "4g"});
  EXPECT_EQ(both.id, "data");
  EXPECT_EQ(both.name, "kept");
  EXPECT_EQ(both.size_mb, 4096u);
  const auto one =
      volume_parsed_as<ChangeVolumeOptions>({"change", "data", "--size", "5", "--json"});
  EXPECT_FALSE(one.name);
  EXPECT_EQ(one.size_mb, 5u);
  EXPECT_EQ(one.format, Format::json);
}

TEST(VolumeArguments, ListGetAndDelete) {
  EXPECT_EQ(volume_parsed_as<ListVolumesOptions>({"list", "--json"}).format, Format::json);
  EXPECT_EQ(volume_parsed_as<GetVolumeOptions>({"get", "data"}).id, "data");
  EXPECT_THAT(volume_parsed_as<DeleteVolumesOptions>({"delete", "a", "b"}).ids,
              ElementsAre("a", "b"));
}

TEST(VolumeArguments, Mistakes) {
  struct Case {
    std::vector<std::string> args;
    const char* word;
  };
  const Case cases[] = {
      {{"volume"}, "subcommand"},
      {{"volume", "create"}, "NAME"},
      {{"volume", "create", ""}, "NAME"},
      {{"volume", "change", "--size", "5"}, "volume change: expected the ID"},
      {{"volume", "change", "data"}, "expected what to change: --name, --size or both"},
      {{"volume", "change", "data", "--size", "0"}, "--size"},
      {{"volume", "create", "a", "b"}, "b"},
      {{"volume", "create", "a", "--size", "0"}, "--size"},
      {{"volume", "copy"}, "ID"},
      {{"volume", "copy", "a"}, "NAME"},
      {{"volume", "get"}, "ID"},
      {{"volume", "delete"}, "ID"},
      {{"volume", "delete", "a", ""}, "ID"},
      {{"sandbox", "create", "--volume", "data"}, "--volume \"data\""},
      {{"sandbox", "create", "--volume", ":/data"}, "NAME:PATH"},
      {{"sandbox", "create", "--volume", "data:relative"}, "absolute"},
      {{"sandbox", "create", "--volume", "data:ro"}, "absolute"},
  };
  for (const auto& [args, word] : cases) {
    const auto command = parse_arguments(args, "1.2.3");
    const auto* finished = std::get_if<Finished>(&command);
    ASSERT_NE(finished, nullptr) << ::testing::PrintToString(args);
    EXPECT_EQ(finished->exit_code, 2) << ::testing::PrintToString(args);
    EXPECT_THAT(finished->error, HasSubstr(word)) << ::testing::PrintToString(args);
  }
}

}  // namespace
}  // namespace server::client
