#include "runtime/benchmark/suite.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "runtime/agent/task.h"
#include "runtime/sandbox/input_files.h"

namespace runtime::benchmark {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ShippedSuites, AreTheseWithSoManyTasks) {
  EXPECT_THAT(suite_names(), ElementsAre("quick", "algorithms", "error_recovery", "data", "math",
                                         "strings", "hard", "full"));
  const std::map<std::string, std::size_t> sizes = {
      {"quick", 5}, {"algorithms", 12}, {"error_recovery", 6}, {"data", 8},
      {"math", 8},  {"strings", 8},     {"hard", 8},           {"full", 55}};
  for (const auto& [name, size] : sizes) {
    const auto suite = shipped_suite(name);
    ASSERT_TRUE(suite.has_value()) << suite.error().message();
    EXPECT_EQ(suite->name, name);
    EXPECT_EQ(suite->tasks.size(), size) << name;
    EXPECT_FALSE(suite->about.empty());
  }
}

TEST(ShippedSuites, EachTaskIsWhole) {
  const auto full = shipped_suite("full");
  ASSERT_TRUE(full.has_value()) << full.error().message();
  std::set<std::string> ids;
  for (const SuiteTask& task : full->tasks) {
    EXPECT_TRUE(ids.insert(task.id).second) << task.id;
    EXPECT_GT(task.task.size(), 80u) << task.id;
    EXPECT_LE(task.task.size(), agent::max_task_bytes) << task.id;
    EXPECT_THAT(task.tests, HasSubstr("assert ")) << task.id;
    EXPECT_FALSE(task.solution.empty()) << task.id;
    EXPECT_FALSE(task.wrong.empty()) << task.id;
    EXPECT_NE(task.wrong, task.solution) << task.id;
    EXPECT_TRUE(task.tests.ends_with("\n")) << task.id;
    EXPECT_TRUE(check_input_files(task.files, "main.py", {}).has_value()) << task.id;
  }
}

TEST(ShippedSuites, AnUnknownNameIsRefusedWithThoseThereAre) {
  const auto suite = shipped_suite("nope");
  ASSERT_FALSE(suite.has_value());
  EXPECT_THAT(suite.error().message(), HasSubstr("\"nope\""));
  EXPECT_THAT(suite.error().message(), HasSubstr("quick, algorithms"));
  EXPECT_THAT(find_suite("nope").error().message(), HasSubstr("quick, algorithms"));
  EXPECT_THAT(find_suite("./nope.jsonl").error().message(), HasSubstr("nope.jsonl"));
}

constexpr std::string_view human_eval = R"json({"task_id": "HumanEval/0",
"prompt": "def twice(x):\n    \"\"\" Twice x. \"\"\"\n", "entry_point": "twice",
"canonical_solution": "    return 2 * x\n",
"test": "def check(candidate):\n    assert candidate(2) == 4\n"})json";

std::string one_line(std::string_view text) {
  std::string line(text);
  std::erase(line, '\n');
  return line;
}

TEST(SuiteOfLines, HumanEval) {
  const auto suite = suite_of_lines(one_line(human_eval) + "\n\n", "dir/human.jsonl");
  ASSERT_TRUE(suite.has_value()) << suite.error().message();
  EXPECT_EQ(suite->name, "human");
  ASSERT_EQ(suite->tasks.size(), 1u);
  const SuiteTask& task = suite->tasks[0];
  EXPECT_EQ(task.id, "HumanEval/0");
  EXPECT_THAT(task.task, HasSubstr("Twice x."));
  EXPECT_THAT(task.task, Not(HasSubstr("candidate")));
  EXPECT_THAT(task.task, Not(HasSubstr("2 * x")));
  EXPECT_TRUE(task.tests.ends_with("check(twice)\n"));
  EXPECT_EQ(task.solution, "def twice(x):\n    \"\"\" Twice x. \"\"\"\n    return 2 * x\n");
}

TEST(SuiteOfLines, Mbpp) {
  const auto suite = suite_of_lines(
      R"({"task_id": 7, "text": "Write twice.", "code": "def twice(x):\n  return 2*x", )"
      R"("test_list": ["assert twice(1) == 2", "assert twice(0) == 0"], )"
      R"("test_setup_code": "import math", "challenge_test_list": ["assert twice(-1) == -2"]})",
      "mbpp.jsonl");
  ASSERT_TRUE(suite.has_value()) << suite.error().message();
  const SuiteTask& task = suite->tasks.at(0);
  EXPECT_EQ(task.id, "MBPP/7");
  EXPECT_THAT(task.task, HasSubstr("assert twice(1) == 2\n"));
  EXPECT_THAT(task.task, Not(HasSubstr("twice(-1)")));
  EXPECT_EQ(task.tests,
            "import math\nassert twice(1) == 2\nassert twice(0) == 0\nassert twice(-1) == -2\n");
}

TEST(SuiteOfLines, RecordedPrograms) {
  const auto suite = suite_of_lines(
      R"({"id": "HumanEval/1", "code": "def twice(x):\n    ''' Twice. '''\n    return 2 * x\n\n)"
      R"(METADATA = {}\n\ndef check(candidate):\n    assert candidate(1) == 2\n\ncheck(twice)\n"})"
      "\n"
      R"({"id": "MBPP/2", "task": "Write f.", "code": "def f():\n  return 1\n\nassert f() == 1\n"})",
      "recorded.jsonl");
  ASSERT_TRUE(suite.has_value()) << suite.error().message();
  const SuiteTask& one = suite->tasks.at(0);
  EXPECT_THAT(one.task, HasSubstr("''' Twice. '''"));
  EXPECT_THAT(one.task, Not(HasSubstr("2 * x")));
  EXPECT_THAT(one.tests, HasSubstr("check(twice)"));
  EXPECT_THAT(one.solution, Not(HasSubstr("check")));
  EXPECT_EQ(suite->tasks.at(1).tests, "assert f() == 1\n");
  EXPECT_EQ(suite->tasks.at(1).solution, "def f():\n  return 1\n\n");
}

TEST(SuiteOfLines, WhatIsNoProblemIsRefusedWithItsLine) {
  for (const char* bad : {"[]", "{}", "7", R"x({"id": "x", "code": "print(1)"})x",
                          R"({"task_id": "x", "entry_point": "f"})", R"({"test_list": []})"}) {
    const auto suite = suite_of_lines(one_line(human_eval) + "\n" + bad, "f.jsonl");
    ASSERT_FALSE(suite.has_value()) << bad;
    EXPECT_THAT(suite.error().message(), HasSubstr("f.jsonl line 2")) << bad;
  }
  EXPECT_THAT(suite_of_lines("{", "f.jsonl").error().message(), HasSubstr("line 1"));
  EXPECT_THAT(suite_of_lines("\n", "f.jsonl").error().message(), HasSubstr("no problems"));
}

TEST(FindSuite, ReadsAFile) {
  std::string directory = (std::filesystem::temp_directory_path() / "suite.XXXXXX").string();
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  std::ofstream(directory + "/human.jsonl") << one_line(human_eval) << "\n";
  const auto suite = find_suite(directory + "/human.jsonl");
  EXPECT_TRUE(suite.has_value() && suite->tasks.size() == 1);
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace runtime::benchmark
