#include "server/cli/local_runner.h"

#include <utility>

#include "runtime/sandbox/program_root.h"
#include "server/cli/drop_privileges.h"
#include "server/cli/take_cgroup.h"

namespace server {

jail::Result<LocalRunner> start_local_runner(const HostOptions& options,
                                             runtime::Environment environment) {
  LocalRunner local;
  const auto root_places = runtime::default_root_places(environment);
  runtime::ConfigSources sources;
  sources.environment = std::move(environment);
  runtime::find_default_files(sources);
  sources.flags = options.flags;
  auto config = runtime::load_config(sources);
  if (!config) return config.error();
  local.config = std::move(*config);
  const auto cgroup = take_cgroup(local.config, options.user, sources.environment);
  if (!cgroup) return cgroup.error();
  if (const auto dropped = drop_privileges(options.user); !dropped) return dropped.error();
  auto root = runtime::find_program_root(local.config.rootfs, root_places);
  if (!root) return root.error();
  local.pool = std::make_unique<boost::asio::thread_pool>(2);
  runtime::RunnerOptions limits = runner_options(local.config, *cgroup);
  limits.root = std::make_shared<const jail::Root>(std::move(root->view));
  auto runner = runtime::Runner::create(local.pool->get_executor(), std::move(limits));
  if (!runner) return runner.error();
  local.runner = std::move(*runner);
  local.environment = std::move(sources.environment);
  return local;
}

}  // namespace server
