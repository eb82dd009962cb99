// /stats and /metrics: the same figures for people and for Prometheus.
#include <cmath>
#include <map>
#include <utility>

#include "runtime/json/writer.h"
#include "runtime/observe/prometheus.h"
#include "runtime/service/result_json.h"
#include "server/api/api.h"

namespace server {
namespace {

using runtime::json::Writer;

void write_counts(Writer& writer, const std::map<std::string, std::uint64_t>& counts) {
  writer.begin_object();
  for (const auto& [name, count] : counts) {
    writer.key(name).integer(static_cast<std::int64_t>(count));
  }
  writer.end_object();
}

// Sums over all labels except the one at `place`.
std::map<std::string, std::uint64_t> counts_by(const runtime::Counters& counters,
                                               std::size_t place) {
  std::map<std::string, std::uint64_t> sums;
  for (const auto& [labels, count] : counters.all()) sums[labels.at(place)] += count;
  return sums;
}

void write_latency(Writer& writer, const runtime::Histogram& histogram) {
  const auto count = histogram.count();
  const double sum = runtime::milliseconds(histogram.sum());
  writer.begin_object().key("count").integer(static_cast<std::int64_t>(count));
  writer.key("mean").number(
      count == 0 ? 0 : std::round(sum / static_cast<double>(count) * 1000) / 1000);
  writer.key("p50").number(runtime::milliseconds(histogram.percentile(0.50)));
  writer.key("p90").number(runtime::milliseconds(histogram.percentile(0.90)));
  writer.key("p99").number(runtime::milliseconds(histogram.percentile(0.99))).end_object();
}

void write_pool_counts(Writer& writer, const std::vector<runtime::PoolReport>& pools) {
  writer.key("pools").begin_object();
  for (const runtime::PoolReport& pool : pools) {
    writer.key(pool.name).begin_object();
    writer.key("leases").integer(static_cast<std::int64_t>(pool.state.leases));
    writer.key("misses").integer(static_cast<std::int64_t>(pool.state.misses));
    writer.key("cold").integer(static_cast<std::int64_t>(pool.cold));
    writer.key("failures").integer(static_cast<std::int64_t>(pool.state.failures)).end_object();
  }
  writer.end_object();
}

// Writes a family with a sample for each pool.
void add_pools(runtime::PrometheusText& text, const std::vector<runtime::PoolReport>& pools) {
  struct Figure {
    std::string_view name;
    std::string_view type;
    std::string_view help;
    double (*value)(const runtime::PoolReport&);
  };
  using Report = runtime::PoolReport;
  const Figure figures[] = {
      {"agent_sandbox_pool_ready", "gauge", "Jails that wait.",
       [](const Report& pool) { return static_cast<double>(pool.state.ready); }},
      {"agent_sandbox_pool_target", "gauge", "How many jails the pool wants to wait.",
       [](const Report& pool) { return static_cast<double>(pool.state.target); }},
      {"agent_sandbox_pool_leased", "gauge", "Jails of the pool that run a program.",
       [](const Report& pool) { return static_cast<double>(pool.state.leased); }},
      {"agent_sandbox_pool_leases_total", "counter", "Jails that were given to a request.",
       [](const Report& pool) { return static_cast<double>(pool.state.leases); }},
      {"agent_sandbox_pool_misses_total", "counter",
       "Of these, made on demand because none was ready.",
       [](const Report& pool) { return static_cast<double>(pool.state.misses); }},
      {"agent_sandbox_pool_cold_total", "counter",
       "Requests that got a jail of their own because the pool had none.",
       [](const Report& pool) { return static_cast<double>(pool.cold); }},
      {"agent_sandbox_pool_failures_total", "counter", "Jails and zygotes that could not be made.",
       [](const Report& pool) { return static_cast<double>(pool.state.failures); }},
      {"agent_sandbox_pool_zygotes_total", "counter", "Warm interpreters started so far.",
       [](const Report& pool) { return static_cast<double>(pool.state.zygotes); }},
  };
  if (pools.empty()) return;
  for (const Figure& figure : figures) {
    text.family(figure.name, figure.type, figure.help);
    for (const Report& pool : pools) text.sample({{"template", pool.name}}, figure.value(pool));
  }
}

}  // namespace

Response Api::stats() const {
  const runtime::RunnerState state = services_.runner.state();
  const runtime::Metrics& metrics = services_.metrics;
  Writer writer;
  writer.begin_object().key("version").string(options_.version);
  writer.key("uptime_seconds").number(std::round(uptime().count() * 1000) / 1000);
  writer.key("runs").begin_object();
  writer.key("running").integer(state.running).key("queued").integer(state.queued);
  writer.key("total").integer(static_cast<std::int64_t>(state.total)).end_object();
  writer.key("by_status");
  write_counts(writer, counts_by(metrics.outcomes, 0));
  writer.key("by_language");
  write_counts(writer, counts_by(metrics.outcomes, 1));
  writer.key("tasks");
  write_counts(writer, counts_by(metrics.tasks, 0));
  writer.key("rejected");
  write_counts(writer, counts_by(metrics.rejected, 0));
  writer.key("latency_ms").begin_object();
  for (const auto& phase : metrics.phases()) {
    writer.key(phase.name);
    write_latency(writer, phase.histogram);
  }
  writer.end_object();
  writer.key("started_ms").begin_object();
  writer.key("warm");
  write_latency(writer, metrics.started_warm);
  writer.key("cold");
  write_latency(writer, metrics.started_cold);
  writer.end_object();
  write_pool_counts(writer, state.pools);
  writer.key("job_store_errors").integer(static_cast<std::int64_t>(services_.jobs.errors()));
  writer.end_object();
  Response response;
  response.body = std::move(writer).take();
  return response;
}

Response Api::metrics() const {
  const runtime::RunnerState state = services_.runner.state();
  const runtime::Metrics& metrics = services_.metrics;
  runtime::PrometheusText text;
  text.family("agent_sandbox_build_info", "gauge", "What is running; always 1.")
      .sample({{"version", options_.version}}, 1);
  text.family("agent_sandbox_running", "gauge", "Programs that run now.").sample({}, state.running);
  text.family("agent_sandbox_queued", "gauge", "Programs that wait for a place.")
      .sample({}, state.queued);
  text.family("agent_sandbox_draining", "gauge", "1 once no program is taken any more.")
      .sample({}, is_draining() ? 1 : 0);
  text.family("agent_sandbox_runs_total", "counter", "Programs that ended, by what became of them.")
      .counters({"status", "language"}, metrics.outcomes);
  text.family("agent_sandbox_tasks_total", "counter", "Tasks that ended, by what became of them.")
      .counters({"status"}, metrics.tasks);
  text.family("agent_sandbox_rejected_total", "counter",
              "What was answered 429 or 503, by the reason.")
      .counters({"reason"}, metrics.rejected);
  text.family("agent_sandbox_http_responses_total", "counter", "Answers over HTTP.")
      .counters({"route", "status"}, metrics.responses);
  text.family("agent_sandbox_webhook_tries_total", "counter",
              "Tries to deliver an event to a webhook, by what became of them.")
      .counters({"outcome"}, metrics.webhooks);
  text.family("agent_sandbox_phase_seconds", "histogram",
              "How long programs waited (queued), were set up (started) and ran, and all of it.");
  for (const auto& phase : metrics.phases())
    text.histogram({{"phase", phase.name}}, phase.histogram);
  text.family("agent_sandbox_started_seconds", "histogram",
              "The phase started, of warm and of cold runs.");
  text.histogram({{"start", "warm"}}, metrics.started_warm);
  text.histogram({{"start", "cold"}}, metrics.started_cold);
  add_pools(text, state.pools);
  text.family("agent_sandbox_job_store_errors_total", "counter", "Jobs that could not be stored.")
      .sample({}, static_cast<double>(services_.jobs.errors()));
  runtime::write_process(text);
  Response response;
  response.content_type = runtime::prometheus_media_type;
  response.body = std::move(text).take();
  return response;
}

}  // namespace server
