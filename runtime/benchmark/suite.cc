#include "runtime/benchmark/suite.h"

#include <algorithm>
#include <utility>

#include "runtime/config/text_file.h"
#include "runtime/json/members.h"
#include "runtime/json/reader.h"
#include "runtime/json/writer.h"

extern "C" {
extern const char runtime_suites_begin[];
extern const char runtime_suites_end[];
}

namespace runtime::benchmark {
namespace {

using jail::Result;
using json::Value;

constexpr std::string_view all_suites = "full";
constexpr std::size_t max_file_bytes = 64u << 20;

// Accepts a list of lines too, so that programs are readable in the file.
Result<std::string> text_of(const Value* value, const std::string& place) {
  std::string text;
  const json::Array* lines = value == nullptr ? nullptr : value->as_array();
  if (lines == nullptr) return jail::invalid(place + ": expected a list of lines");
  for (const Value& line : *lines) {
    if (line.as_string() == nullptr) return jail::invalid(place + ": expected a list of lines");
    text += *line.as_string() + "\n";
  }
  return text;
}

Result<SuiteTask> task_of(const Value& value, const std::string& what) {
  const json::Object* object = value.as_object();
  const Value* id = object == nullptr ? nullptr : member(*object, "id");
  if (id == nullptr || id->as_string() == nullptr)
    return jail::invalid(what + ": a task without an id");
  SuiteTask task;
  task.id = *id->as_string();
  struct Field {
    std::string_view name;
    std::string SuiteTask::*text;
  };
  constexpr Field fields[] = {{"task", &SuiteTask::task},
                              {"tests", &SuiteTask::tests},
                              {"solution", &SuiteTask::solution},
                              {"wrong", &SuiteTask::wrong}};
  for (const Field& field : fields) {
    auto text = text_of(member(*object, field.name), task.id + "." + std::string(field.name));
    if (!text) return text.error();
    task.*field.text = std::move(*text);
  }
  const Value* files = member(*object, "files");
  if (files != nullptr && files->as_object() == nullptr) {
    return jail::invalid(task.id + ".files: expected an object");
  }
  if (files == nullptr) return task;
  for (const auto& [path, lines] : *files->as_object()) {
    auto content = text_of(&lines, task.id + ".files." + path);
    if (!content) return content.error();
    task.files.push_back({path, std::move(*content)});
  }
  return task;
}

Result<Suite> suite_of(std::string_view document) {
  const auto root = json::parse(document, "a suite");
  if (!root) return root.error();
  const json::Object* object = root->as_object();
  const Value* name = object == nullptr ? nullptr : member(*object, "name");
  const Value* about = object == nullptr ? nullptr : member(*object, "about");
  const Value* tasks = object == nullptr ? nullptr : member(*object, "tasks");
  if (name == nullptr || name->as_string() == nullptr || about == nullptr ||
      about->as_string() == nullptr || tasks == nullptr || tasks->as_array() == nullptr) {
    return jail::invalid("a suite: expected name, about and tasks");
  }
  Suite suite;
  suite.name = *name->as_string();
  suite.about = *about->as_string();
  for (const Value& value : *tasks->as_array()) {
    auto task = task_of(value, suite.name);
    if (!task) return task.error();
    suite.tasks.push_back(std::move(*task));
  }
  return suite;
}

// The documents, in the order in which they are linked in.
std::vector<std::string_view> shipped_documents() {
  std::vector<std::string_view> documents;
  for (const char* at = runtime_suites_begin; at < runtime_suites_end;) {
    documents.emplace_back(at);
    at += documents.back().size() + 1;
  }
  return documents;
}

}  // namespace

std::vector<std::string> suite_names() {
  // Nobody who only needs the names waits until the documents are parsed.
  return {"quick", "algorithms", "error_recovery", "data",
          "math",  "strings",    "hard",           std::string(all_suites)};
}

Result<Suite> shipped_suite(std::string_view name) {
  Suite full;
  full.name = all_suites;
  full.about = "All suites together";
  for (const std::string_view document : shipped_documents()) {
    auto suite = suite_of(document);
    if (!suite) return suite.error();
    if (suite->name == name) return suite;
    std::move(suite->tasks.begin(), suite->tasks.end(), std::back_inserter(full.tasks));
  }
  if (name == all_suites) return full;
  std::string names;
  for (const std::string& each : suite_names()) names += (names.empty() ? "" : ", ") + each;
  return jail::invalid("suite " + json::quoted(name) + ": expected one of " + names);
}

Result<Suite> find_suite(const std::string& name_or_path) {
  auto suite = shipped_suite(name_or_path);
  const bool is_path = name_or_path.find_first_of("/.") != name_or_path.npos;
  if (suite || !is_path) return suite;
  const auto lines = read_text_file(name_or_path, max_file_bytes);
  if (!lines) return lines.error();
  return suite_of_lines(*lines, name_or_path);
}

}  // namespace runtime::benchmark
