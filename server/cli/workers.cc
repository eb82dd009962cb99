#include "server/cli/workers.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <thread>

namespace server {
namespace {

namespace asio = boost::asio;

struct Loop : asio::io_context {
  Loop() : asio::io_context(1) {}  // threads that run it

  using asio::io_context::shutdown;
};

}  // namespace

struct Workers::Worker {
  Loop loop;
  asio::executor_work_guard<asio::io_context::executor_type> busy{loop.get_executor()};
  std::thread thread{[this] { loop.run(); }};
};

Workers::Workers(unsigned count) {
  for (unsigned i = 0; i < count; ++i) workers_.push_back(std::make_unique<Worker>());
}

// What waits in one loop may hold on to another: all are emptied before the first one goes.
Workers::~Workers() {
  stop();
  for (const auto& worker : workers_) worker->busy.reset();
  for (const auto& worker : workers_) worker->loop.shutdown();
}

std::vector<asio::any_io_executor> Workers::executors() const {
  std::vector<asio::any_io_executor> executors;
  for (const auto& worker : workers_) executors.emplace_back(worker->loop.get_executor());
  return executors;
}

asio::awaitable<void> Workers::visit() const {
  for (const auto& executor : executors()) co_await asio::post(executor, asio::use_awaitable);
}

void Workers::stop() {
  for (const auto& worker : workers_) worker->loop.stop();
  for (const auto& worker : workers_) {
    if (worker->thread.joinable()) worker->thread.join();
  }
}

}  // namespace server
