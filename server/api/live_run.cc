#include "server/api/live_run.h"

#include <utility>
#include <variant>

#include "runtime/json/writer.h"
#include "runtime/service/programs.h"
#include "runtime/service/tasks.h"

namespace server {
namespace {

namespace agent = runtime::agent;
using boost::asio::awaitable;
using runtime::Refusal;

std::string completion_of(const runtime::Execution& execution, runtime::Status status) {
  runtime::json::Writer writer;
  writer.begin_object().key("job_id").string(execution.id);
  writer.key("status").string(runtime::to_string(status));
  writer.key("success").boolean(status == runtime::Status::success).end_object();
  return std::move(writer).take();
}

awaitable<std::optional<Refusal>> run(runtime::Services services, runtime::Caller caller,
                                      runtime::RunRequest request, runtime::Cancel cancel,
                                      std::shared_ptr<LiveEvents> events) {
  const runtime::Execution execution = runtime::make_execution();
  events->expect_start(
      start_of_program(execution.id, runtime::name_of(request.language), request.output_encoding),
      request.output_encoding);
  runtime::RunOptions options;
  options.cancel = std::move(cancel);
  options.gate = events->gate();
  options.on_start = events->hear_start();
  options.on_output = events->hear_output();
  auto ran = co_await runtime::run_program(services, std::move(caller), execution,
                                           std::move(request), std::move(options));
  if (auto* refusal = std::get_if<Refusal>(&ran)) co_return std::move(*refusal);
  const auto& outcome = std::get<runtime::ProgramOutcome>(ran);
  events->finish_output();
  events->send("execution_result", outcome.result);
  events->end("complete", completion_of(execution, outcome.status));
  co_return std::nullopt;
}

awaitable<std::optional<Refusal>> solve(runtime::Services services, runtime::Caller caller,
                                        agent::TaskRequest request, runtime::Cancel cancel,
                                        std::shared_ptr<LiveEvents> events) {
  const runtime::Execution execution = runtime::make_execution();
  events->expect_start(start_of_task(execution.id), runtime::OutputEncoding::utf8);
  agent::TaskOptions options;
  options.cancel = std::move(cancel);
  options.gate = events->gate();
  options.on_event = events->hear_steps();
  auto ran = co_await runtime::run_task(services, std::move(caller), execution, std::move(request),
                                        std::move(options));
  if (auto* refusal = std::get_if<Refusal>(&ran)) co_return std::move(*refusal);
  events->say_started();
  events->end("complete", std::get<runtime::TaskOutcome>(ran).result);
  co_return std::nullopt;
}

}  // namespace

awaitable<std::optional<Refusal>> run_live(runtime::Services services, runtime::Caller caller,
                                           ExecuteRequest request, runtime::Cancel cancel,
                                           std::shared_ptr<LiveEvents> events) {
  if (auto* task = std::get_if<agent::TaskRequest>(&request)) {
    co_return co_await solve(services, std::move(caller), std::move(*task), std::move(cancel),
                             std::move(events));
  }
  auto& program = std::get<runtime::RunRequest>(request);
  co_return co_await run(services, std::move(caller), std::move(program), std::move(cancel),
                         std::move(events));
}

}  // namespace server
