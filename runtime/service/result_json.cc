#include "runtime/service/result_json.h"

#include <cmath>

#include "runtime/json/utc_text.h"
#include "runtime/json/writer.h"
#include "runtime/service/media_type.h"

namespace runtime {
namespace {

using json::Writer;

void write_output(Writer& writer, std::string_view name, std::string_view bytes,
                  OutputEncoding encoding) {
  writer.key(name);
  if (encoding == OutputEncoding::base64) {
    writer.base64(bytes);
  } else {
    writer.string(bytes);
  }
}

}  // namespace

// JSON cannot represent a name that is not UTF-8, so that two such files could not be
// distinguished.
void write_artifacts(Writer& writer, const jail::Collection& artifacts) {
  writer.key("artifacts").begin_array();
  for (const jail::CollectedFile& file : artifacts.files) {
    if (!json::is_utf8(file.path)) continue;
    writer.begin_object().key("path").string(file.path);
    writer.key("size").integer(static_cast<std::int64_t>(file.content.size()));
    writer.key("media_type").string(media_type_of(file.path));
    writer.key("base64").base64(file.content).end_object();
  }
  writer.end_array();
  auto skipped_total = static_cast<std::int64_t>(artifacts.skipped_total);
  const auto write_skipped = [&](std::string_view path, std::string_view reason) {
    writer.begin_object().key("path").string(path).key("reason").string(reason).end_object();
  };
  writer.key("artifacts_skipped").begin_array();
  for (const jail::CollectedFile& file : artifacts.files) {
    if (json::is_utf8(file.path)) continue;
    write_skipped(file.path, "its name is not UTF-8");
    ++skipped_total;
  }
  for (const jail::SkippedFile& file : artifacts.skipped) {
    write_skipped(file.path, jail::to_string(file.reason));
  }
  writer.end_array();
  writer.key("artifacts_skipped_total").integer(skipped_total);
}

namespace {

void write_network(Writer& writer, const NetworkUse& network) {
  writer.key("network").begin_array();
  for (const NetworkDecision& told : network.decisions) {
    writer.begin_object().key("destination").string(told.destination);
    writer.key("decision").string(to_string(told.kind)).key("reason").string(told.reason);
    writer.key("connections").integer(static_cast<std::int64_t>(told.connections)).end_object();
  }
  writer.end_array();
  writer.key("network_total").integer(static_cast<std::int64_t>(network.total));
}

}  // namespace

void write_outcome(Writer& writer, const Outcome& outcome, const LimitNames& names) {
  writer.begin_object().key("code").string(outcome.code).key("cause").string(outcome.cause);
  const auto write_number = [&](std::string_view name, double number) {
    writer.key(name);
    outcome.met ? writer.number(number) : writer.null();
  };
  write_number("limit", outcome.limit);
  write_number("used", outcome.used);
  const std::string remedy = remedy_of(outcome, names);
  writer.key("remedy");
  remedy.empty() ? writer.null() : writer.string(remedy);
  writer.end_object();
}

void write_limits(json::Writer& writer, const jail::Enforcement& enforcement) {
  writer.key("limits").begin_object();
  writer.key("memory").string(jail::to_string(enforcement.memory));
  writer.key("pids").string(jail::to_string(enforcement.processes));
  writer.key("cpu").string(jail::to_string(enforcement.cpu)).end_object();
}

double milliseconds(std::chrono::microseconds duration) {
  return static_cast<double>(duration.count()) / 1000;
}

std::string encode_result(const RunResult& result, const Execution& execution,
                          OutputEncoding encoding) {
  const Timings& timings = result.timings;
  Writer writer;
  writer.begin_object();
  writer.key("job_id").string(execution.id).key("status").string(to_string(result.status));
  writer.key("success").boolean(result.status == Status::success);
  writer.key("outcome");
  write_outcome(writer, result.outcome);
  writer.key("exit_code");
  result.exit_code ? writer.integer(*result.exit_code) : writer.null();
  writer.key("signal");
  result.signal ? writer.string(*result.signal) : writer.null();
  write_output(writer, "stdout", result.standard_output, encoding);
  write_output(writer, "stderr", result.standard_error, encoding);
  writer.key("stdout_truncated").boolean(result.stdout_truncated);
  writer.key("stderr_truncated").boolean(result.stderr_truncated);
  writer.key("output_encoding").string(name_of(encoding));
  writer.key("execution_time_ms").number(milliseconds(timings.started + timings.ran));
  writer.key("cpu_time_ms").number(milliseconds(result.usage.cpu_user + result.usage.cpu_system));
  const double peak_mb = static_cast<double>(result.usage.memory_peak_bytes) / (1u << 20);
  writer.key("memory_peak_mb").number(std::round(peak_mb * 100) / 100);
  writer.key("warm").boolean(result.warm);
  writer.key("template");
  result.template_name.empty() ? writer.null() : writer.string(result.template_name);
  writer.key("timings_us").begin_object();
  writer.key("queued").integer(timings.queued.count());
  writer.key("started").integer(timings.started.count());
  writer.key("ran").integer(timings.ran.count()).end_object();
  write_limits(writer, result.enforcement);
  write_artifacts(writer, result.artifacts);
  write_network(writer, result.network);
  writer.key("created_at").string(json::utc_text(execution.created)).end_object();
  return std::move(writer).take();
}

}  // namespace runtime
