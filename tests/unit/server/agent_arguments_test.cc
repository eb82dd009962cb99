#include "server/cli/agent_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace server {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

template <class Options>
Options options_of(std::vector<std::string> args) {
  auto parsed = parse_arguments(std::move(args), "1.2.3");
  if (const auto* finished = std::get_if<Finished>(&parsed)) ADD_FAILURE() << finished->error;
  auto* options = std::get_if<Options>(&parsed);
  return options == nullptr ? Options() : *options;
}

Finished finished_of(std::vector<std::string> args) {
  auto parsed = parse_arguments(std::move(args), "1.2.3");
  const auto* finished = std::get_if<Finished>(&parsed);
  return finished == nullptr ? Finished{.exit_code = -1, .output = {}, .error = {}} : *finished;
}

TEST(AgentArguments, RunTakesATask) {
  const auto options = options_of<RunTaskOptions>({"run", "Add 1 and 1"});
  EXPECT_EQ(options.task, "Add 1 and 1");
  EXPECT_FALSE(options.max_attempts || options.program.timeout || options.program.memory_limit_mb);
  EXPECT_EQ(options.candidates, 1u);
  EXPECT_EQ(options.output, RunTaskOptions::Output::text);
  EXPECT_EQ(options.lessons, runtime::agent::Lessons::used);
}

TEST(AgentArguments, RunTakesEveryOption) {
  const auto options = options_of<RunTaskOptions>(
      {"run",      "-a",       "5",         "-v",         "--swarm",       "--candidates",
       "4",        "--json",   "--tests",   "t.py",       "--write-tests", "--file",
       "a/b.csv",  "--file",   "c:d/e",     "--artifact", "*.png:plots",   "--overwrite",
       "--memory", "64",       "--timeout", "0.5",        "--provider",    "groq",
       "--model",  "m",        "--trace",   "t.html",     "--no-lessons",  "--user",
       "me",       "--cgroup", "none",      "-"});
  EXPECT_EQ(options.task, "-");
  EXPECT_EQ(options.max_attempts, 5u);
  EXPECT_EQ(options.detail, RunTaskOptions::Detail::all);
  EXPECT_EQ(options.team, runtime::agent::Team::swarm);
  EXPECT_EQ(options.candidates, 4u);
  EXPECT_EQ(options.output, RunTaskOptions::Output::json);
  EXPECT_EQ(options.tests_file, "t.py");
  EXPECT_EQ(options.tests_by_model, runtime::agent::TestsByModel::first);
  ASSERT_EQ(options.program.files.size(), 2u);
  EXPECT_EQ(options.program.files[0].destination, "b.csv");
  EXPECT_EQ(options.program.files[1].destination, "d/e");
  ASSERT_EQ(options.artifacts.wanted.size(), 1u);
  EXPECT_EQ(options.artifacts.wanted[0].glob, "*.png");
  EXPECT_EQ(options.artifacts.wanted[0].directory, "plots");
  EXPECT_TRUE(options.artifacts.overwrite);
  EXPECT_EQ(options.program.memory_limit_mb, 64u);
  EXPECT_EQ(options.program.timeout, 500ms);
  EXPECT_EQ(options.provider, "groq");
  EXPECT_EQ(options.model, "m");
  EXPECT_EQ(options.trace_file, "t.html");
  EXPECT_EQ(options.lessons, runtime::agent::Lessons::off);
  EXPECT_EQ(options.host.user, "me");
  EXPECT_EQ(options.host.flags.size(), 1u);
}

TEST(AgentArguments, RunTakesAServerOrWhatIsAboutThisHost) {
  auto parsed = parse_arguments({"run", "x", "--server", "unix:/a"}, "1.2.3");
  ASSERT_TRUE(std::holds_alternative<RunTaskOptions>(parsed));
  EXPECT_EQ(std::get<RunTaskOptions>(parsed).server, "unix:/a");
  parsed = parse_arguments({"run", "x", "--server", "unix:/a", "--rootfs", "host"}, "1.2.3");
  ASSERT_TRUE(std::holds_alternative<Finished>(parsed));
  EXPECT_THAT(std::get<Finished>(parsed).error,
              testing::HasSubstr("--rootfs cannot be used with --server"));
}

TEST(AgentArguments, Benchmark) {
  const auto usual = options_of<BenchmarkOptions>({"benchmark"});
  EXPECT_EQ(usual.suite, "quick");
  EXPECT_FALSE(usual.max_problems.has_value());
  EXPECT_EQ(usual.format, BenchmarkOptions::Format::table);
  const auto options = options_of<BenchmarkOptions>(
      {"benchmark", "--suite", "full", "--limit", "3", "-a", "2", "--markdown"});
  EXPECT_EQ(options.suite, "full");
  EXPECT_EQ(options.max_problems, 3u);
  EXPECT_EQ(options.max_attempts, 2u);
  EXPECT_EQ(options.format, BenchmarkOptions::Format::markdown);
}

TEST(AgentArguments, Lessons) {
  EXPECT_EQ(options_of<LessonsOptions>({"lessons", "list", "--json"}).format,
            LessonsOptions::Format::json);
  const auto one = options_of<LessonsOptions>({"lessons", "erase", "7"});
  EXPECT_EQ(one.action, LessonsOptions::Action::erase);
  EXPECT_EQ(one.id, "7");
  EXPECT_EQ(options_of<LessonsOptions>({"lessons", "erase", "--all"}).id, "");
}

TEST(AgentArguments, MistakesAreUsage) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"run"}, "expected TASK"},
      {{"run", ""}, "expected TASK"},
      {{"run", std::string(10'001, 'x')}, "1 .. 10000"},
      {{"run", "t", "-a", "11"}, "--attempts"},
      {{"run", "t", "-a", "0"}, "--attempts"},
      {{"run", "t", "--candidates", "9"}, "--candidates"},
      {{"run", "t", "--timeout", "0"}, "--timeout"},
      {{"run", "t", "--memory", "8"}, "--memory"},
      {{"run", "t", "--file", ":x"}, "--file"},
      {{"run", "t", "u"}, "u"},
      {{"benchmark", "--limit", "0"}, "--limit"},
      {{"benchmark", "--limit", "1001"}, "--limit"},
      {{"benchmark", "--model", "a b"}, "--model"},
      {{"run", "t", "--model", ""}, "--model"},
      {{"run", "t", "--provider", "foo"}, "--provider: expected one of groq, openrouter, "},
      {{"run", "t", "--provider", "foo"}, ", ollama, replay, not \"foo\"\n"},
      {{"benchmark", "--provider", "foo"}, "--provider: expected one of groq, "},
      {{"benchmark", "--json", "--markdown"}, "--json"},
      {{"lessons"}, "expected list or erase"},
      {{"lessons", "erase"}, "--all"},
      {{"lessons", "erase", "7", "--all"}, "--all"},
  };
  for (const auto& [args, word] : cases) {
    const Finished finished = finished_of(args);
    EXPECT_EQ(finished.exit_code, 2) << word;
    EXPECT_THAT(finished.error, HasSubstr(word));
  }
}

}  // namespace
}  // namespace server
