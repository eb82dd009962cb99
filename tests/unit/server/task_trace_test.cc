#include "server/cli/task_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace server {
namespace {

using runtime::agent::EventType;
using ::testing::HasSubstr;
using ::testing::Not;

std::string shape_of(std::string_view before, std::string_view after) {
  std::string shape;
  for (const DiffLine& line : diff_of(before, after)) {
    shape += line.side == DiffLine::Side::both     ? ' '
             : line.side == DiffLine::Side::before ? '-'
                                                   : '+';
    shape += line.text;
    shape += '|';
  }
  return shape;
}

TEST(LineDiff, TheShortestWay) {
  EXPECT_EQ(shape_of("a\nb\nc\n", "a\nx\nc\n"), " a|-b|+x| c|");
  EXPECT_EQ(shape_of("", "a\n"), "+a|");
  EXPECT_EQ(shape_of("a", ""), "-a|");
  EXPECT_EQ(shape_of("a\nb", "a\nb"), " a| b|");
  EXPECT_EQ(shape_of("b", "a\nb\nc"), "+a| b|+c|");
  EXPECT_EQ(shape_of("", ""), "");
}

TEST(LineDiff, LongTextsAreNotCompared) {
  std::string before;
  std::string after;
  for (int i = 0; i < 3000; ++i) before += "x\n";
  for (int i = 0; i < 3000; ++i) after += "x\n";
  EXPECT_EQ(diff_of(before, after).size(), 6000u);
}

TEST(TaskTrace, APage) {
  runtime::agent::TaskRequest request;
  request.task = "<b>task</b> & \"more\"";
  TaskTrace trace(request);
  trace.add({EventType::token, R"("one")"});
  trace.add({EventType::token, R"("two")"});
  trace.add({EventType::standard_output, R"("<script>alert(1)</script>\u001b")"});
  runtime::agent::TaskResult result;
  result.error = "<i>";
  result.history.resize(2);
  result.history[0].number = 1;
  result.history[0].code = "a\nb\n";
  result.history[1].number = 2;
  result.history[1].code = "a\nc\n";
  result.history[1].result.emplace();
  result.history[1].result->standard_error = "</pre><script>";
  const std::string page = trace.page(result);
  EXPECT_THAT(page, HasSubstr("&lt;b&gt;task&lt;/b&gt; &amp; &quot;more&quot;"));
  EXPECT_THAT(page, HasSubstr("onetwo"));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("<i>")));
  EXPECT_THAT(page, Not(HasSubstr("\x1b")));
  EXPECT_THAT(page, HasSubstr("<span class=\"before\">- b</span><span class=\"after\">+ c</span>"));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
}

TEST(TaskTrace, IsBounded) {
  TaskTrace trace({});
  for (int i = 0; i < 10'000; ++i) {
    trace.add({EventType::standard_output, "\"" + std::string(1000, 'x') + "\""});
  }
  EXPECT_LT(trace.page({}).size(), 40'000u);
}

}  // namespace
}  // namespace server
