#include "server/cli/agent_parts.h"

#include <optional>
#include <system_error>
#include <utility>

#include "runtime/lessons/embedder.h"
#include "runtime/lessons/lesson_place.h"
#include "runtime/lessons/qdrant_lessons.h"
#include "runtime/lessons/sqlite_lessons.h"
#include "runtime/llm/providers.h"
#include "runtime/service/task_rules.h"

namespace server {
namespace {

jail::Result<void> add_http(Agent& parts) {
  if (parts.http != nullptr) return {};
  try {
    parts.http = std::make_unique<runtime::llm::HttpClient>();
  } catch (const std::system_error& error) {
    return jail::Error{
        jail::ErrorKind::exhausted, "start the HTTP client", error.code().value(), {}};
  }
  return {};
}

jail::Result<void> add_qdrant(Agent& parts, const runtime::Config& config) {
  if (auto added = add_http(parts); !added) return added;
  auto embedder = runtime::lessons::make_embedder(config, *parts.http);
  if (!embedder) {
    jail::Error error = embedder.error();
    error.doing = "QDRANT_URL: " + error.doing;
    return error;
  }
  runtime::lessons::QdrantOptions options;
  options.url = config.qdrant_url.reveal();
  options.api_key = config.qdrant_api_key.reveal();
  options.bounds = runtime::lessons::bounds_of(config);
  parts.lessons = std::make_unique<runtime::lessons::QdrantLessons>(
      std::move(options), std::move(*embedder), *parts.http);
  return {};
}

}  // namespace

jail::Result<void> add_lessons(Agent& parts, const runtime::Config& config,
                               const runtime::Environment& environment, runtime::Logger& logger) {
  if (!config.lessons) return {};
  if (!config.qdrant_url.empty()) return add_qdrant(parts, config);
  auto table = runtime::lessons::open_lesson_table(
      config.lessons_path, runtime::lessons::usual_lessons_path(config, environment),
      runtime::lessons::bounds_of(config), logger);
  if (!table) return table.error();
  parts.lessons = std::make_unique<runtime::lessons::SqliteLessons>(std::move(*table));
  return {};
}

jail::Result<Agent> make_agent(const runtime::Config& config,
                               const runtime::Environment& environment, runtime::Runner& runner,
                               runtime::agent::Lessons lessons, runtime::Logger& logger) {
  Agent parts;
  if (auto added = add_http(parts); !added) return added.error();
  if (lessons == runtime::agent::Lessons::used) {
    if (auto added = add_lessons(parts, config, environment, logger); !added) return added.error();
  }
  // Programs run without a provider, so that a missing key stops nothing but tasks.
  if (runtime::active_provider(config) == nullptr) return parts;
  auto providers = runtime::llm::make_providers(config, *parts.http);
  if (!providers) return providers.error();
  parts.providers = std::move(*providers);
  runtime::agent::AgentParts wanted;
  wanted.runner = &runner;
  for (const auto& provider : parts.providers) wanted.providers.push_back(provider.get());
  wanted.lessons = parts.lessons.get();
  parts.runtime = std::make_unique<runtime::agent::AgentRuntime>(std::move(wanted));
  return parts;
}

std::vector<std::string> provider_names(const Agent& agent) {
  std::vector<std::string> names;
  for (const auto& provider : agent.providers) names.emplace_back(provider->name());
  return names;
}

std::string why_not_taken(const runtime::Config& config, const Agent& agent,
                          const std::string& provider) {
  if (agent.runtime == nullptr) return runtime::llm::why_no_provider(config);
  if (provider.empty()) return {};
  const std::string why =
      runtime::why_not_provider(runtime::task_rules(config, provider_names(agent)), provider);
  return why.empty() ? why : "--provider: " + why;
}

}  // namespace server
