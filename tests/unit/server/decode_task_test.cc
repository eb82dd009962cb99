#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/json/reader.h"
#include "runtime/service/task_rules.h"
#include "server/api/decode.h"

namespace server {
namespace {

using namespace std::chrono_literals;
using runtime::BenchmarkRequest;
using runtime::agent::Lessons;
using runtime::agent::TaskRequest;
using runtime::agent::Team;
using runtime::agent::TestsByModel;
using ::testing::HasSubstr;

runtime::RequestRules make_rules() {
  runtime::RequestRules rules;
  rules.tasks = runtime::task_rules({}, {"groq"});
  rules.suites = {"quick", "full"};
  return rules;
}

const runtime::RequestRules rules = make_rules();

TaskRequest must_decode(std::string_view body) {
  auto decoded = decode_execute(body, rules);
  if (const auto* refusal = std::get_if<Response>(&decoded)) {
    ADD_FAILURE() << body.substr(0, 200) << ": " << refusal->body;
    return {};
  }
  return std::move(std::get<TaskRequest>(decoded));
}

struct Refused {
  int status = 200;
  std::string detail;
};

Refused refusal_of(const Response* response) {
  if (response == nullptr) return {};
  const auto value = runtime::json::parse(response->body, "problem");
  return {response->status, *value->as_object()->at("detail").as_string()};
}

Refused refused(std::string_view body, const runtime::RequestRules& by = rules) {
  const auto decoded = decode_execute(body, by);
  return refusal_of(std::get_if<Response>(&decoded));
}

TEST(DecodeTask, Defaults) {
  const TaskRequest request = must_decode(R"({"task": "Add"})");
  EXPECT_EQ(request.task, "Add");
  EXPECT_EQ(request.max_attempts, 3u);
  EXPECT_EQ(request.candidates, 1u);
  EXPECT_EQ(request.timeout, 5s);
  EXPECT_EQ(request.memory_limit_mb, 256u);
  EXPECT_EQ(request.team, Team::coder);
  EXPECT_EQ(request.tests_by_model, TestsByModel::none);
  EXPECT_EQ(request.lessons, Lessons::used);
  EXPECT_EQ(request.provider + request.model + request.tests, "");
}

TEST(DecodeTask, EveryField) {
  const TaskRequest request = must_decode(
      R"({"task": "Add", "max_attempts": 10, "tests": "assert 1", "write_tests": true,
          "files": {"a/b.csv": "1", "c": {"base64": "AAE="}}, "timeout_seconds": 0.5,
          "memory_limit_mb": 64, "swarm": true, "candidates": 8, "lessons": false,
          "artifacts": ["*.png"], "provider": "groq", "model": "m/1:free"})");
  EXPECT_EQ(request.max_attempts, 10u);
  EXPECT_EQ(request.tests, "assert 1");
  EXPECT_EQ(request.tests_by_model, TestsByModel::first);
  ASSERT_EQ(request.files.size(), 2u);
  EXPECT_EQ(request.files[1].content, std::string("\0\1", 2));
  EXPECT_EQ(request.artifacts, std::vector<std::string>{"*.png"});
  EXPECT_EQ(request.timeout, 500ms);
  EXPECT_EQ(request.memory_limit_mb, 64u);
  EXPECT_EQ(request.team, Team::swarm);
  EXPECT_EQ(request.candidates, 8u);
  EXPECT_EQ(request.lessons, Lessons::off);
  EXPECT_EQ(request.provider, "groq");
  EXPECT_EQ(request.model, "m/1:free");
}

TEST(DecodeTask, BadFieldsAreNamed) {
  const std::pair<std::string, std::vector<std::string>> cases[] = {
      {R"("task": "")", {"task: ", "1 .. 10000"}},
      {R"("task": 1)", {"task: ", "1 .. 10000"}},
      {"\"task\": \"" + std::string(10'001, 'x') + "\"", {"task: ", "1 .. 10000"}},
      {R"("task": "t", "max_attempts": 11)", {"max_attempts: ", "1 .. 10"}},
      {R"("task": "t", "max_attempts": 0)", {"max_attempts: ", "1 .. 10"}},
      {R"("task": "t", "max_attempts": 2.0)", {"max_attempts: ", "1 .. 10"}},
      {R"("task": "t", "candidates": 0)", {"candidates: ", "1 .. 8"}},
      {R"("task": "t", "candidates": 9)", {"candidates: ", "1 .. 8"}},
      {R"("task": "t", "swarm": "yes")", {"swarm: ", "true or false"}},
      {R"("task": "t", "write_tests": 1)", {"write_tests: ", "true or false"}},
      {R"("task": "t", "lessons": null)", {"lessons: ", "true or false"}},
      {R"("task": "t", "tests": ["x"])", {"tests: ", "262144"}},
      {R"("task": "t", "tests": ")" + std::string((256u << 10) + 1, 'x') + "\"", {"tests: "}},
      {R"("task": "t", "timeout_seconds": 61)", {"timeout_seconds: ", "0.05 .. 60"}},
      {R"("task": "t", "memory_limit_mb": 16)", {"memory_limit_mb: ", "32 .. 2048"}},
      {R"("task": "t", "files": {"../x": ""})", {"files: "}},
      {R"("task": "t", "files": {"main.py": ""})", {"files: ", "main.py"}},
      {R"("task": "t", "artifacts": ["../x"])", {"artifacts: ", "../x"}},
      {R"("task": "t", "provider": "nobody")", {"provider: ", "anthropic", "replay"}},
      {R"("task": "t", "model": "a b")", {"model: "}},
      {R"("task": "t", "model": "../x")", {"model: "}},
      {R"("task": "t", "model": "")", {"model: "}},
      {R"("task": "t", "extra": 1)", {"\"extra\": ", "unknown field", "max_attempts"}},
      {R"("task": "t", "stdin": "x")", {"\"stdin\": ", "only a request with code has it"}},
      {R"("task": "t", "language": "python")", {"\"language\": ", "only a request with code"}},
      {R"("task": "t", "code": "x")", {"exactly one of code and task"}},
  };
  for (const auto& [fields, words] : cases) {
    const Refused problem = refused("{" + fields + "}");
    EXPECT_EQ(problem.status, 400) << fields.substr(0, 100);
    for (const auto& word : words) EXPECT_THAT(problem.detail, HasSubstr(word));
  }
}

TEST(DecodeTask, CharactersAreCountedAndNotBytes) {
  std::string umlauts;
  for (int i = 0; i < 10'000; ++i) umlauts += "ä";
  EXPECT_EQ(must_decode("{\"task\": \"" + umlauts + "\"}").task.size(), 20'000u);
}

TEST(DecodeTask, AProviderThatIsNotConfiguredIsNamed) {
  const Refused other = refused(R"({"task": "t", "provider": "openai"})");
  EXPECT_EQ(other.status, 424);
  EXPECT_THAT(other.detail, HasSubstr("set OPENAI_API_KEY"));
  EXPECT_THAT(refused(R"({"task": "t", "provider": "replay"})").detail,
              HasSubstr("REPLAY_CASSETTE"));
  runtime::RequestRules none;
  none.why_no_task = "task: set one";
  none.tasks = runtime::task_rules({}, {});
  const Refused nobody = refused(R"({"task": "t", "max_attempts": 1})", none);
  EXPECT_EQ(nobody.status, 424);
  EXPECT_EQ(nobody.detail, "task: set one");
  // Errors of the request come first.
  EXPECT_EQ(refused(R"({"task": "t", "max_attempts": 99})", none).status, 400);
}

TEST(DecodeTask, TheOperatorsNumberOfAttempts) {
  runtime::Config config;
  config.max_reflexion_attempts = 7;
  runtime::RequestRules own = rules;
  own.tasks = runtime::task_rules(config, {"groq"});
  const auto decoded = decode_execute(R"({"task": "t"})", own);
  EXPECT_EQ(std::get<TaskRequest>(decoded).max_attempts, 7u);
}

TEST(DecodeBenchmark, FieldsAndDefaults) {
  const auto whole = decode_benchmark("{}", rules);
  ASSERT_TRUE(std::holds_alternative<BenchmarkRequest>(whole));
  EXPECT_EQ(std::get<BenchmarkRequest>(whole).suite, "quick");
  EXPECT_FALSE(std::get<BenchmarkRequest>(whole).max_problems.has_value());
  const auto some = decode_benchmark(
      R"({"suite": "full", "max_problems": 2, "max_attempts": 1, "provider": "groq", "model": "m"})",
      rules);
  ASSERT_TRUE(std::holds_alternative<BenchmarkRequest>(some));
  EXPECT_EQ(std::get<BenchmarkRequest>(some).max_problems, 2u);
  EXPECT_EQ(std::get<BenchmarkRequest>(some).max_attempts, 1u);
  EXPECT_EQ(std::get<BenchmarkRequest>(some).model, "m");
}

TEST(DecodeBenchmark, BadFieldsAreNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"[]", "JSON object"},
      {"{", "body"},
      {R"({"suite": "none"})", "suite: expected one of quick, full"},
      {R"({"suite": "/etc/passwd"})", "suite: expected one of quick, full"},
      {R"({"max_problems": 0})", "max_problems: expected an integer 1 .. 1000"},
      {R"({"max_attempts": 11})", "max_attempts: expected an integer 1 .. 10"},
      {R"({"provider": 1})", "provider: expected one of"},
      {R"({"limit": 1})", "\"limit\": unknown field; known are suite, max_problems"},
  };
  for (const auto& [body, word] : cases) {
    const auto decoded = decode_benchmark(body, rules);
    const Refused problem = refusal_of(std::get_if<Response>(&decoded));
    EXPECT_EQ(problem.status, 400) << body;
    EXPECT_THAT(problem.detail, HasSubstr(word));
  }
  const auto other = decode_benchmark(R"({"provider": "google"})", rules);
  EXPECT_EQ(refusal_of(std::get_if<Response>(&other)).status, 424);
}

}  // namespace
}  // namespace server
