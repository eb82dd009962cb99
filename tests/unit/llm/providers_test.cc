#include "runtime/llm/providers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace runtime::llm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class ProvidersTest : public ::testing::Test {
 protected:
  Config load(Environment environment) {
    ConfigSources sources;
    sources.environment = std::move(environment);
    auto config = load_config(sources);
    EXPECT_TRUE(config.has_value()) << config.error().message();
    return std::move(*config);
  }

  std::vector<std::string> names(Environment environment) {
    const auto providers = make_providers(load(std::move(environment)), client_);
    if (!providers) return {providers.error().message()};
    std::vector<std::string> result;
    for (const auto& provider : *providers) result.emplace_back(provider->name());
    return result;
  }

  HttpClient client_;
};

TEST_F(ProvidersTest, TheActiveOneIsFirst) {
  EXPECT_THAT(names({{"OPENAI_API_KEY", "k"}, {"GROQ_API_KEY", "k"}}),
              ElementsAre("groq", "openai"));
  EXPECT_THAT(names({{"OPENAI_API_KEY", "k"}, {"GROQ_API_KEY", "k"}, {"LLM_PROVIDER", "openai"}}),
              ElementsAre("openai", "groq"));
  EXPECT_THAT(names({{"LLM_PROVIDER", "ollama"}}), ElementsAre("ollama"));
  EXPECT_THAT(names({{"GROQ_API_KEY", "k"}, {"OLLAMA_MODEL", "m"}}), ElementsAre("groq", "ollama"));
  EXPECT_THAT(names({{"LLM_PROVIDER", "openai"}, {"OPENAI_BASE_URL", "http://127.0.0.1:1/v1"}}),
              ElementsAre("openai"));
}

TEST_F(ProvidersTest, NoneIsConfigured) {
  EXPECT_TRUE(names({}).empty());
  EXPECT_THAT(why_no_provider(load({})), HasSubstr("set one of GROQ_API_KEY, OPENROUTER_API_KEY"));
  EXPECT_EQ(why_no_provider(load({{"GROQ_API_KEY", "k"}})), "");
}

TEST_F(ProvidersTest, AMissingKeyIsNamed) {
  EXPECT_THAT(names({{"LLM_PROVIDER", "groq"}, {"OPENAI_API_KEY", "k"}}),
              ElementsAre(StartsWith("LLM_PROVIDER is groq, and GROQ_API_KEY is not set")));
  EXPECT_EQ(why_no_provider(load({{"LLM_PROVIDER", "replay"}})),
            "LLM_PROVIDER is replay, and REPLAY_CASSETTE is not set");
}

TEST_F(ProvidersTest, ModelsAreThoseThatAreConfiguredElseTheUsual) {
  const auto providers = make_providers(
      load({{"GROQ_API_KEY", "k"}, {"OPENROUTER_API_KEY", "k"}, {"OPENROUTER_MODEL", "a/b:free"}}),
      client_);
  ASSERT_TRUE(providers.has_value());
  EXPECT_EQ((*providers)[0]->default_model(), "llama-3.3-70b-versatile");
  EXPECT_EQ((*providers)[1]->default_model(), "a/b:free");
}

TEST_F(ProvidersTest, ACassettePlaysWithoutAKeyAndBeforeOne) {
  const std::string path = ::testing::TempDir() + "cassette." + std::to_string(::getpid());
  std::ofstream(path) << "{\"task\": \"t\", \"answers\": [\"a\"]}\n";
  EXPECT_THAT(names({{"REPLAY_CASSETTE", path}}), ElementsAre("replay"));
  EXPECT_THAT(names({{"REPLAY_CASSETTE", path}, {"GROQ_API_KEY", "k"}}),
              ElementsAre("replay", "groq"));
  EXPECT_THAT(names({{"REPLAY_CASSETTE", path}, {"GROQ_API_KEY", "k"}, {"LLM_PROVIDER", "groq"}}),
              ElementsAre("groq", "replay"));
  ::unlink(path.c_str());
  EXPECT_THAT(names({{"REPLAY_CASSETTE", path}}), ElementsAre(HasSubstr("REPLAY_CASSETTE: ")));
}

}  // namespace
}  // namespace runtime::llm
