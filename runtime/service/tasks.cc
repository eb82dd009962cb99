#include "runtime/service/tasks.h"

#include <chrono>
#include <optional>
#include <utility>

#include "runtime/service/programs.h"
#include "runtime/service/records.h"
#include "runtime/service/task_json.h"
#include "runtime/store/digest.h"

namespace runtime {
namespace {

JobStart start_of(const agent::TaskRequest& request, const Caller& caller,
                  const Execution& execution) {
  JobStart start;
  start.id = execution.id;
  start.owner = caller.principal.tenant;
  start.kind = task_job;
  start.language = name_of(Language::python);
  start.code_sha256 = sha256(request.task);
  start.created = execution.created;
  return start;
}

void cut_output(agent::Attempt& attempt) {
  if (attempt.result) attempt.result = shortened(*std::move(attempt.result));
}

// For an attempt that is reported again only its record changes: it is counted once.
void keep_attempt(const Services& services, const Execution& execution, std::size_t& told,
                  std::size_t place, const agent::Attempt& attempt) {
  agent::Attempt kept = attempt;
  cut_output(kept);
  services.jobs.checkpoint(execution.id, place, encode_record(kept));
  if (place < told) return;
  told = place + 1;
  if (!attempt.result) return;
  const Timings& timings = attempt.result->timings;
  count_program(services.metrics, *attempt.result, name_of(Language::python),
                timings.queued + timings.started + timings.ran);
}

}  // namespace

boost::asio::awaitable<std::variant<TaskOutcome, Refusal>> run_task(Services services,
                                                                    Caller caller,
                                                                    Execution execution,
                                                                    agent::TaskRequest request,
                                                                    agent::TaskOptions options) {
  const auto claim = services.runner.claim(caller.principal.tenant);
  if (!claim) co_return too_many_of_a_caller(services.metrics, services.runner);
  std::optional<LiveJob> live;
  if (services.live_jobs != nullptr) {
    const LiveJob::Identity identity{execution, caller.principal.tenant, task_job,
                                     name_of(Language::python)};
    live.emplace(*services.live_jobs, identity).listen_to(options);
  }
  services.jobs.begin(start_of(request, caller, execution), options.cancel);
  options.caller = caller.principal.tenant;
  std::size_t told = 0;
  options.on_attempt = [&](std::size_t place, const agent::Attempt& attempt) {
    keep_attempt(services, execution, told, place, attempt);
  };
  auto result = co_await services.agent->run(std::move(request), std::move(options));
  const auto completed = std::chrono::system_clock::now();
  const std::string_view status = agent::to_string(result.status);
  services.metrics.tasks.add({status});
  services.logger.info("task", {{"request_id", caller.request_id},
                                {"job_id", execution.id},
                                {"status", status},
                                {"attempts", std::int64_t{result.attempts}},
                                {"error", result.error}});
  if (!result.host_error.empty()) {
    services.logger.error("run failed", {{"request_id", caller.request_id},
                                         {"job_id", execution.id},
                                         {"error", result.host_error}});
  }
  TaskOutcome outcome{result.status, encode_task(result, execution, completed)};
  JobEnd end;
  end.status = status;
  end.execution_time_ms = static_cast<double>(result.execution_time.count());
  for (agent::Attempt& attempt : result.history) cut_output(attempt);
  end.record = encode_record(result);
  end.error = result.error;
  end.finished = completed;
  services.jobs.end(execution.id, std::move(end));
  co_await services.jobs.settle();
  co_return outcome;
}

}  // namespace runtime
