#include "server/cli/service_parts.h"

#include <cstdint>
#include <string_view>
#include <utility>

namespace server {
namespace {

void log_pool(runtime::Logger& logger, std::string_view name, std::string_view reason) {
  if (reason.empty()) {
    logger.info("warm jails can be made again", {{"template", name}});
  } else {
    logger.warning("no warm jails: programs start cold", {{"template", name}, {"reason", reason}});
  }
}

void log_egress(runtime::Logger& logger, const jail::EgressDecision& decision) {
  if (decision.dropped > 0) {
    logger.warning("egress decisions are missing here, more came than could be written",
                   {{"missing", static_cast<std::int64_t>(decision.dropped)}});
  }
  if (decision.event == jail::EgressEvent::ended) {
    logger.info("egress ended", {{"job_id", decision.jail},
                                 {"destination", decision.destination},
                                 {"sent_bytes", static_cast<std::int64_t>(decision.sent)},
                                 {"received_bytes", static_cast<std::int64_t>(decision.received)}});
    return;
  }
  logger.info(decision.allowed ? "egress" : "egress refused",
              {{"job_id", decision.jail},
               {"destination", decision.destination},
               {"address", decision.address},
               {"reason", decision.reason}});
}

}  // namespace

runtime::RunnerOptions service_runner_options(const Start& start,
                                              std::vector<runtime::Template> templates,
                                              runtime::Logger& logger) {
  runtime::RunnerOptions options = runner_options(start);
  options.templates = std::move(templates);
  options.on_pool_trouble = [&logger](std::string_view name, std::string_view reason) {
    log_pool(logger, name, reason);
  };
  if (start.config.network_enabled) options.egress = runtime::Egress::by_request;
  options.on_egress = [&logger](const jail::EgressDecision& decision) {
    log_egress(logger, decision);
  };
  return options;
}

runtime::Sandboxes::Options sandbox_options(const runtime::Config& config) {
  const std::uint32_t most = config.sandbox_max_living;
  return {.most = most,
          .most_of_an_owner = config.api_keys.size() > 1 ? (most + 1) / 2 : most,
          .most_lifetime = config.sandbox_max_lifetime,
          .most_memory_mb = config.ceilings.memory_limit_mb,
          .cores = config.sandbox_cpu_limit};
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
