// Reads collections of problems from files of JSON lines.
#include <optional>
#include <utility>

#include "runtime/benchmark/suite.h"
#include "runtime/json/members.h"
#include "runtime/json/reader.h"

namespace runtime::benchmark {
namespace {

using jail::Result;
using json::Object;

std::string text_at(const Object& object, std::string_view name) {
  const json::Value* found = json::member(object, name);
  if (found == nullptr || found->as_integer() == nullptr) return json::text_member(object, name);
  return std::to_string(*found->as_integer());
}

// The lines of a list of strings, joined; a string as it is.
std::string lines_at(const Object& object, std::string_view name) {
  const auto found = object.find(name);
  if (found == object.end() || found->second.as_array() == nullptr) return text_at(object, name);
  std::string text;
  for (const json::Value& line : *found->second.as_array()) {
    if (line.as_string() != nullptr) text += *line.as_string() + "\n";
  }
  return text;
}

std::string to_complete(const std::string& entry, const std::string& prompt) {
  return "Complete the function " + entry +
         " below. Give the whole program, with its imports.\n\n" + prompt;
}

std::string to_pass(const std::string& text, const std::string& tests) {
  return text + "\n\nYour program must pass these tests:\n" + tests;
}

// The beginning of the first line that starts with `word`.
std::size_t line_with(std::string_view text, std::string_view word, std::size_t from = 0) {
  for (std::size_t at = from; at < text.size();) {
    if (text.substr(at).starts_with(word)) return at;
    const std::size_t end = text.find('\n', at);
    if (end == text.npos) break;
    at = end + 1;
  }
  return text.npos;
}

// The name in the last "check(name)" that is a line of its own.
std::string checked_name(std::string_view tests) {
  constexpr std::string_view call = "\ncheck(";
  const std::size_t at = tests.rfind(call);
  if (at == tests.npos) return {};
  const std::size_t end = tests.find(')', at);
  if (end == tests.npos) return {};
  return std::string(tests.substr(at + call.size(), end - at - call.size()));
}

// The program up to the end of the docstring that describes the function.
std::optional<std::string> prompt_of(std::string_view program, const std::string& entry) {
  const std::size_t function = line_with(program, "def " + entry + "(");
  if (function == program.npos) return std::nullopt;
  for (const std::string_view quotes : {R"(""")", "'''"}) {
    const std::size_t begin = program.find(quotes, function);
    if (begin == program.npos) continue;
    const std::size_t end = program.find(quotes, begin + quotes.size());
    if (end == program.npos) continue;
    return std::string(program.substr(0, end + quotes.size())) + "\n";
  }
  return std::nullopt;
}

// A task from a program that was recorded with its tests at its end.
std::optional<SuiteTask> recorded_task(const Object& object) {
  SuiteTask task;
  task.id = text_at(object, "id");
  const std::string code = text_at(object, "code");
  const std::string text = text_at(object, "task");
  std::size_t tests = code.npos;
  if (!text.empty()) {
    tests = line_with(code, "assert ");
  } else {
    tests = std::min(line_with(code, "METADATA"), line_with(code, "def check("));
  }
  if (task.id.empty() || tests == code.npos) return std::nullopt;
  task.solution = code.substr(0, tests);
  task.tests = code.substr(tests);
  if (!text.empty()) {
    task.task = to_pass(text, task.tests);
    return task;
  }
  const std::string entry = checked_name(task.tests);
  const auto prompt = prompt_of(task.solution, entry);
  if (entry.empty() || !prompt) return std::nullopt;
  task.task = to_complete(entry, *prompt);
  return task;
}

std::optional<SuiteTask> human_eval_task(const Object& object) {
  SuiteTask task;
  task.id = text_at(object, "task_id");
  const std::string prompt = text_at(object, "prompt");
  const std::string entry = text_at(object, "entry_point");
  task.tests = text_at(object, "test");
  if (task.id.empty() || prompt.empty() || entry.empty() || task.tests.empty()) return std::nullopt;
  task.tests += "\n\ncheck(" + entry + ")\n";
  task.task = to_complete(entry, prompt);
  task.solution = prompt + text_at(object, "canonical_solution");
  return task;
}

std::optional<SuiteTask> mbpp_task(const Object& object) {
  SuiteTask task;
  task.id = "MBPP/" + text_at(object, "task_id");
  const std::string text = text_at(object, object.contains("text") ? "text" : "prompt");
  const std::string tests = lines_at(object, "test_list");
  if (task.id == "MBPP/" || text.empty() || tests.empty()) return std::nullopt;
  task.tests = lines_at(object, "test_setup_code") + "\n" + lines_at(object, "test_imports") +
               tests + lines_at(object, "challenge_test_list");
  task.task = to_pass(text, tests);
  task.solution = text_at(object, "code");
  return task;
}

std::optional<SuiteTask> task_of(const Object& object) {
  if (object.contains("entry_point")) return human_eval_task(object);
  if (object.contains("test_list")) return mbpp_task(object);
  return recorded_task(object);
}

}  // namespace

Result<Suite> suite_of_lines(std::string_view lines, std::string_view what) {
  Suite suite;
  const std::size_t slash = what.rfind('/');
  suite.name = what.substr(slash == what.npos ? 0 : slash + 1);
  suite.name = suite.name.substr(0, suite.name.find('.'));
  suite.about = "From a file";
  std::size_t number = 0;
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(end == lines.npos ? lines.size() : end + 1);
    ++number;
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    const std::string place = std::string(what) + " line " + std::to_string(number);
    const auto value = json::parse(line, place);
    if (!value) return value.error();
    std::optional<SuiteTask> task;
    if (value->as_object() != nullptr) task = task_of(*value->as_object());
    if (!task) {
      return jail::Error{
          jail::ErrorKind::invalid, place + ": expected a problem of HumanEval or MBPP", 0, {}};
    }
    suite.tasks.push_back(std::move(*task));
  }
  if (suite.tasks.empty()) {
    return jail::Error{jail::ErrorKind::invalid, std::string(what) + ": no problems", 0, {}};
  }
  return suite;
}

}  // namespace runtime::benchmark
