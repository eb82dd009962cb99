// The objects that operations need.
#pragma once

#include "runtime/agent/agent_runtime.h"
#include "runtime/agent/lessons.h"
#include "runtime/observe/logger.h"
#include "runtime/observe/metrics.h"
#include "runtime/sandbox/runner.h"
#include "runtime/service/live_jobs.h"
#include "runtime/service/principal.h"
#include "runtime/service/sandboxes.h"
#include "runtime/service/volumes.h"
#include "runtime/service/webhooks.h"
#include "runtime/store/jobs.h"

namespace runtime {

// Referenced objects must outlive it.
struct Services {
  Runner& runner;
  Jobs& jobs;
  Metrics& metrics;
  Logger& logger;
  agent::AgentRuntime* agent = nullptr;   // null: no task is accepted
  agent::LessonStore* lessons = nullptr;  // null: no lessons are kept
  LiveJobs* live_jobs = nullptr;          // null: nobody can follow a running job
  Sandboxes* sandboxes = nullptr;         // null: there are no sandboxes
  Webhooks* webhooks = nullptr;           // null: there are no webhooks
  Volumes* volumes = nullptr;             // null: there are no volumes
};

}  // namespace runtime
