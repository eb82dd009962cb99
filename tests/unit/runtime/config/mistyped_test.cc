// Variables that are most likely mistyped settings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "runtime/config/config.h"

namespace runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(MistypedVariables, TheNearestSettingIsNamed) {
  const Environment environment = {
      {"API_KEY", "k"},       {"API_PROT", "1"}, {"SANDBOX_TIMEOUT", "5"}, {"GROQ_API_KEY", "k"},
      {"OPENAI_ORG_ID", "x"}, {"PATH", "/bin"},  {"SANDBOX_POOL_SIZ", ""}};
  constexpr const char* is_none = " in the environment is no setting; the nearest one is ";
  EXPECT_THAT(
      mistyped_variables(environment),
      ElementsAre("\"API_PROT\"" + std::string(is_none) + "\"API_PORT\"",
                  "\"SANDBOX_TIMEOUT\"" + std::string(is_none) + "\"SANDBOX_TIMEOUT_SECONDS\""));
}

TEST(MistypedVariables, SoManyAreTold) {
  Environment many;
  for (int i = 0; i < 100; ++i) many["JOBS_" + std::to_string(i)] = "1";
  EXPECT_EQ(mistyped_variables(many).size(), 8u);
  EXPECT_TRUE(mistyped_variables({{"JOBS_" + std::string(1000, 'X'), "1"}}).empty())
      << "it is compared with nothing";
}

TEST(MistypedVariables, OneInAFileStopsTheStart) {
  const std::string path = testing::TempDir() + "mistyped.env";
  ConfigSources sources;
  sources.dotenv_path = path;
  std::ofstream(path) << "DATABASE_URL=x\nSANDBOX_POOL_SIZ=2\n";
  const auto refused = load_config(sources);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message(),
              HasSubstr(".env is no setting; the nearest one is \"SANDBOX_POOL_SIZE\""));
  std::ofstream(path) << "DATABASE_URL=x\nSANDBOX_POOL_SIZE=2\n";
  const auto taken = load_config(sources);
  ASSERT_TRUE(taken.has_value()) << taken.error().message();
  EXPECT_EQ(taken->sandbox_pool_size, 2u);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace runtime
