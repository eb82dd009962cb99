// What operations need.
#pragma once

#include "runtime/agent/agent_runtime.h"
#include "runtime/agent/lessons.h"
#include "runtime/observe/logger.h"
#include "runtime/observe/metrics.h"
#include "runtime/sandbox/runner.h"
#include "runtime/service/live_jobs.h"
#include "runtime/service/principal.h"
#include "runtime/service/sandboxes.h"
#include "runtime/service/webhooks.h"
#include "runtime/store/jobs.h"

namespace runtime {

// What is passed by reference outlives it.
struct Services {
  Runner& runner;
  Jobs& jobs;
  Metrics& metrics;
  Logger& logger;
  agent::AgentRuntime* agent = nullptr;   // null: no task is taken
  agent::LessonStore* lessons = nullptr;  // null: none are kept
  LiveJobs* live_jobs = nullptr;          // null: nobody follows a job that runs
  Sandboxes* sandboxes = nullptr;         // null: no sandbox lives
  Webhooks* webhooks = nullptr;           // null: there are none
};

}  // namespace runtime
