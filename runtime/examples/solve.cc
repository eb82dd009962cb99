// The agent in a program of one's own: solves the task that it is given and says what happens.
//   GROQ_API_KEY=... ./agent_example 'Calculate fibonacci(10)'
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/agent/agent_runtime.h"
#include "runtime/config/config.h"
#include "runtime/llm/http_client.h"
#include "runtime/llm/providers.h"
#include "runtime/sandbox/runner.h"

namespace {

namespace agent = runtime::agent;

void show(const agent::Event& event) {
  const std::string_view name = agent::name_of(event.type);
  std::fprintf(stderr, "%.*s %s\n", static_cast<int>(name.size()), name.data(),
               event.data.substr(0, 200).c_str());
}

// Stops waiting for signals when it has finished, so that the loop has nothing left to do.
boost::asio::awaitable<void> solve(agent::AgentRuntime& solver, std::string task,
                                   runtime::Cancel cancel, boost::asio::signal_set& signals,
                                   agent::TaskResult& result) {
  agent::TaskRequest request;
  request.task = std::move(task);
  agent::TaskOptions options;
  options.cancel = std::move(cancel);
  options.on_event = show;
  result = co_await solver.run(std::move(request), std::move(options));
  signals.cancel();
}

int fail(const jail::Error& error) {
  std::fprintf(stderr, "%s\n", error.message().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s TASK\n", argv[0]);
    return 2;
  }
  std::signal(SIGPIPE, SIG_IGN);  // a program may close its input at any time
  runtime::ConfigSources sources;
  sources.environment = runtime::process_environment();
  const auto config = runtime::load_config(sources);
  if (!config) return fail(config.error());

  // The order matters: each object uses those above it, and is destroyed before them.
  boost::asio::io_context loop(1);
  const auto runner = runtime::Runner::create(loop.get_executor(), {});
  if (!runner) return fail(runner.error());
  runtime::llm::HttpClient http;
  const auto providers = runtime::llm::make_providers(*config, http);
  if (!providers) return fail(providers.error());
  if (providers->empty()) {
    std::fprintf(stderr, "%s\n", runtime::llm::why_no_provider(*config).c_str());
    return 1;
  }
  agent::AgentParts parts;
  parts.runner = runner->get();
  for (const auto& provider : *providers) parts.providers.push_back(provider.get());
  agent::AgentRuntime solver(std::move(parts));

  const runtime::Cancel cancel;
  boost::asio::signal_set signals(loop, SIGINT, SIGTERM);
  signals.async_wait([cancel](boost::system::error_code error, int) {
    if (!error) cancel.request();
  });
  agent::TaskResult result;
  boost::asio::co_spawn(loop, solve(solver, argv[1], cancel, signals, result),
                        boost::asio::detached);
  loop.run();
  std::fputs(result.output.c_str(), stdout);
  if (!result.success()) std::fprintf(stderr, "not solved: %s\n", result.error.c_str());
  return result.success() ? 0 : 1;
}
