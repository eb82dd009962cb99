#include "server/api/programs.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "runtime/store/digest.h"

namespace server {
namespace {

using Clock = std::chrono::steady_clock;

// Why a program that nothing is wrong with was not run, or nothing where that is not it.
std::optional<Response> turned_away(const runtime::RunnerState& state, const jail::Error& error) {
  std::string detail;
  ProblemFacts facts;
  if (error.kind == jail::ErrorKind::timed_out) {
    facts.code = "too_slow";
    detail = "the program could not be started in time: the host is too busy; try again";
  } else if (error.kind != jail::ErrorKind::exhausted) {
    return std::nullopt;
  } else if (error.sys_errno != 0) {
    facts.code = "host_exhausted";
    detail = "the host has no room for another program; try again";
  } else {
    facts.code = "busy";
    facts.limit = std::int64_t{state.max_running} + state.max_queued;
    facts.used = std::int64_t{state.running} + state.queued;
    detail = "too many programs run or wait; try again";
  }
  facts.remedy = "try again after the seconds of Retry-After, with fewer requests at a time";
  return problem(503, detail, {{"Retry-After", "1"}}, facts);
}

Response not_run(Services& services, const Caller& caller, const Job& job,
                 std::string_view language, const jail::Error& error) {
  const auto why = error.message();
  if (auto answer = turned_away(services.runner.state(), error)) {
    services.logger.warning(
        "program turned away",
        {{"request_id", caller.request_id}, {"job_id", job.id}, {"reason", why}});
    services.jobs.forget(job.id);
    services.metrics.rejected.add({"busy"});
    return std::move(*answer);
  }
  services.logger.error("run failed",
                        {{"request_id", caller.request_id}, {"job_id", job.id}, {"error", why}});
  // The reason may name paths of the host.
  const std::string text =
      "the program could not be started; the server's log has the reason under this request's id";
  runtime::JobEnd end;
  end.status = runtime::job_failed;
  end.error = text;
  end.finished = std::chrono::system_clock::now();
  services.jobs.end(job.id, std::move(end));
  services.metrics.outcomes.add({runtime::job_failed, language});
  return problem(500, text);
}

}  // namespace

void count_program(runtime::Metrics& metrics, const runtime::RunResult& result,
                   std::string_view language, std::chrono::microseconds total) {
  metrics.queued.observe(result.timings.queued);
  // A program that was cancelled before it started has not been timed.
  if (result.timings.started.count() > 0) {
    metrics.started.observe(result.timings.started);
    (result.warm ? metrics.started_warm : metrics.started_cold).observe(result.timings.started);
    metrics.ran.observe(result.timings.ran);
  }
  metrics.total.observe(total);
  metrics.outcomes.add({runtime::to_string(result.status), language});
}

Response too_many_of_a_caller() {
  return problem(429, "too many programs of this caller run or wait; try again when one has ended",
                 {{"Retry-After", "1"}}, {.code = "caller_limit"});
}

boost::asio::awaitable<std::variant<Ran, Response>> run_program(Services services, Caller caller,
                                                                Job job,
                                                                runtime::RunRequest request,
                                                                runtime::RunOptions options) {
  const auto claim = services.runner.claim(caller.principal.tenant);
  if (!claim) {
    services.metrics.rejected.add({"concurrency"});
    co_return too_many_of_a_caller();
  }
  const auto began = Clock::now();
  const auto encoding = request.output_encoding;
  const std::string_view language = runtime::name_of(request.language);
  runtime::JobStart start;
  start.id = job.id;
  start.owner = caller.principal.tenant;
  start.language = language;
  start.code_sha256 = runtime::sha256(request.code);
  start.created = job.created;
  services.jobs.begin(std::move(start), options.cancel);
  options.caller = caller.principal.tenant;
  request.network.label = job.id;
  auto result = co_await services.runner.run(std::move(request), std::move(options));
  if (!result) co_return not_run(services, caller, job, language, result.error());
  count_program(services.metrics, *result, language,
                std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - began));
  services.logger.info("run", {{"request_id", caller.request_id},
                               {"job_id", job.id},
                               {"status", runtime::to_string(result->status)},
                               {"start", result->warm ? "warm" : "cold"}});
  Ran ran{result->status, encode_result(*result, job, encoding)};
  runtime::JobEnd end;
  end.status = runtime::to_string(result->status);
  const auto took = result->timings.started + result->timings.ran;
  end.execution_time_ms = static_cast<double>(took.count()) / 1000;
  end.result = ran.result;
  end.finished = std::chrono::system_clock::now();
  services.jobs.end(job.id, std::move(end));
  co_return ran;
}

}  // namespace server
