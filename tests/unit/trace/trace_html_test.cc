#include "runtime/agent/trace_html.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>

#include "runtime/json/writer.h"

namespace runtime::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

TracedEvent event(EventType type, std::string json, std::chrono::milliseconds at) {
  return {{type, std::move(json)}, at};
}

std::string as_json(std::string_view text) {
  json::Writer writer;
  writer.string(text);
  return std::move(writer).take();
}

Attempt attempt(std::uint32_t number, std::string code, Status status, std::string printed) {
  Attempt made;
  made.number = number;
  made.code = std::move(code);
  made.result.emplace();
  made.result->status = status;
  made.result->exit_code = status == Status::success ? 0 : 1;
  made.result->standard_output = std::move(printed);
  made.result->timings.ran = 41ms;
  made.usage = {.input_tokens = 812, .output_tokens = 96};
  return made;
}

TaskResult two_attempts() {
  TaskResult result;
  result.status = TaskStatus::completed;
  result.attempts = 2;
  result.execution_time = 3210ms;
  result.usage["groq"] = {.input_tokens = 1700, .output_tokens = 230};
  Attempt first =
      attempt(1, "def f(n):\n    return n / 2\n\nprint(f(10))\n", Status::error, "5.0\n");
  first.reasoning = "Half of n.";
  first.result->standard_error =
      "Traceback (most recent call last):\nAssertionError: 5.0 is no int\n";
  first.critique = Critique{.diagnosis = "True division gives a float.",
                            .fix = "Use //.",
                            .should_retry = true,
                            .confidence = 0.9};
  Attempt second =
      attempt(2, "def f(n):\n    return n // 2\n\nprint(f(10))\n", Status::success, "5\n");
  second.votes.push_back(
      {.role = "security", .approves = true, .confidence = 0.8, .findings = {"none"}});
  result.history = {first, second};
  result.output = "5\n";
  return result;
}

std::vector<TracedEvent> timeline() {
  return {event(EventType::generating, R"({"attempt": 1, "role": "coder"})", 0ms),
          event(EventType::token, R"("def f(n):")", 600ms),
          event(EventType::token, R"("\n    return")", 700ms),
          event(EventType::code, R"({"attempt": 1, "candidate": 0, "code": "SECRETCODE"})", 1100ms),
          event(EventType::executing, R"({"attempt": 1, "candidate": 0})", 1100ms),
          event(EventType::standard_output, R"("5.0\n")", 1140ms),
          event(EventType::execution_result, R"({"attempt": 1, "status": "error", "exit_code": 1})",
                1150ms),
          event(EventType::critiquing, R"({"attempt": 1})", 1150ms),
          event(EventType::critique,
                R"({"diagnosis": "True division gives a float.", "confidence": 0.9})", 2000ms),
          event(EventType::retrying, R"({"attempt": 2, "of": 3})", 2000ms),
          event(EventType::execution_result, R"({"attempt": 2, "status": "success"})", 3200ms)};
}

TEST(TraceHtml, ShowsWhatHappened) {
  const std::string page = trace_html("Halve a number", two_attempts(), timeline());
  EXPECT_THAT(page, HasSubstr("Halve a number"));
  EXPECT_THAT(page, HasSubstr(">solved</b> after 2 attempts"));
  EXPECT_THAT(page, HasSubstr("<span class=\"dropped\">    return n / 2</span>"
                              "<span class=\"added\">    return n // 2</span>"));
  EXPECT_THAT(page, HasSubstr("AssertionError: 5.0 is no int"));
  EXPECT_THAT(page, HasSubstr("True division gives a float."));
  EXPECT_THAT(page, HasSubstr("def f(n):\n    return"));  // two pieces, one row
  EXPECT_THAT(page, Not(HasSubstr("SECRETCODE")));
  EXPECT_THAT(page, HasSubstr("prefers-color-scheme: dark"));
  EXPECT_THAT(page, HasSubstr("1.10 s"));
  // For a person who wants to look at it.
  if (const char* path = std::getenv("TRACE_PAGE")) std::ofstream(path) << page;
}

constexpr std::string_view attack =
    "</pre></td><script>alert(1)</script><img src=x onerror=alert(1)>\"' onload='x' <!-- &lt; "
    "\x1b[31m "
    "\xff\u202Egnirts";

TEST(TraceHtml, NothingThatComesFromOutsideIsMarkup) {
  const std::string text(attack);
  TaskResult result;
  result.error = text;
  result.output = text;
  result.usage[text] = {};
  Attempt one = attempt(1, text, Status::error, text);
  one.reasoning = text;
  one.result->standard_error = text;
  one.result->signal = text;
  one.critique = Critique{.diagnosis = text, .fix = text, .should_retry = false, .confidence = 0};
  one.votes.push_back({.role = text, .approves = false, .confidence = 0, .findings = {text}});
  Attempt two = one;
  two.number = 2;
  two.code = text + "\n" + text;
  result.history = {one, two};
  std::vector<TracedEvent> events;
  for (int type = 0; type <= static_cast<int>(EventType::swarm); ++type) {
    const auto of = static_cast<EventType>(type);
    events.push_back(event(of, as_json(text), 1ms));
    events.push_back(event(of, "{" + as_json(text) + ": [" + as_json(text) + "]}", 2ms));
    events.push_back(event(of, text, 3ms));  // no JSON at all
  }
  const std::string page = trace_html(text, result, events);
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, Not(HasSubstr("<!--")));
  EXPECT_THAT(page, Not(HasSubstr("onerror=alert(1)>")));
  EXPECT_THAT(page, Not(HasSubstr("\x1b")));
  EXPECT_THAT(page, Not(HasSubstr("\u202E")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;"));
  EXPECT_TRUE(json::is_utf8(page));
  // Every attribute in the page is one of ours.
  std::size_t at = 0;
  while ((at = page.find('<', at)) != page.npos) {
    const std::string tag = page.substr(at, page.find('>', at) - at);
    EXPECT_EQ(tag.find("onload"), tag.npos) << tag;
    EXPECT_EQ(tag.find("src="), tag.npos) << tag;
    ++at;
  }
}

TEST(TraceHtml, IsBounded) {
  TaskResult result;
  std::string code;
  for (int i = 0; i < 100'000; ++i) code += "x = " + std::to_string(i) + "\n";
  result.history = {attempt(1, code, Status::error, std::string(1 << 20, 'o')),
                    attempt(2, code + "y", Status::error, std::string(1 << 20, '<'))};
  std::vector<TracedEvent> events;
  for (int i = 0; i < 50'000; ++i) {
    events.push_back(event(i % 2 == 0 ? EventType::swarm : EventType::token,
                           as_json(std::string(500, 'z')), std::chrono::milliseconds(i)));
  }
  EXPECT_LT(trace_html("t", result, events).size(), 8u << 20);
}

TEST(TraceHtml, OfATaskWithoutAnything) {
  const std::string page = trace_html("", TaskResult(), {});
  EXPECT_THAT(page, HasSubstr("not solved"));
  EXPECT_TRUE(page.ends_with("</html>\n"));
}

}  // namespace
}  // namespace runtime::agent
