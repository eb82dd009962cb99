// What a command that runs programs by itself needs, from its options to a runner.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <memory>

#include "runtime/config/config.h"
#include "runtime/config/environment.h"
#include "runtime/sandbox/runner.h"
#include "server/cli/arguments.h"

namespace server {

// Without pools: its few programs gain little from jails that wait.
struct LocalRunner {
  runtime::Config config;
  runtime::Environment environment;
  std::unique_ptr<boost::asio::thread_pool> pool;
  std::unique_ptr<runtime::Runner> runner;
};

// Reads the configuration, and ends root: afterwards nothing is read as whoever called. What is to
// be done right before may be empty.
jail::Result<LocalRunner> start_local_runner(const HostOptions& options,
                                             runtime::Environment environment,
                                             std::function<jail::Result<void>()> before_root_ends);

}  // namespace server
