// The agent's use of what a program printed and what a model wrote: in prompts, in the page that
// shows a task, and as programs. An input is split into texts at its NUL bytes.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/agent/line_diff.h"
#include "runtime/agent/program_text.h"
#include "runtime/agent/prompt.h"
#include "runtime/agent/trace_html.h"
#include "runtime/json/reader.h"
#include "runtime/json/writer.h"
#include "tests/fuzz/fuzz.h"

namespace fuzz {
namespace {

using runtime::agent::Attempt;
using runtime::agent::LineIs;

// The texts of an input, repeated endlessly.
class Texts {
 public:
  explicit Texts(std::string_view input) {
    for (;;) {
      const std::size_t end = input.find('\0');
      texts_.emplace_back(input.substr(0, end));
      if (end == input.npos) return;
      input.remove_prefix(end + 1);
    }
  }
  const std::string& next() { return texts_[at_++ % texts_.size()]; }

 private:
  std::vector<std::string> texts_;
  std::size_t at_ = 0;
};

runtime::agent::TaskRequest request_of(Texts& texts) {
  runtime::agent::TaskRequest request;
  request.task = "The task itself.";
  request.files.push_back({texts.next(), texts.next()});
  request.budget.prompt_tokens = 2000;
  return request;
}

std::vector<Attempt> history_of(Texts& texts) {
  std::vector<Attempt> history;
  for (std::uint32_t number = 1; number <= 2; ++number) {
    Attempt attempt;
    attempt.number = number;
    attempt.code = texts.next();
    attempt.reasoning = texts.next();
    attempt.result.emplace();
    attempt.result->exit_code = 1;
    jail::ExitReport report;
    report.ended = jail::Ended::exited;
    report.exit_code = 1;
    attempt.result->outcome = runtime::outcome_of({}, report, {}, {});
    attempt.result->standard_output = texts.next();
    attempt.result->standard_error = texts.next();
    attempt.critique.emplace();
    attempt.critique->diagnosis = texts.next();
    attempt.critique->fix = texts.next();
    attempt.votes.push_back({"critic", false, 0.5, {texts.next()}});
    history.push_back(std::move(attempt));
  }
  return history;
}

// The lines outside of the marks are ours: each is one of these, whatever the texts say.
bool is_ours(std::string_view line) {
  for (const std::string_view words :
       {"", "# The task", "The task itself.", "# Files in the working directory", "# Notes",
        "# Tests that are run after the program, in its own module",
        "# What was learnt from similar tasks; use it where it fits",
        "# What was tried, the oldest first", "## Attempt 1", "## Attempt 2",
        "Verdict: the program ended with exit status 1 (failed)", "# What to do now", "Write it.",
        "(1 earlier attempts are left out.)"}) {
    if (line == words) return true;
  }
  return false;
}

void check_prompt(std::string_view input) {
  Texts texts(input);
  const auto request = request_of(texts);
  const auto history = history_of(texts);
  const std::vector<runtime::agent::Lesson> lessons = {
      {"1", texts.next(), texts.next(), texts.next(), texts.next(), {}, 1}};
  runtime::agent::Brief brief;
  brief.request = &request;
  brief.history = &history;
  brief.lessons = &lessons;
  brief.tests = texts.next();
  brief.passages.push_back({"Notes", texts.next()});
  brief.wanted = "Write it.";
  // The planted fault takes a program's output for our own words.
  if (is_planted()) brief.wanted += '\n' + history[0].result->standard_output;
  const auto prompt = runtime::agent::compose(brief);
  const std::string begin = '<' + prompt.mark + "> ";
  const std::string end = "</" + prompt.mark + '>';
  bool is_data = false;
  std::string_view rest = prompt.user;
  while (!rest.empty()) {
    const std::size_t size = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, size);
    rest.remove_prefix(std::min(size + 1, rest.size()));
    if (is_data) {
      is_data = line != end;
    } else if (line.starts_with(begin)) {
      is_data = true;
    } else {
      require(is_ours(line), "words of others stand outside of the marks");
    }
  }
  require(!is_data, "data without an end");
}

// Reads the page as a browser does: the tags that the page consists of, and text.
void check_html(std::string_view html) {
  constexpr std::string_view tags[] = {"section", "h1", "h2", "h3",   "p",   "pre", "span",
                                       "dl",      "dt", "dd", "b",    "i",   "br",  "div",
                                       "table",   "tr", "td", "body", "html"};
  html.remove_prefix(html.find("<body>"));
  for (std::size_t at = 0; at < html.size(); ++at) {
    const auto byte = static_cast<unsigned char>(html[at]);
    require(byte >= ' ' || byte == '\n' || byte == '\t', "a control character in a page");
    if (html[at] == '>') found("a bracket that closes nothing");
    if (html[at] != '<') continue;
    const std::size_t end = html.find('>', at);
    require(end != html.npos, "a tag without an end");
    std::string_view tag = html.substr(at + 1, end - at - 1);
    if (tag.starts_with('/')) tag.remove_prefix(1);
    const std::size_t name_size = std::min(tag.find(' '), tag.size());
    const std::string_view name = tag.substr(0, name_size);
    const std::string_view rest = tag.substr(name_size);
    require(std::find(std::begin(tags), std::end(tags), name) != std::end(tags), "a tag of others");
    require(rest.empty() || rest.starts_with(" class=\"") || rest.starts_with(" style=\""),
            "an attribute of others");
    require(std::count(rest.begin(), rest.end(), '"') == (rest.empty() ? 0 : 2),
            "an attribute that ends twice");
    at = end;
  }
}

void check_page(std::string_view input) {
  Texts texts(input);
  runtime::agent::TaskResult result;
  result.output = texts.next();
  result.history = history_of(texts);
  result.error = texts.next();
  std::vector<runtime::agent::TracedEvent> events;
  using runtime::agent::EventType;
  for (const EventType type : {EventType::token, EventType::standard_output,
                               EventType::standard_error, EventType::critique}) {
    runtime::json::Writer writer;
    writer.string(texts.next());
    events.push_back({{type, std::move(writer).take()}, std::chrono::milliseconds(1)});
    events.push_back({{type, texts.next()}, std::chrono::milliseconds(2)});
  }
  const std::string html = runtime::agent::trace_html(texts.next(), result, events);
  check_html(html);
  require(runtime::json::repair_utf8(html) == html, "a page that is no UTF-8");
}

std::string joined(std::string_view text) {
  std::string lines(text);
  if (!lines.empty() && !lines.ends_with('\n')) lines += '\n';
  return lines;
}

void check_texts(std::string_view input) {
  Texts texts(input);
  const std::string& before = texts.next();
  const std::string& after = texts.next();
  std::string old;
  std::string now;
  for (const auto& line : runtime::agent::line_diff(before, after)) {
    const std::string text = std::string(line.text) + '\n';
    if (line.is != LineIs::added) old += text;
    if (line.is != LineIs::dropped) now += text;
  }
  require(old == joined(before) && now == joined(after), "a difference that leads elsewhere");
  for (const std::size_t most : {0u, 10u, 100u}) {
    const std::string cut = runtime::agent::head_and_tail(before, most);
    require(cut.size() <= most + 60 || cut.size() <= before.size(),
            "a text that grows by being cut");
    require(before.size() > most || cut == before, "a short text that is cut");
  }
  require(runtime::agent::unfinished_bytes(before) <= 3, "more than a character is unfinished");
  if (const auto program = runtime::agent::program_in_fence(before)) {
    require(before.find(*program) != before.npos, "a program that nobody wrote");
  }
  for (const auto role : {runtime::agent::Role::coder, runtime::agent::Role::critic,
                          runtime::agent::Role::security, runtime::agent::Role::tester}) {
    const auto answer = runtime::agent::read_answer(role, before);
    require(!answer || (answer->confidence >= 0 && answer->confidence <= 1 &&
                        answer->critique.confidence >= 0 && answer->critique.confidence <= 1),
            "an answer that is surer than sure");
    require(answer || !answer.error().doing.empty(), "an answer is refused without a reason");
  }
}

}  // namespace
}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view input = fuzz::text_of(bytes, size);
  fuzz::check_prompt(input);
  fuzz::check_page(input);
  fuzz::check_texts(input);
  return 0;
}
