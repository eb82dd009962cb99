// Runs one task as a job: recorded before it starts, each attempt kept when it was judged and when
// it was critiqued, the result kept at the end. What /execute and /stream share.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>
#include <variant>

#include "runtime/agent/agent_runtime.h"
#include "server/api/programs.h"

namespace server {

struct RanTask {
  runtime::agent::TaskStatus status;
  std::string result;  // as /execute answers it
};

// The Response is the problem that kept it from starting. services.agent is there.
boost::asio::awaitable<std::variant<RanTask, Response>> run_task(
    Services services, Caller caller, Job job, runtime::agent::TaskRequest request,
    runtime::agent::TaskOptions options);

}  // namespace server
