// Runs one program as a job: recorded before it starts, counted and kept after it ended. What
// /execute and /stream share.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <string>
#include <string_view>
#include <variant>

#include "runtime/agent/agent_runtime.h"
#include "runtime/agent/lessons.h"
#include "runtime/observe/logger.h"
#include "runtime/observe/metrics.h"
#include "runtime/sandbox/runner.h"
#include "runtime/service/principal.h"
#include "runtime/store/jobs.h"
#include "server/api/encode.h"
#include "server/http/message.h"

namespace server {

// What is passed by reference outlives it.
struct Services {
  runtime::Runner& runner;
  runtime::Jobs& jobs;
  runtime::Metrics& metrics;
  runtime::Logger& logger;
  runtime::agent::AgentRuntime* agent = nullptr;   // null: no task is taken
  runtime::agent::LessonStore* lessons = nullptr;  // null: none are kept
};

// Who wants a program or a task run, and by which request, for the log.
struct Caller {
  runtime::Principal principal;
  std::string request_id;
};

struct Ran {
  runtime::Status status;
  std::string result;  // as /execute answers it
};

void count_program(runtime::Metrics& metrics, const runtime::RunResult& result,
                   std::string_view language, std::chrono::microseconds total);

// 429.
Response too_many_of_a_caller();

// The Response is the problem that kept it from running.
boost::asio::awaitable<std::variant<Ran, Response>> run_program(Services services, Caller caller,
                                                                Job job,
                                                                runtime::RunRequest request,
                                                                runtime::RunOptions options);

}  // namespace server
