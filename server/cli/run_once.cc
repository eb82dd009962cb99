#include "server/cli/run_once.h"

#include <boost/asio/co_spawn.hpp>
#include <exception>
#include <optional>
#include <utility>

namespace server {
namespace {

namespace asio = boost::asio;
using Outcome = std::optional<jail::Result<runtime::RunResult>>;  // co_spawn makes an empty one

asio::awaitable<Outcome> outcome_of(runtime::Runner& runner, runtime::RunRequest request,
                                    runtime::RunOptions options) {
  co_return co_await runner.run(std::move(request), std::move(options));
}

}  // namespace

jail::Result<runtime::RunResult> run_once(runtime::Runner& runner, asio::thread_pool& pool,
                                          runtime::RunRequest request,
                                          runtime::RunOptions options) {
  Outcome outcome;
  std::exception_ptr thrown;
  asio::co_spawn(pool, outcome_of(runner, std::move(request), std::move(options)),
                 [&](std::exception_ptr error, Outcome ended) {
                   thrown = std::move(error);
                   outcome = std::move(ended);
                   pool.stop();
                 });
  pool.attach();
  pool.join();
  if (thrown != nullptr) std::rethrow_exception(thrown);
  return std::move(*outcome);
}

}  // namespace server
