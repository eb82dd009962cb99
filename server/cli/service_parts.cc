#include "server/cli/service_parts.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cstdint>
#include <string_view>
#include <thread>
#include <utility>

#include "runtime/service/authentication.h"
#include "server/cli/host_checks.h"

namespace server {
namespace {

void log_pool(runtime::Logger& logger, std::string_view name, std::string_view reason) {
  if (reason.empty()) {
    logger.info("warm jails can be made again", {{"template", name}});
  } else {
    logger.warning("no warm jails: programs start cold", {{"template", name}, {"reason", reason}});
  }
}

void tell_egress(Service& service, const jail::EgressDecision& decision) {
  service.egress_log.tell(decision);
  service.egress.tell(decision);
}

// How much of a bound one tenant may have.
auto share_of_a_tenant(const runtime::Config& config) {
  const bool has_several = runtime::number_of_tenants(runtime::api_keys_of(config)) > 1;
  return [has_several](std::uint32_t all) { return has_several ? (all + 1) / 2 : all; };
}

runtime::RunnerOptions options_of_runner(Service& service) {
  runtime::RunnerOptions options = runner_options(service.start);
  options.templates = service.templates;
  runtime::Logger& logger = service.logger;
  options.on_pool_trouble = [&logger](std::string_view name, std::string_view reason) {
    log_pool(logger, name, reason);
  };
  if (service.start.config.network_enabled) options.egress = runtime::Egress::by_request;
  options.on_egress = [&service](const jail::EgressDecision& decision) {
    tell_egress(service, decision);
  };
  return options;
}

}  // namespace

Service::Service(Start started_with, std::vector<runtime::Template> loaded)
    : start(std::move(started_with)),
      templates(std::move(loaded)),
      logger({.level = start.config.log_level, .format = start.config.log_format, .write = {}}),
      workers(std::max(2u, std::thread::hardware_concurrency())) {}

jail::Result<std::unique_ptr<Service>> start_service(StartRequest request) {
  if (const Check kernel = check_kernel(kernel_release()); kernel.state == Check::State::missing) {
    return jail::Error{
        jail::ErrorKind::unsupported, "kernel " + kernel.found + "; " + kernel.advice, 0, {}};
  }
  auto started = start(std::move(request));
  if (!started) return started.error();
  auto templates = runtime::load_templates(started->config.sandbox_templates_dir);
  if (!templates) return templates.error();
  runtime::set_pool_size(*templates, started->config.sandbox_pool_size);
  auto service = std::make_unique<Service>(std::move(*started), std::move(*templates));
  auto runner =
      runtime::Runner::create(service->workers.executors().back(), options_of_runner(*service));
  if (!runner) return runner.error();
  service->runner = std::move(*runner);
  if (!service->start.config.network_enabled && !service->start.config.network_allow.empty()) {
    service->logger.warning(
        "SANDBOX_NETWORK_ALLOW is set but SANDBOX_NETWORK_ENABLED is not: no program has network");
  }
  for (const runtime::Template& known : service->templates) {
    const std::uint32_t usual = service->start.config.sandbox_memory_limit_mb;
    if (known.memory_limit_mb != 0 && known.memory_limit_mb < usual) {
      service->logger.warning("template " + known.name +
                              ": limits.memory_limit_mb is less than SANDBOX_MEMORY_LIMIT_MB (" +
                              std::to_string(usual) +
                              "): requests that name no memory_limit_mb never run warm in it");
    }
  }
  return service;
}

runtime::Sandboxes::Options sandbox_options(Service& service) {
  const runtime::Config& config = service.start.config;
  // The log is used on the runner's executor alone.
  auto tell = [&service,
               runner = service.workers.executors().back()](const jail::EgressDecision& decision) {
    boost::asio::post(runner, [&service, decision] { tell_egress(service, decision); });
  };
  const std::uint32_t most = config.sandbox_max_living;
  const auto share = share_of_a_tenant(config);
  const std::uint32_t max_connections = std::max(1u, config.api_max_connections / 2);
  return {.most = most,
          .max_per_owner = share(most),
          .max_lifetime = config.sandbox_max_lifetime,
          .max_paused = config.sandbox_max_paused,
          .max_memory_mb = config.ceilings.memory_limit_mb,
          .cores = config.sandbox_cpu_limit,
          .max_port_connections = max_connections,
          .max_port_connections_per_owner = share(max_connections),
          .ports_domain = config.sandbox_ports_domain,
          .max_directory_mb = config.sandbox_max_disk_mb,
          .disks = nullptr,
          .volumes = nullptr,
          .secrets = {.ca_file = config.sandbox_secrets_ca_file, .on_decision = std::move(tell)},
          .network = config.network_enabled ? config.network_allow : std::vector<std::string>(),
          .tenants = std::nullopt};
}

jail::Result<std::shared_ptr<runtime::SandboxDisks>> disks_of(Service& service,
                                                              const runtime::Jobs& jobs) {
  const runtime::Config& config = service.start.config;
  if (service.start.users.range != nullptr) {
    return jail::Error{jail::ErrorKind::unsupported,
                       "SANDBOX_DISK_PATH: each sandbox has a user of its own (SANDBOX_USERS), to "
                       "whom no directory can belong",
                       0,
                       {}};
  }
  auto disks = runtime::SandboxDisks::open(
      {.path = config.sandbox_disk_path,
       .reserve_bytes = std::uint64_t{config.sandbox_disk_reserve_mb} << 20,
       .return_of_server = {.name = jobs.name_of_file().value_or(""),
                            .patience = std::chrono::duration_cast<std::chrono::seconds>(
                                config.sandbox_max_lifetime + config.sandbox_max_paused)}},
      service.logger);
  if (disks) return disks;
  jail::Error error = disks.error();
  error.doing = "SANDBOX_DISK_PATH: " + error.doing;
  if (error.hint.empty()) {
    error.hint =
        "set it to a directory of this user's own, or to a path at which this user can make one";
  }
  return error;
}

std::shared_ptr<runtime::Volumes> volumes_of(runtime::Jobs& jobs,
                                             std::shared_ptr<runtime::SandboxDisks> disks,
                                             Service& service) {
  if (jobs.database().is_in_memory()) {
    service.logger.warning("volumes are off: what is known of them would be in memory alone",
                           {{"setting", "JOBS_PATH"}});
    return nullptr;
  }
  const runtime::Config& config = service.start.config;
  const auto share_of = share_of_a_tenant(config);
  const runtime::Volumes::Options options{
      .most = config.sandbox_max_volumes,
      .max_total_mb = config.sandbox_max_volumes_mb,
      .max_per_owner = share_of(config.sandbox_max_volumes),
      .max_mb_per_owner = share_of(config.sandbox_max_volumes_mb),
      .max_mb = config.sandbox_max_disk_mb};
  return std::make_shared<runtime::Volumes>(jobs, std::move(disks), service.logger, options);
}

runtime::Webhooks::Options webhook_options(const runtime::Config& config) {
  runtime::Webhooks::Options options;
  options.allow = config.webhooks_allow;
  options.patience.retry = config.webhooks_retry;
  options.are_events_kept = config.sandbox_events_kept > 0;
  options.keys = runtime::api_keys_of(config);
  return options;
}

void log_limits(runtime::Logger& logger, const runtime::CgroupChoice& cgroup) {
  if (cgroup.tree) {
    logger.info("cgroup v2 holds the limits",
                {{"cgroup", cgroup.tree->path()}, {"origin", to_string(cgroup.origin)}});
  } else {
    logger.warning("no cgroup v2: rlimits and a watchdog hold the limits",
                   {{"reason", cgroup.why_none}});
  }
}

}  // namespace server
