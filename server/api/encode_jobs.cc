#include "server/api/encode_jobs.h"

#include <utility>

#include "runtime/json/utc_text.h"
#include "runtime/json/writer.h"
#include "runtime/service/kept_answer.h"

namespace server {
namespace {

using runtime::json::Writer;

void write_summary(Writer& writer, const runtime::JobSummary& summary) {
  writer.key("job_id").string(summary.id).key("kind").string(summary.kind);
  writer.key("status").string(summary.status);
  writer.key("language").string(summary.language);
  writer.key("code_sha256").string(summary.code_sha256);
  writer.key("created_at").string(runtime::json::utc_text(summary.created));
  writer.key("finished_at");
  summary.finished ? writer.string(runtime::json::utc_text(*summary.finished)) : writer.null();
  writer.key("execution_time_ms");
  summary.execution_time_ms ? writer.number(*summary.execution_time_ms) : writer.null();
  writer.key("error");
  summary.error.empty() ? writer.null() : writer.string(summary.error);
}

}  // namespace

std::string encode_jobs(const runtime::JobPage& page) {
  Writer writer;
  writer.begin_object().key("jobs").begin_array();
  for (const auto& summary : page.jobs) {
    writer.begin_object();
    write_summary(writer, summary);
    writer.end_object();
  }
  writer.end_array().key("next_cursor");
  page.next_cursor ? writer.string(*page.next_cursor) : writer.null();
  writer.end_object();
  return std::move(writer).take();
}

jail::Result<std::string> encode_job(const runtime::JobRecord& record) {
  const auto answer = runtime::kept_answer(record);
  if (!answer) return answer.error();
  const auto history = runtime::kept_history(record);
  if (!history) return history.error();
  Writer writer;
  writer.begin_object();
  write_summary(writer, record.summary);
  writer.key("result");
  *answer ? writer.json(**answer) : writer.null();
  writer.key("history");
  *history ? writer.json(**history) : writer.null();
  writer.end_object();
  return std::move(writer).take();
}

std::string encode_cancelling(std::string_view id) {
  Writer writer;
  writer.begin_object().key("job_id").string(id).key("cancelling").boolean(true).end_object();
  return std::move(writer).take();
}

}  // namespace server
