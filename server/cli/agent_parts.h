// The agent and what it is made of, from the configuration.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/agent/agent_runtime.h"
#include "runtime/agent/lessons.h"
#include "runtime/config/config.h"
#include "runtime/config/environment.h"
#include "runtime/llm/http_client.h"
#include "runtime/llm/provider.h"
#include "runtime/observe/logger.h"
#include "runtime/sandbox/runner.h"

namespace server {

// `runtime` is there where `providers` are. Goes before the executors of its tasks do. Its members
// go in the order in which they stand on one another.
struct Agent {
  std::unique_ptr<runtime::llm::HttpClient> http;
  std::vector<std::unique_ptr<runtime::llm::Provider>> providers;
  std::unique_ptr<runtime::agent::LessonStore> lessons;   // null: switched off
  std::unique_ptr<runtime::agent::AgentRuntime> runtime;  // null: no provider is configured
};

// Starts threads: to be called after the runner was made, and after root ended. Errors: a provider
// or the place of lessons cannot be used as configured. With Lessons::off that place is not opened.
jail::Result<Agent> make_agent(const runtime::Config& config,
                               const runtime::Environment& environment, runtime::Runner& runner,
                               runtime::agent::Lessons lessons, runtime::Logger& logger);

std::vector<std::string> provider_names(const Agent& agent);

// Why no task is taken, or none for that provider where one is named; empty: it is.
std::string why_not_taken(const runtime::Config& config, const Agent& agent,
                          const std::string& provider);

// The lessons alone, with what they stand on; nothing where they are switched off.
jail::Result<void> add_lessons(Agent& parts, const runtime::Config& config,
                               const runtime::Environment& environment, runtime::Logger& logger);

}  // namespace server
