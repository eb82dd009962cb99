#include "server/api/encode.h"

#include <cmath>
#include <string_view>

#include "runtime/json/writer.h"
#include "server/api/media_type.h"
#include "server/http/uuid.h"

namespace server {
namespace {

using runtime::json::Writer;

void write_output(Writer& writer, std::string_view name, std::string_view bytes,
                  runtime::OutputEncoding encoding) {
  writer.key(name);
  if (encoding == runtime::OutputEncoding::base64) {
    writer.base64(bytes);
  } else {
    writer.string(bytes);
  }
}

void write_limits(Writer& writer, const jail::Enforcement& enforcement) {
  writer.key("limits").begin_object();
  writer.key("memory").string(jail::to_string(enforcement.memory));
  writer.key("pids").string(jail::to_string(enforcement.processes));
  writer.key("cpu").string(jail::to_string(enforcement.cpu)).end_object();
}

// Versions by program; null for what is there but says none, and nothing for what is not there.
void write_root(Writer& writer, const runtime::ProgramRoot& root) {
  writer.key("root").begin_object();
  writer.key("kind").string(root.kind == runtime::ProgramRoot::Kind::built ? "built" : "host");
  for (const auto& [program, version] : root.versions) {
    writer.key(program == "python3" ? "python" : program);
    version.empty() ? writer.null() : writer.string(version);
  }
  writer.end_object();
}

// What an interpreter says at last is the error; above it stand lines and paths of a template's
// code, which are for the log alone.
std::string_view last_line(std::string_view text) {
  const std::size_t end = text.find_last_not_of("\r\n");
  if (end == std::string_view::npos) return {};
  text = text.substr(0, end + 1);
  const std::size_t before = text.find_last_of('\n');
  return before == std::string_view::npos ? text : text.substr(before + 1);
}

// By template.
void write_pools(Writer& writer, const std::vector<runtime::PoolReport>& pools) {
  writer.key("pools").begin_object();
  for (const runtime::PoolReport& pool : pools) {
    writer.key(pool.name).begin_object();
    writer.key("warm").integer(pool.state.ready).key("leased").integer(pool.state.leased);
    writer.key("refilling").integer(pool.state.refilling);
    writer.key("target").integer(pool.state.target);
    writer.key("zygotes").integer(static_cast<std::int64_t>(pool.state.zygotes));
    writer.key("misses").integer(static_cast<std::int64_t>(pool.state.misses));
    if (!pool.state.trouble.empty()) writer.key("trouble").string(last_line(pool.state.trouble));
    writer.end_object();
  }
  writer.end_object();
}

// JSON has no way to write a name that is not UTF-8, so that such a file could not be told from
// another one.
void write_artifacts(Writer& writer, const jail::Collection& artifacts) {
  writer.key("artifacts").begin_array();
  for (const jail::CollectedFile& file : artifacts.files) {
    if (!runtime::json::is_utf8(file.path)) continue;
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
    if (runtime::json::is_utf8(file.path)) continue;
    write_skipped(file.path, "its name is not UTF-8");
    ++skipped_total;
  }
  for (const jail::SkippedFile& file : artifacts.skipped) {
    write_skipped(file.path, jail::to_string(file.reason));
  }
  writer.end_array();
  writer.key("artifacts_skipped_total").integer(skipped_total);
}

void write_outcome(Writer& writer, const runtime::Outcome& outcome) {
  writer.begin_object().key("code").string(outcome.code).key("cause").string(outcome.cause);
  const auto write_number = [&](std::string_view name, double number) {
    writer.key(name);
    outcome.met ? writer.number(number) : writer.null();
  };
  write_number("limit", outcome.limit);
  write_number("used", outcome.used);
  const std::string remedy = runtime::remedy_of(outcome);
  writer.key("remedy");
  remedy.empty() ? writer.null() : writer.string(remedy);
  writer.end_object();
}

}  // namespace

double milliseconds(std::chrono::microseconds duration) {
  return static_cast<double>(duration.count()) / 1000;
}

Job make_job() { return {.id = make_uuid(), .created = std::chrono::system_clock::now()}; }

std::string encode_result(const runtime::RunResult& result, const Job& job,
                          runtime::OutputEncoding encoding) {
  const runtime::Timings& timings = result.timings;
  Writer writer;
  writer.begin_object();
  writer.key("job_id").string(job.id).key("status").string(runtime::to_string(result.status));
  writer.key("success").boolean(result.status == runtime::Status::success);
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
  writer.key("created_at").string(utc_text(job.created)).end_object();
  return std::move(writer).take();
}

std::string encode_health(std::string_view status, const std::optional<HealthDetails>& details) {
  Writer writer;
  writer.begin_object().key("status").string(status);
  if (details) {
    writer.key("version").string(details->version);
    writer.key("uptime_seconds").number(std::round(details->uptime.count() * 1000) / 1000);
    write_pools(writer, details->runner.pools);
    writer.key("runs").begin_object();
    writer.key("running").integer(details->runner.running);
    writer.key("queued").integer(details->runner.queued);
    writer.key("total").integer(static_cast<std::int64_t>(details->runner.total)).end_object();
    write_limits(writer, details->runner.enforcement);
    write_root(writer, details->root);
  }
  writer.end_object();
  return std::move(writer).take();
}

}  // namespace server
