#include "server/cli/mcp.h"

#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>
#include <utility>

#include "runtime/service/old_answers.h"
#include "runtime/store/job_place.h"
#include "server/api/api.h"
#include "server/cli/exit_codes.h"
#include "server/cli/interrupt.h"
#include "server/cli/service_parts.h"
#include "server/mcp/mcp.h"
#include "server/mcp/pipe.h"

namespace server {
namespace {

namespace asio = boost::asio;

int answer_until_end(Service& service, const runtime::RequestRules& rules,
                     const std::string& version) {
  runtime::Logger& logger = service.logger;
  // Nobody can ask for a job here once it is answered.
  auto table = runtime::open_job_table(":memory:", {}, {}, runtime::record_of_old_answer, logger);
  if (!table) return fail(exit_own_failure, table.error().message());
  runtime::Jobs jobs(std::move(*table), logger);
  runtime::Metrics metrics;
  // Nobody can ask for an event here.
  runtime::SandboxHistory history(jobs, 0);
  runtime::Sandboxes sandboxes(*service.runner, logger, history, sandbox_options(service));
  const Mcp protocol({.runner = *service.runner,
                      .jobs = jobs,
                      .metrics = metrics,
                      .logger = logger,
                      .sandboxes = &sandboxes},
                     rules, version);
  const auto executors = service.workers.executors();
  McpPipe pipe(protocol, executors, STDIN_FILENO, STDOUT_FILENO, logger);
  const runtime::Cancel interrupted;
  const runtime::Cancel::Listener stop_pipe(interrupted, [&pipe] { pipe.stop(); });
  const Interrupt interrupt(executors.front(), interrupted);
  pipe.run();
  sandboxes.drain();
  asio::co_spawn(executors.front(), sandboxes.stop(patience_for_sandboxes), asio::use_future).get();
  service.workers.stop();
  return 0;
}

}  // namespace

int mcp(const McpOptions& options, runtime::Environment environment, const std::string& version) {
  auto started = start_service({.host = options.host,
                                .environment = std::move(environment),
                                .config_path = options.config_path});
  if (!started) return fail_to_start(started.error().message());
  Service& service = **started;
  log_limits(service.logger, service.start.cgroup);
  if (::isatty(STDIN_FILENO) == 1) {
    service.logger.info(
        "waiting for messages of JSON-RPC, one a line, as an MCP client sends them; Ctrl-D ends "
        "it");
  }
  const runtime::RequestRules rules =
      runtime::rules_of(service.start.config, service.start.root, service.templates);
  return answer_until_end(service, rules, version);
}

}  // namespace server
