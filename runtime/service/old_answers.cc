#include "runtime/service/old_answers.h"

#include <charconv>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/json/base64.h"
#include "runtime/json/members.h"
#include "runtime/json/reader.h"
#include "runtime/service/record_fields.h"
#include "runtime/service/records.h"

namespace runtime {
namespace {

using json::member;
using json::text_member;
using json::Value;
using std::chrono::microseconds;

double number_in(const Value* value) {
  if (value == nullptr) return 0;
  if (const auto* integer = value->as_integer()) return static_cast<double>(*integer);
  const auto* number = value->as_double();
  return number == nullptr ? 0 : *number;
}

// Our servers only ever wrote integers that a double and the type hold exactly. Another server may
// send any number.
template <class Integer = std::int64_t>
Integer as_integer(double number) {
  constexpr double exact = 9e15;
  constexpr double least = static_cast<double>(std::numeric_limits<Integer>::min());
  constexpr double most = static_cast<double>(std::numeric_limits<Integer>::max());
  const bool fits = number > -exact && number < exact && number >= least && number <= most;
  return fits ? static_cast<Integer>(number) : Integer{0};
}

template <class Integer = std::int64_t>
Integer integer_in(const Value* value) {
  return as_integer<Integer>(number_in(value));
}

bool flag_in(const Value* value) {
  const bool* flag = value == nullptr ? nullptr : value->as_bool();
  return flag != nullptr && *flag;
}

bool is_there(const Value* value) { return value != nullptr && !value->is_null(); }

template <class Visit>
void each_in(const Value* value, Visit visit) {
  const json::Array* array = value == nullptr ? nullptr : value->as_array();
  if (array == nullptr) return;
  for (const Value& element : *array) visit(element);
}

std::vector<std::string> texts_in(const Value* value) {
  std::vector<std::string> texts;
  each_in(value, [&](const Value& element) {
    if (const auto* text = element.as_string()) texts.push_back(*text);
  });
  return texts;
}

// The enumerator whose to_string() is `name`, or `otherwise`.
template <class Enum>
Enum named(std::string_view name, Enum otherwise) {
  for (int number = 0; number <= static_cast<int>(record::most<Enum>); ++number) {
    if (to_string(static_cast<Enum>(number)) == name) return static_cast<Enum>(number);
  }
  return otherwise;
}

microseconds from_milliseconds(double time) {
  return microseconds(as_integer(std::round(time * 1000)));
}

// A remedy says to which number a limit can be raised, or that it is at its maximum.
double ceiling_in(const std::string& remedy) {
  double ceiling = 0;
  if (!remedy.starts_with("raise ")) return ceiling;
  const char* end = remedy.data() + remedy.size();
  std::from_chars(remedy.data() + remedy.rfind(' ') + 1, end, ceiling);
  return ceiling;
}

Outcome read_outcome(const Value& told) {
  Outcome outcome;
  outcome.code = code_of_today(text_member(&told, "code"));
  outcome.cause = text_member(&told, "cause");
  if (!is_there(member(told, "limit"))) return outcome;
  outcome.met = outcome.code == "out_of_memory" ? RequestLimit::memory : RequestLimit::time;
  outcome.limit = number_in(member(told, "limit"));
  outcome.used = number_in(member(told, "used"));
  outcome.ceiling = ceiling_in(text_member(&told, "remedy"));
  return outcome;
}

// Derives the outcome from the status, as far as that determines it.
Outcome outcome_of(const RunResult& result) {
  Outcome outcome;
  const auto is = [&](const char* code, std::string cause) {
    outcome.code = code;
    outcome.cause = "the program " + std::move(cause);
  };
  switch (result.status) {
    case Status::success:
    case Status::error:
      is(result.status == Status::success ? "success" : "exit_status",
         "ended with exit status " + std::to_string(result.exit_code.value_or(0)));
      break;
    case Status::timeout:
      is("timeout_wall", "used up its time");
      break;
    case Status::out_of_memory:
      is("out_of_memory", "needed more memory than it may have");
      break;
    case Status::killed:
      is(result.signal ? "signal" : "killed",
         result.signal ? "died of " + *result.signal : "was killed from outside of its jail");
      break;
    case Status::violation:
      is("policy_violation", "made a system call that is forbidden here");
      break;
    case Status::cancelled:
      outcome = cancelled_outcome();
      break;
  }
  return outcome;
}

void read_artifacts(const Value& answer, jail::Collection& artifacts) {
  each_in(member(answer, "artifacts"), [&](const Value& file) {
    auto content = json::decode_base64(text_member(&file, "base64"));
    artifacts.files.push_back({text_member(&file, "path"), std::move(content).value_or("")});
  });
  each_in(member(answer, "artifacts_skipped"), [&](const Value& file) {
    artifacts.skipped.push_back({text_member(&file, "path"), named(text_member(&file, "reason"),
                                                                   jail::SkipReason::unreadable)});
  });
  artifacts.skipped_total = integer_in<std::uint64_t>(member(answer, "artifacts_skipped_total"));
}

void read_network(const Value& answer, NetworkUse& network) {
  each_in(member(answer, "network"), [&](const Value& told) {
    network.decisions.push_back(
        {.kind = named(text_member(&told, "decision"), NetworkDecision::Kind::failed),
         .destination = text_member(&told, "destination"),
         .reason = text_member(&told, "reason"),
         .connections = integer_in<std::uint64_t>(member(told, "connections"))});
  });
  network.total = integer_in<std::uint64_t>(member(answer, "network_total"));
}

RunResult read_result(const Value& answer) {
  RunResult result;
  result.status = named(text_member(&answer, "status"), Status::error);
  if (is_there(member(answer, "exit_code"))) {
    result.exit_code = integer_in<int>(member(answer, "exit_code"));
  }
  if (is_there(member(answer, "signal"))) result.signal = text_member(&answer, "signal");
  const Value* told = member(answer, "outcome");
  result.outcome = is_there(told) ? read_outcome(*told) : outcome_of(result);
  result.standard_output = text_member(&answer, "stdout");
  result.standard_error = text_member(&answer, "stderr");
  result.stdout_truncated = flag_in(member(answer, "stdout_truncated"));
  result.stderr_truncated = flag_in(member(answer, "stderr_truncated"));
  result.warm = flag_in(member(answer, "warm"));
  result.template_name = text_member(&answer, "template");
  read_artifacts(answer, result.artifacts);
  const Value* timings = member(answer, "timings_us");
  result.timings = {microseconds(integer_in(member(timings, "queued"))),
                    microseconds(integer_in(member(timings, "started"))),
                    microseconds(integer_in(member(timings, "ran")))};
  result.usage.cpu_user = from_milliseconds(number_in(member(answer, "cpu_time_ms")));
  const double peak_mb = number_in(member(answer, "memory_peak_mb"));
  result.usage.memory_peak_bytes = as_integer<std::uint64_t>(std::round(peak_mb * (1u << 20)));
  const Value* limits = member(answer, "limits");
  const auto enforcer = [&](std::string_view limit) {
    return named(text_member(limits, limit), jail::Enforcer::none);
  };
  result.enforcement = {enforcer("memory"), enforcer("pids"), enforcer("cpu")};
  read_network(answer, result.network);
  return result;
}

llm::Usage read_usage(const Value& usage) {
  return {integer_in<std::uint64_t>(member(usage, "input_tokens")),
          integer_in<std::uint64_t>(member(usage, "output_tokens"))};
}

agent::Attempt read_attempt(const Value& told) {
  agent::Attempt attempt;
  attempt.number = integer_in<std::uint32_t>(member(told, "attempt"));
  attempt.candidate = integer_in<std::uint32_t>(member(told, "candidate"));
  attempt.code = text_member(&told, "code");
  attempt.reasoning = text_member(&told, "reasoning");
  attempt.dependencies = texts_in(member(told, "dependencies"));
  const Value* result = member(told, "execution_result");
  if (is_there(result)) attempt.result = read_result(*result);
  const Value* critique = member(told, "critique");
  if (is_there(critique)) {
    attempt.critique = {text_member(critique, "diagnosis"), text_member(critique, "fix"),
                        flag_in(member(critique, "should_retry")),
                        number_in(member(critique, "confidence"))};
  }
  each_in(member(told, "votes"), [&](const Value& vote) {
    attempt.votes.push_back({text_member(&vote, "role"), flag_in(member(vote, "approves")),
                             number_in(member(vote, "confidence")),
                             texts_in(member(vote, "findings"))});
  });
  if (const Value* usage = member(told, "usage")) attempt.usage = read_usage(*usage);
  return attempt;
}

agent::TaskResult read_task(const Value& answer) {
  agent::TaskResult task;
  task.status = named(text_member(&answer, "status"), agent::TaskStatus::failed);
  task.output = text_member(&answer, "output");
  task.code = text_member(&answer, "code");
  task.dependencies = texts_in(member(answer, "dependencies"));
  task.reasoning = text_member(&answer, "reasoning");
  task.attempts = integer_in<std::uint32_t>(member(answer, "attempts"));
  each_in(member(answer, "history"),
          [&](const Value& told) { task.history.push_back(read_attempt(told)); });
  read_artifacts(answer, task.artifacts);
  const Value* usage = member(answer, "usage");
  if (const auto* of_providers = usage == nullptr ? nullptr : usage->as_object()) {
    for (const auto& [provider, used] : *of_providers) task.usage[provider] = read_usage(used);
  }
  task.execution_time = std::chrono::milliseconds(integer_in(member(answer, "execution_time_ms")));
  task.error = text_member(&answer, "error");
  task.provider_status = integer_in<int>(member(answer, "provider_status"));
  return task;
}

}  // namespace

jail::Result<std::string> record_of_old_answer(OldAnswer kind, const std::string& answer) {
  const auto value = json::parse(answer, "a stored answer");
  if (!value) return value.error();
  if (value->as_object() == nullptr) {
    return jail::Error{jail::ErrorKind::invalid, "a stored answer is no object", 0, {}};
  }
  if (kind == OldAnswer::attempt) return encode_record(read_attempt(*value));
  if (kind == OldAnswer::task) return encode_record(read_task(*value));
  return encode_record(ProgramRecord{.result = read_result(*value)});
}

agent::TaskResult result_of_task_answer(const Value& answer) { return read_task(answer); }

RunResult result_of_answer(const Value& answer) { return read_result(answer); }

}  // namespace runtime
