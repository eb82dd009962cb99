#include "runtime/service/kept_answer.h"

#include <utility>

#include "runtime/json/writer.h"
#include "runtime/service/records.h"
#include "runtime/service/result_json.h"
#include "runtime/service/task_json.h"

namespace runtime {
namespace {

Execution execution_of(const JobRecord& job) {
  return {.id = job.summary.id, .created = job.summary.created};
}

}  // namespace

jail::Result<std::optional<std::string>> kept_answer(const JobRecord& job) {
  if (job.record.empty()) return std::optional<std::string>();
  if (job.summary.kind == task_job) {
    const auto task = decode_task(job.record);
    if (!task) return task.error();
    const auto completed = job.summary.finished.value_or(job.summary.created);
    return std::optional(encode_task(*task, execution_of(job), completed));
  }
  const auto program = decode_program(job.record);
  if (!program) return program.error();
  return std::optional(encode_result(program->result, execution_of(job), program->encoding));
}

jail::Result<std::optional<std::string>> kept_history(const JobRecord& job) {
  if (job.summary.kind != task_job || !job.record.empty()) return std::optional<std::string>();
  json::Writer writer;
  writer.begin_array();
  for (const std::string& record : job.checkpoints) {
    const auto attempt = decode_attempt(record);
    if (!attempt) return attempt.error();
    writer.json(encode_attempt(*attempt, execution_of(job)));
  }
  writer.end_array();
  return std::optional(std::move(writer).take());
}

}  // namespace runtime
