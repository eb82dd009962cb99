#include "runtime/service/programs.h"

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "runtime/sandbox/acquisition.h"
#include "runtime/sandbox/jail_handle.h"
#include "runtime/service/records.h"
#include "runtime/service/result_json.h"
#include "runtime/store/digest.h"

namespace runtime {
namespace {

using Clock = std::chrono::steady_clock;

// The refusal of a program that is valid but could not be admitted; std::nullopt for any other
// error.
std::optional<Refusal> turned_away(const RunnerState& state, const jail::Error& error) {
  Refusal refusal;
  if (error.kind == jail::ErrorKind::timed_out) {
    refusal.code = RefusalCode::too_slow;
    refusal.detail = "the program could not be started in time: the host is too busy; try again";
  } else if (error.kind != jail::ErrorKind::exhausted) {
    return std::nullopt;
  } else if (is_shortage(error)) {
    refusal.code = RefusalCode::host_exhausted;
    refusal.detail = "the host has no room for another program; try again";
  } else {
    refusal.code = RefusalCode::busy;
    refusal.limit = std::int64_t{state.max_running} + state.max_queued;
    refusal.used = std::int64_t{state.running} + state.queued;
    refusal.detail = error.doing.ends_with(no_jail_of_template)
                         ? std::string(no_jail_of_template) + "; try again, or name no template"
                         : "too many programs run or wait; try again";
  }
  return refusal;
}

Refusal not_run(Services& services, const Caller& caller, const Execution& execution,
                std::string_view language, const jail::Error& error) {
  const auto why = error.message();
  if (auto refusal = turned_away(services.runner.state(), error)) {
    services.logger.warning(
        "program turned away",
        {{"request_id", caller.request_id}, {"job_id", execution.id}, {"reason", why}});
    services.jobs.forget(execution.id);
    services.metrics.rejected.add({name_of(refusal->code)});
    return std::move(*refusal);
  }
  services.logger.error(
      "run failed", {{"request_id", caller.request_id}, {"job_id", execution.id}, {"error", why}});
  // The caller does not get the reason, which may name paths of the host.
  const std::string text =
      "the program could not be started; the server's log has the reason under this request's id";
  JobEnd end;
  end.status = job_failed;
  end.error = text;
  end.finished = std::chrono::system_clock::now();
  services.jobs.end(execution.id, std::move(end));
  services.metrics.outcomes.add({job_failed, language});
  return {.code = RefusalCode::internal_server_error, .detail = text};
}

}  // namespace

void count_program(Metrics& metrics, const RunResult& result, std::string_view language,
                   std::chrono::microseconds total) {
  metrics.queued.observe(result.timings.queued);
  // A program that was cancelled before it started has no timings.
  if (result.timings.started.count() > 0) {
    metrics.started.observe(result.timings.started);
    (result.warm ? metrics.started_warm : metrics.started_cold).observe(result.timings.started);
    metrics.ran.observe(result.timings.ran);
  }
  metrics.total.observe(total);
  metrics.outcomes.add({to_string(result.status), language});
}

Refusal too_many_of_a_caller(Metrics& metrics, const Runner& runner) {
  metrics.rejected.add({"concurrency"});
  const std::int64_t limit{runner.state().max_of_a_caller};
  return {.code = RefusalCode::caller_limit,
          .detail = "too many programs of this caller run or wait; try again when one has ended",
          .limit = limit,
          .used = limit};
}

boost::asio::awaitable<std::variant<ProgramOutcome, Refusal>> run_program(
    Services services, Caller caller, Execution execution, RunRequest request, RunOptions options) {
  const std::string& tenant = caller.principal.tenant;
  const auto claim = services.runner.claim(tenant);
  if (!claim) co_return too_many_of_a_caller(services.metrics, services.runner);
  const auto began = Clock::now();
  const auto encoding = request.output_encoding;
  const std::string_view language = name_of(request.language);
  std::optional<LiveJob> live;
  if (services.live_jobs != nullptr) {
    const LiveJob::Identity identity{execution, tenant, code_job, language, encoding};
    live.emplace(*services.live_jobs, identity).listen_to(options);
  }
  JobStart start;
  start.id = execution.id;
  start.owner = tenant;
  start.language = language;
  start.code_sha256 = sha256(request.code);
  start.created = execution.created;
  services.jobs.begin(std::move(start), options.cancel);
  const bool result_first = options.result_first;
  options.caller = tenant;
  request.network.label = execution.id;
  auto result = co_await services.runner.run(std::move(request), std::move(options));
  if (!result) co_return not_run(services, caller, execution, language, result.error());
  count_program(services.metrics, *result, language,
                std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - began));
  auto tell = [&logger = services.logger, request_id = caller.request_id, job_id = execution.id,
               status = to_string(result->status), start = result->warm ? "warm" : "cold"] {
    logger.info(
        "run",
        {{"request_id", request_id}, {"job_id", job_id}, {"status", status}, {"start", start}});
  };
  if (result_first) {
    const auto executor = co_await boost::asio::this_coro::executor;
    boost::asio::post(executor, std::move(tell));
  } else {
    tell();
  }
  ProgramOutcome outcome{result->status, encode_result(*result, execution, encoding)};
  JobEnd end;
  end.status = to_string(result->status);
  const auto took = result->timings.started + result->timings.ran;
  end.execution_time_ms = static_cast<double>(took.count()) / 1000;
  end.record = encode_record(ProgramRecord{std::move(*result), encoding});
  end.finished = std::chrono::system_clock::now();
  services.jobs.end(execution.id, std::move(end));
  co_await services.jobs.settle();
  co_return outcome;
}

}  // namespace runtime
