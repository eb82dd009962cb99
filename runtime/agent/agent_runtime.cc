#include "runtime/agent/agent_runtime.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <string>
#include <utility>

#include "runtime/agent/reflexion_loop.h"

namespace runtime::agent {
namespace {

namespace asio = boost::asio;

// Returns a strand, except for an io_context's executor: that has one thread here, as for a Runner.
asio::any_io_executor one_after_the_other(asio::any_io_executor executor) {
  if (executor.target<asio::io_context::executor_type>() != nullptr) return executor;
  return asio::make_strand(executor);
}

}  // namespace

AgentRuntime::AgentRuntime(AgentParts parts) : parts_(std::move(parts)) {}

llm::Provider* AgentRuntime::provider_for(const std::string& name) const {
  for (llm::Provider* const provider : parts_.providers) {
    if (name.empty() || provider->name() == name) return provider;
  }
  return nullptr;
}

asio::awaitable<TaskResult> AgentRuntime::run(TaskRequest request, TaskOptions options) {
  llm::Provider* const provider = provider_for(request.provider);
  if (provider == nullptr) {
    TaskResult result;
    result.error = request.provider.empty() ? "no provider is configured"
                                            : "no provider " + request.provider + " is configured";
    co_return result;
  }
  const auto executor = one_after_the_other(co_await asio::this_coro::executor);
  ReflexionLoop loop(executor, parts_, *provider, std::move(request), std::move(options));
  std::string failure;
  try {
    co_return co_await asio::co_spawn(executor, loop.run(), asio::use_awaitable);
  } catch (const std::exception& error) {
    failure = error.what();
  }
  co_return loop.broken_off("the agent failed: " + failure);
}

}  // namespace runtime::agent
