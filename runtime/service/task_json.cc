#include "runtime/service/task_json.h"

#include <utility>

#include "runtime/json/utc_text.h"
#include "runtime/json/writer.h"
#include "runtime/service/result_json.h"

namespace runtime {
namespace {

using json::Writer;

void write_strings(Writer& writer, std::string_view name, const std::vector<std::string>& texts) {
  writer.key(name).begin_array();
  for (const std::string& text : texts) writer.string(text);
  writer.end_array();
}

void write_usage(Writer& writer, const llm::Usage& usage) {
  writer.begin_object();
  writer.key("input_tokens").integer(static_cast<std::int64_t>(usage.input_tokens));
  writer.key("output_tokens").integer(static_cast<std::int64_t>(usage.output_tokens));
  writer.end_object();
}

void write_critique(Writer& writer, const std::optional<agent::Critique>& critique) {
  writer.key("critique");
  if (!critique) {
    writer.null();
    return;
  }
  writer.begin_object().key("diagnosis").string(critique->diagnosis);
  writer.key("fix").string(critique->fix);
  writer.key("should_retry").boolean(critique->should_retry);
  writer.key("confidence").number(critique->confidence).end_object();
}

void write_votes(Writer& writer, const std::vector<agent::Vote>& votes) {
  writer.key("votes").begin_array();
  for (const agent::Vote& vote : votes) {
    writer.begin_object().key("role").string(vote.role);
    writer.key("approves").boolean(vote.approves);
    writer.key("confidence").number(vote.confidence);
    write_strings(writer, "findings", vote.findings);
    writer.end_object();
  }
  writer.end_array();
}

void shorten(std::string& output, bool& truncated) {
  if (output.size() <= max_history_output_bytes) return;
  output.resize(json::utf8_prefix(output, max_history_output_bytes).size());
  truncated = true;
}

void write_result(Writer& writer, const agent::Attempt& attempt, const Execution& execution) {
  writer.key("execution_result");
  if (!attempt.result) {
    writer.null();
    return;
  }
  writer.json(encode_result(shortened(*attempt.result), execution, OutputEncoding::utf8));
}

void write_or_null(Writer& writer, std::string_view name, const std::string& text) {
  writer.key(name);
  text.empty() ? writer.null() : writer.string(text);
}

}  // namespace

RunResult shortened(RunResult result) {
  shorten(result.standard_output, result.stdout_truncated);
  shorten(result.standard_error, result.stderr_truncated);
  result.artifacts = {};
  return result;
}

std::string encode_attempt(const agent::Attempt& attempt, const Execution& execution) {
  Writer writer;
  writer.begin_object().key("attempt").integer(attempt.number);
  writer.key("candidate").integer(attempt.candidate);
  writer.key("code").string(attempt.code).key("reasoning").string(attempt.reasoning);
  write_strings(writer, "dependencies", attempt.dependencies);
  write_result(writer, attempt, execution);
  write_critique(writer, attempt.critique);
  write_votes(writer, attempt.votes);
  writer.key("usage");
  write_usage(writer, attempt.usage);
  writer.end_object();
  return std::move(writer).take();
}

std::string encode_task(const agent::TaskResult& result, const Execution& execution,
                        std::chrono::system_clock::time_point completed) {
  Writer writer;
  writer.begin_object().key("job_id").string(execution.id);
  writer.key("status").string(agent::to_string(result.status));
  writer.key("success").boolean(result.success());
  writer.key("output").string(result.output).key("code").string(result.code);
  write_strings(writer, "dependencies", result.dependencies);
  writer.key("reasoning").string(result.reasoning);
  writer.key("attempts").integer(result.attempts);
  writer.key("history").begin_array();
  for (const agent::Attempt& attempt : result.history)
    writer.json(encode_attempt(attempt, execution));
  writer.end_array();
  write_artifacts(writer, result.artifacts);
  writer.key("usage").begin_object();
  for (const auto& [provider, usage] : result.usage) {
    writer.key(provider);
    write_usage(writer, usage);
  }
  writer.end_object();
  writer.key("execution_time_ms").integer(result.execution_time.count());
  write_or_null(writer, "error", result.error);
  writer.key("provider_status");
  result.provider_status > 0 ? writer.integer(result.provider_status) : writer.null();
  writer.key("created_at").string(json::utc_text(execution.created));
  writer.key("completed_at").string(json::utc_text(completed)).end_object();
  return std::move(writer).take();
}

}  // namespace runtime
