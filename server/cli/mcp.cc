#include "server/cli/mcp.h"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>
#include <thread>
#include <utility>

#include "runtime/sandbox/runner.h"
#include "runtime/service/old_answers.h"
#include "runtime/store/job_place.h"
#include "server/api/api.h"
#include "server/cli/exit_codes.h"
#include "server/cli/host_checks.h"
#include "server/cli/interrupt.h"
#include "server/cli/service_parts.h"
#include "server/cli/start.h"
#include "server/cli/workers.h"
#include "server/mcp/mcp.h"
#include "server/mcp/pipe.h"

namespace server {
namespace {

namespace asio = boost::asio;

int answer_until_end(const runtime::Config& config, const runtime::RequestRules& rules,
                     const std::string& version, runtime::Runner& runner, Workers& workers,
                     runtime::Logger& logger) {
  // Nobody can ask for a job here once it is answered.
  auto table = runtime::open_job_table(":memory:", {}, {}, runtime::record_of_old_answer, logger);
  if (!table) return fail(exit_own_failure, table.error().message());
  runtime::Jobs jobs(std::move(*table), logger);
  runtime::Metrics metrics;
  runtime::Sandboxes sandboxes(runner, logger, sandbox_options(config));
  const Mcp protocol({.runner = runner,
                      .jobs = jobs,
                      .metrics = metrics,
                      .logger = logger,
                      .sandboxes = &sandboxes},
                     rules, version);
  const auto executors = workers.executors();
  McpPipe pipe(protocol, executors, STDIN_FILENO, STDOUT_FILENO, logger);
  const runtime::Cancel interrupted;
  const runtime::Cancel::Listener stop_pipe(interrupted, [&pipe] { pipe.stop(); });
  const Interrupt interrupt(executors.front(), interrupted);
  pipe.run();
  sandboxes.drain();
  asio::co_spawn(executors.front(), sandboxes.stop(patience_for_sandboxes), asio::use_future).get();
  workers.stop();
  return 0;
}

}  // namespace

int mcp(const McpOptions& options, runtime::Environment environment, const std::string& version) {
  if (const Check kernel = check_kernel(kernel_release()); kernel.state == Check::State::missing) {
    return fail(exit_own_failure, "kernel " + kernel.found + "; " + kernel.advice);
  }
  auto started = start({.host = options.host,
                        .environment = std::move(environment),
                        .config_path = options.config_path});
  if (!started) return fail(exit_own_failure, started.error().message());
  const runtime::Config& config = started->config;
  auto templates = runtime::load_templates(config.sandbox_templates_dir);
  if (!templates) return fail(exit_own_failure, templates.error().message());
  runtime::set_pool_size(*templates, config.sandbox_pool_size);
  runtime::Logger logger({.level = config.log_level, .format = config.log_format, .write = {}});
  Workers workers(std::max(2u, std::thread::hardware_concurrency()));
  const auto runner = runtime::Runner::create(workers.executors().back(),
                                              service_runner_options(*started, *templates, logger));
  if (!runner) return fail(exit_own_failure, runner.error().message());
  log_limits(logger, started->cgroup);
  if (::isatty(STDIN_FILENO) == 1) {
    logger.info(
        "waiting for messages of JSON-RPC, one a line, as an MCP client sends them; Ctrl-D ends "
        "it");
  }
  const ApiOptions door = api_options(config, started->root, std::move(*templates), version, {});
  return answer_until_end(config, door.execute, version, **runner, workers, logger);
}

}  // namespace server
