#include "server/cli/jobs/jobs_text.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/json/base64.h"
#include "runtime/json/members.h"
#include "server/cli/exec_files.h"
#include "server/cli/sandbox/field_words.h"
#include "server/cli/sandbox/json_text.h"
#include "server/cli/sandbox/table.h"

namespace server::client {
namespace {

namespace json = runtime::json;

// Returns std::nullopt for a number that no length and no size can reach.
std::optional<double> number_in(const json::Value& object, std::string_view name) {
  constexpr double max = 9e15;
  const json::Value* const number = json::member(object, name);
  if (number == nullptr) return std::nullopt;
  double found = max;
  if (number->as_integer() != nullptr) found = static_cast<double>(*number->as_integer());
  if (number->as_double() != nullptr) found = *number->as_double();
  return found >= 0 && found < max ? std::optional(found) : std::nullopt;
}

// "21 ms", "1.5 s".
std::string milliseconds_text(const json::Value& object, std::string_view name) {
  const auto time = number_in(object, name);
  if (!time) return "-";
  if (*time < 1000) return std::to_string(std::llround(*time)) + " ms";
  return json::number_text(std::round(*time / 100) / 10) + " s";
}

// Why a job has no success. A program that ended in its own way has no error of the server's.
std::string why_text(const json::Value& job) {
  constexpr std::pair<std::string_view, const char*> ends[] = {
      {"error", "its exit status was not 0"},           {"timeout", "its time was over"},
      {"out_of_memory", "its memory was full"},         {"killed", "a signal ended it"},
      {"violation", "the system call policy ended it"}, {"cancelled", "somebody ended it"}};
  std::string error = shown(job, "error");
  if (error != "-" || json::text_member(&job, "kind") == "task") return error;
  const std::string status = json::text_member(&job, "status");
  for (const auto& [name, text] : ends) {
    if (status == name) return text;
  }
  return error;
}

class Lines {
 public:
  void add(std::string_view name, const std::string& value) {
    if (value != "-") text_ += std::string(name) + ": " + value + "\n";
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::uint64_t size_of(const json::Value& result, std::string_view name) {
  const std::string text = json::text_member(&result, name);
  if (json::text_member(&result, "output_encoding") != "base64") return text.size();
  const auto bytes = json::decode_base64(text);
  return bytes ? bytes->size() : 0;
}

std::string artifacts_text(const json::Value& result) {
  const json::Array* const artifacts = array_in(result, "artifacts");
  if (artifacts == nullptr || artifacts->empty()) return "-";
  std::string text;
  for (const json::Value& artifact : *artifacts) {
    if (!text.empty()) text += ", ";
    text += shown(artifact, "path");
    if (const auto size = number_in(artifact, "size"); size && *size >= 0) {
      text += " (" + size_text(static_cast<std::uint64_t>(*size)) + ")";
    }
  }
  return text;
}

void add_program(Lines& lines, const json::Value& result) {
  if (const json::Value* const outcome = json::member(result, "outcome"); outcome != nullptr) {
    lines.add("cause", shown(*outcome, "cause"));
    lines.add("remedy", remedy_in_options(shown(*outcome, "remedy")));
  }
  lines.add("exit status", shown(result, "exit_code"));
  lines.add("template", shown(result, "template"));
  lines.add("processor time", milliseconds_text(result, "cpu_time_ms"));
  const std::string peak = shown(result, "memory_peak_mb");
  lines.add("memory peak", peak == "-" ? peak : peak + " MB");
  lines.add("standard output", size_text(size_of(result, "stdout")));
  lines.add("standard error", size_text(size_of(result, "stderr")));
}

}  // namespace

std::string jobs_text(const json::Array& jobs, std::size_t width) {
  const std::vector<Column> columns = {{.title = "ID"},
                                       {.title = "KIND"},
                                       {.title = "STATUS"},
                                       {.title = "LANGUAGE"},
                                       {.title = "CREATED (UTC)"},
                                       {.title = "TIME"},
                                       {.title = "ERROR", .min_width = 12}};
  std::vector<std::vector<std::string>> rows;
  for (const json::Value& job : jobs) {
    rows.push_back({shown(job, "job_id"), shown(job, "kind"), shown(job, "status"),
                    shown(job, "language"), shown_time(job, "created_at"),
                    milliseconds_text(job, "execution_time_ms"), why_text(job)});
  }
  return table(columns, rows, width);
}

std::string job_text(const json::Value& job) {
  Lines lines;
  lines.add("id", shown(job, "job_id"));
  lines.add("kind", shown(job, "kind"));
  lines.add("status", shown(job, "status"));
  lines.add("language", shown(job, "language"));
  lines.add("created", shown_moment(job, "created_at"));
  lines.add("finished", shown_moment(job, "finished_at"));
  lines.add("time", milliseconds_text(job, "execution_time_ms"));
  lines.add("error", shown(job, "error"));
  const json::Value* const result = json::member(job, "result");
  if (result == nullptr || result->is_null()) return lines.take();
  if (json::text_member(&job, "kind") == "task") {
    lines.add("attempts", shown(*result, "attempts"));
    lines.add("failure", shown(*result, "error"));
    lines.add("output", size_text(json::text_member(result, "output").size()));
  } else {
    add_program(lines, *result);
  }
  lines.add("artifacts", artifacts_text(*result));
  return lines.take();
}

}  // namespace server::client
