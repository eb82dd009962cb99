#include "server/cli/progress_text.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "runtime/json/members.h"
#include "runtime/json/reader.h"
#include "server/cli/plain_text.h"
#include "server/cli/python_colours.h"

namespace server {
namespace {

namespace agent = runtime::agent;
using agent::EventType;
using runtime::json::Object;
using runtime::json::Value;

constexpr const char* bold = "\x1b[1m";
constexpr const char* dim = "\x1b[2m";
constexpr const char* red = "\x1b[31m";
constexpr const char* green = "\x1b[32m";
constexpr const char* yellow = "\x1b[33m";
constexpr std::size_t line_characters = 300;

std::optional<std::int64_t> number_of(const Object& object, std::string_view name) {
  const Value* value = member(object, name);
  if (value == nullptr || value->as_integer() == nullptr) return std::nullopt;
  return *value->as_integer();
}

// "error, exit status 1".
std::string fate_of(const Object& result) {
  std::string fate = plain_line(text_member(result, "status"), 40);
  if (const auto code = number_of(result, "exit_code"); code && *code != 0) {
    fate += ", exit status " + std::to_string(*code);
  }
  if (const std::string signal = text_member(result, "signal"); !signal.empty()) {
    fate += ", " + plain_line(signal, 40);
  }
  return fate;
}

// The last line, which is taken away from `text`; without blanks around it.
std::string_view take_last_line(std::string_view& text) {
  constexpr std::string_view blanks = " \t\r\n";
  text = text.substr(0, text.find_last_not_of(blanks) + 1);  // npos + 1 is 0
  const std::size_t begin = text.rfind('\n') + 1;
  const std::string_view line = text.substr(begin);
  text = text.substr(0, begin);
  return line.substr(std::min(line.find_first_not_of(blanks), line.size()));
}

// An exception's last line says what it is, except that of an assertion without a message, which is
// told by its source line. What the driver of the tests has written comes after that.
std::string complaint_of(std::string_view text) {
  constexpr std::string_view tests_failed = "The program ran to its end; its tests failed.";
  constexpr std::string_view failed_before = "The program failed before its tests.";
  std::string_view line = take_last_line(text);
  std::string whose;
  if (line == tests_failed) whose = "its tests failed";
  if (line == tests_failed || line == failed_before) line = take_last_line(text);
  std::string complaint(line);
  if (line == "AssertionError") {
    std::string_view source = take_last_line(text);
    if (source.find_first_not_of("^~ ") == source.npos) source = take_last_line(text);
    if (!source.empty()) complaint += ": " + std::string(source);
  }
  if (!whose.empty() && !complaint.empty()) whose += ": ";
  return plain_line(whose + complaint, line_characters);
}

std::string indented(const std::string& text, const std::string& margin) {
  std::string lines;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    if (end > 0) lines += margin;
    lines += rest.substr(0, end);
    lines += "\n";
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return lines;
}

std::string time_text(const Object& data) {
  const Value* value = member(data, "execution_time_ms");
  if (value == nullptr) return {};
  const double* exact = value->as_double();
  const std::int64_t* whole = value->as_integer();
  if (exact == nullptr && whole == nullptr) return {};
  const double time = exact != nullptr ? *exact : static_cast<double>(*whole);
  return ", " + std::to_string(std::llround(time)) + " ms";
}

std::string candidate_text(const Object& data) {
  const auto candidate = number_of(data, "candidate");
  return candidate && *candidate > 0 ? " (candidate " + std::to_string(*candidate + 1) + ")" : "";
}

}  // namespace

std::string ProgressText::painted(const char* colour, const std::string& text) const {
  if (style_.colours == Colours::none) return text;
  return colour + text + "\x1b[0m";
}

std::string ProgressText::attempt_text(std::int64_t attempt) const {
  const std::string text = "attempt " + std::to_string(attempt);
  return style_.max_attempts == 0 ? text : text + " of " + std::to_string(style_.max_attempts);
}

std::string ProgressText::code_text(const std::string& code) const {
  const std::string plain = plain_text(code);
  const bool coloured = style_.colours == Colours::ansi;
  return indented(coloured ? coloured_python(plain) : plain, "  ");
}

std::string ProgressText::result_text(const Object& data) const {
  const bool passed = text_member(data, "status") == "success";
  std::string text = painted(passed ? green : red, (passed ? "✓ " : "✗ ") + fate_of(data));
  text += candidate_text(data) + time_text(data);
  const std::string complaint = complaint_of(text_member(data, "stderr"));
  if (!passed && !complaint.empty()) text += ": " + complaint;
  return text + "\n";
}

std::string ProgressText::critique_text(const Object& data) const {
  std::string text = painted(yellow, "→ ");
  text += plain_line(text_member(data, "diagnosis"), line_characters) + "\n";
  const std::string fix = text_member(data, "fix");
  if (shows_all() && !fix.empty()) text += "  " + plain_line(fix, line_characters) + "\n";
  return text;
}

ProgressStep ProgressText::of(const agent::Event& event) {
  const auto parsed = runtime::json::parse(event.data, "event");
  if (!parsed) return {};
  if (const std::string* text = parsed->as_string()) {
    const bool output = event.type != EventType::token;
    if (!output || !shows_all()) return {};
    return {.text = painted(dim, indented(plain_text(*text), "  | ")), .doing = {}};
  }
  if (parsed->as_object() == nullptr) return {};
  const Object& data = *parsed->as_object();
  ProgressStep step;
  if (const auto attempt = number_of(data, "attempt"); attempt && *attempt > shown_attempt_) {
    shown_attempt_ = *attempt;
    step.text = painted(bold, attempt_text(*attempt)) + "\n";
  }
  const std::string attempt = attempt_text(shown_attempt_);
  switch (event.type) {
    case EventType::generating:
      step.doing = attempt + ": " + plain_line(text_member(data, "role"), 40) + " writes";
      break;
    case EventType::code:
      if (const std::string why = text_member(data, "reasoning"); shows_all() && !why.empty()) {
        step.text += painted(dim, indented(plain_text(why), "  # "));
      }
      step.text += code_text(text_member(data, "code"));
      step.doing = attempt + ": the program is there";
      break;
    case EventType::executing:
      step.doing = attempt + ": the program runs" + candidate_text(data);
      break;
    case EventType::execution_result:
      step.text += result_text(data);
      step.doing = attempt + ": the program has run";
      break;
    case EventType::critiquing:
      step.doing = attempt + ": the critic looks at it";
      break;
    case EventType::critique:
      step.text += critique_text(data);
      break;
    case EventType::swarm:
      step.doing = attempt + ": " + plain_line(text_member(data, "role"), 40) + " has spoken";
      if (shows_all()) step.text += painted(dim, plain_line(event.data, line_characters)) + "\n";
      break;
    case EventType::retrying:
    case EventType::token:
    case EventType::standard_output:
    case EventType::standard_error:
      break;
  }
  return step;
}

std::string ProgressText::end_of(const agent::TaskResult& result) const {
  constexpr std::size_t max_provider_characters = 64;
  std::string tokens;
  for (const auto& [provider, usage] : result.usage) {
    tokens += "; " + plain_line(provider, max_provider_characters) + ": " +
              std::to_string(usage.input_tokens) + " tokens in, " +
              std::to_string(usage.output_tokens) + " out";
  }
  const double seconds = std::round(static_cast<double>(result.execution_time.count()) / 10) / 100;
  std::string time = std::to_string(seconds);
  time.resize(time.find('.') + 3);
  const std::string attempts =
      std::to_string(result.attempts) + (result.attempts == 1 ? " attempt" : " attempts");
  const std::string rest = " (" + attempts + ", " + time + " s" + tokens + ")\n";
  if (result.success()) return painted(green, "solved") + rest;
  const bool cancelled = result.status == agent::TaskStatus::cancelled;
  std::string text = painted(red, cancelled ? "cancelled" : "not solved") + rest;
  for (const std::string& why : {result.error, result.host_error}) {
    if (!why.empty()) text += plain_line(why, line_characters * 2) + "\n";
  }
  return text;
}

}  // namespace server
