// What the commands have in common that serve requests until they are ended: serve and mcp.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "jail/result.h"
#include "runtime/config/config.h"
#include "runtime/observe/logger.h"
#include "runtime/sandbox/runner.h"
#include "runtime/sandbox/template.h"
#include "runtime/service/sandboxes.h"
#include "runtime/service/webhooks.h"
#include "runtime/store/jobs.h"
#include "server/cli/egress_listener.h"
#include "server/cli/egress_log.h"
#include "server/cli/start.h"
#include "server/cli/workers.h"

namespace server {

// For all sandboxes to end: they are asked to at once, and one takes milliseconds.
inline constexpr std::chrono::milliseconds patience_for_sandboxes{5'000};

// Members end in the reverse of their order: the runner before the threads that it works on.
struct Service {
  Service(Start started_with, std::vector<runtime::Template> loaded);

  const Start start;
  const std::vector<runtime::Template> templates;
  runtime::Logger logger;
  EgressListener egress;
  EgressLog egress_log{logger};  // the runner's executor tells it
  Workers workers;
  std::unique_ptr<runtime::Runner> runner;
};

// start(), and what stands on it: warm jails of the operator's templates, the log and the threads.
// To be called while there is only one thread. Errors: the first thing that went wrong, a kernel
// that is too old among them.
jail::Result<std::unique_ptr<Service>> start_service(StartRequest request);

// How many sandboxes there may be. Where there are several keys none can take all places. What
// their gateways for secrets decide is told as what the proxy decides.
runtime::Sandboxes::Options sandbox_options(Service& service);

// The disks of sandboxes at SANDBOX_DISK_PATH, which come back with the file of `jobs`. Errors: as
// SandboxDisks::open(), and unsupported where each jail has a user of its own.
jail::Result<std::shared_ptr<runtime::SandboxDisks>> disks_of(Service& service,
                                                              const runtime::Jobs& jobs);

// The volumes beside those disks: how many there may be, and how large. Where there are several
// keys none can take all. Null where the records of them would go with the server.
std::shared_ptr<runtime::Volumes> volumes_of(runtime::Jobs& jobs,
                                             std::shared_ptr<runtime::SandboxDisks> disks,
                                             Service& service);

// Where webhooks may lead, how long they may fail, and whose there are.
runtime::Webhooks::Options webhook_options(const runtime::Config& config);

// What holds the limits of jails.
void log_limits(runtime::Logger& logger, const runtime::CgroupChoice& cgroup);

}  // namespace server
