#include "server/cli/local_runner.h"

#include <utility>

#include "server/cli/start.h"

namespace server {

jail::Result<LocalRunner> start_local_runner(const HostOptions& options,
                                             runtime::Environment environment,
                                             std::function<jail::Result<void>()> before_root_ends) {
  auto started = start({.host = options,
                        .environment = std::move(environment),
                        .before_root_ends = std::move(before_root_ends)});
  if (!started) return started.error();
  LocalRunner local;
  local.pool = std::make_unique<boost::asio::thread_pool>(2);
  auto runner = runtime::Runner::create(local.pool->get_executor(), runner_options(*started));
  if (!runner) return runner.error();
  local.runner = std::move(*runner);
  local.config = std::move(started->config);
  local.environment = std::move(started->environment);
  return local;
}

}  // namespace server
