#include "runtime/benchmark/benchmark_report.h"

#include <gmock/gmock.h>

#include "runtime/json/reader.h"

namespace runtime::benchmark {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

BenchmarkReport report() {
  BenchmarkReport made;
  made.suite = "quick";
  made.asked = 4;
  made.time = std::chrono::milliseconds(2500);
  TaskScore one;
  one.id = "quick/one";
  one.solved_at = 1;
  one.attempts = 1;
  one.time = std::chrono::milliseconds(1500);
  one.usage = {.input_tokens = 100, .output_tokens = 50};
  TaskScore two = one;
  two.id = "quick/two";
  two.solved_at = two.attempts = 3;
  TaskScore three = one;
  three.id = "quick/three";
  three.solved_at = 0;
  three.attempts = 3;
  three.error = "AssertionError: a|b <script>\x1b[31m\nsecond line";
  TaskScore four = two;
  four.id = "quick/four";
  four.solved_at = four.attempts = 4;
  made.tasks = {one, two, three, four};
  return made;
}

TEST(BenchmarkReports, Table) {
  const std::string table = as_table(report());
  EXPECT_THAT(table, HasSubstr("pass@1           25.0 % (1 of 4)"));
  EXPECT_THAT(table, HasSubstr("solved within 3  50.0 % (2 of 4)"));
  EXPECT_THAT(table, HasSubstr("quick/two    solved at 3"));
  EXPECT_THAT(table, HasSubstr("not solved"));
  EXPECT_THAT(table, HasSubstr("tokens 100 in, 50 out"));
  EXPECT_THAT(table, Not(HasSubstr("\x1b")));
  EXPECT_THAT(table, Not(HasSubstr("second line")));
  EXPECT_THAT(table, Not(HasSubstr("Cancelled")));
}

TEST(BenchmarkReports, Json) {
  const auto value = json::parse(as_json(report()), "report");
  ASSERT_TRUE(value.has_value()) << value.error().message();
  const json::Object& object = *value->as_object();
  EXPECT_EQ(*object.at("suite").as_string(), "quick");
  EXPECT_EQ(*object.at("pass_at_1").as_double(), 0.25);
  EXPECT_EQ(*object.at("solved_within_3").as_double(), 0.5);
  EXPECT_EQ(*object.at("input_tokens").as_integer(), 400);
  const json::Array& tasks = *object.at("tasks").as_array();
  ASSERT_EQ(tasks.size(), 4u);
  EXPECT_TRUE(tasks[2].as_object()->at("solved_at").is_null());
  EXPECT_THAT(*tasks[2].as_object()->at("error").as_string(), HasSubstr("second line"));
  EXPECT_TRUE(tasks[0].as_object()->at("error").is_null());
}

TEST(BenchmarkReports, Markdown) {
  const std::string text = as_markdown(report());
  EXPECT_THAT(text, HasSubstr("| pass@1 | 25.0 % (1 of 4) |"));
  EXPECT_THAT(text, HasSubstr("| AssertionError: a\\|b &lt;script>"));
  EXPECT_THAT(text, Not(HasSubstr("<script")));
}

TEST(BenchmarkReports, OfNothingAndOfACancelledOne) {
  BenchmarkReport empty;
  EXPECT_THAT(as_table(empty), HasSubstr("pass@1           0.0 % (0 of 0)"));
  EXPECT_TRUE(json::parse(as_json(empty), "report").has_value());
  BenchmarkReport cut = report();
  EXPECT_THAT(as_table(cut), HasSubstr("quick: 4 tasks in "));
  BenchmarkReport one = report();
  one.tasks.resize(1);
  EXPECT_THAT(as_table(one), HasSubstr("quick: 1 task in "));
  cut.asked = 9;
  EXPECT_THAT(as_table(cut), HasSubstr("Cancelled after 4 of 9 tasks."));
  EXPECT_THAT(as_markdown(cut), HasSubstr("Cancelled after 4 of 9 tasks."));
}

}  // namespace
}  // namespace runtime::benchmark
