#include "server/api/tasks.h"

#include <chrono>
#include <utility>

#include "runtime/store/digest.h"
#include "server/api/encode_task.h"

namespace server {
namespace {

namespace agent = runtime::agent;

runtime::JobStart start_of(const agent::TaskRequest& request, const Caller& caller,
                           const Job& job) {
  runtime::JobStart start;
  start.id = job.id;
  start.owner = caller.principal.tenant;
  start.kind = runtime::task_job;
  start.language = runtime::name_of(runtime::Language::python);
  start.code_sha256 = runtime::sha256(request.task);
  start.created = job.created;
  return start;
}

// Of an attempt that is told again only what is kept changes: it is counted once.
void keep_attempt(const Services& services, const Job& job, std::size_t& told, std::size_t place,
                  const agent::Attempt& attempt) {
  services.jobs.checkpoint(job.id, place, encode_attempt(attempt, job));
  if (place < told) return;
  told = place + 1;
  if (!attempt.result) return;
  const runtime::Timings& timings = attempt.result->timings;
  count_program(services.metrics, *attempt.result, runtime::name_of(runtime::Language::python),
                timings.queued + timings.started + timings.ran);
}

}  // namespace

boost::asio::awaitable<std::variant<RanTask, Response>> run_task(Services services, Caller caller,
                                                                 Job job,
                                                                 agent::TaskRequest request,
                                                                 agent::TaskOptions options) {
  const auto claim = services.runner.claim(caller.principal.tenant);
  if (!claim) {
    services.metrics.rejected.add({"concurrency"});
    co_return too_many_of_a_caller();
  }
  services.jobs.begin(start_of(request, caller, job), options.cancel);
  options.caller = caller.principal.tenant;
  std::size_t told = 0;
  options.on_attempt = [&](std::size_t place, const agent::Attempt& attempt) {
    keep_attempt(services, job, told, place, attempt);
  };
  const auto result = co_await services.agent->run(std::move(request), std::move(options));
  const auto completed = std::chrono::system_clock::now();
  const std::string_view status = agent::to_string(result.status);
  services.metrics.tasks.add({status});
  services.logger.info("task", {{"request_id", caller.request_id},
                                {"job_id", job.id},
                                {"status", status},
                                {"attempts", std::int64_t{result.attempts}},
                                {"error", result.error}});
  if (!result.host_error.empty()) {
    services.logger.error(
        "run failed",
        {{"request_id", caller.request_id}, {"job_id", job.id}, {"error", result.host_error}});
  }
  RanTask ran{result.status, encode_task(result, job, completed)};
  runtime::JobEnd end;
  end.status = status;
  end.execution_time_ms = static_cast<double>(result.execution_time.count());
  end.result = ran.result;
  end.error = result.error;
  end.finished = completed;
  services.jobs.end(job.id, std::move(end));
  co_return ran;
}

}  // namespace server
