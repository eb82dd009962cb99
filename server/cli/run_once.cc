#include "server/cli/run_once.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>
#include <optional>
#include <utility>

namespace server {
namespace {

namespace asio = boost::asio;
using Outcome = std::optional<jail::Result<runtime::RunResult>>;  // a future's value has a default

asio::awaitable<Outcome> outcome_of(runtime::Runner& runner, runtime::RunRequest request,
                                    runtime::RunOptions options) {
  co_return co_await runner.run(std::move(request), std::move(options));
}

}  // namespace

jail::Result<runtime::RunResult> run_once(runtime::Runner& runner, asio::thread_pool& pool,
                                          runtime::RunRequest request,
                                          runtime::RunOptions options) {
  auto future = asio::co_spawn(pool, outcome_of(runner, std::move(request), std::move(options)),
                               asio::use_future);
  Outcome outcome = future.get();
  pool.stop();
  pool.join();
  return std::move(*outcome);
}

}  // namespace server
