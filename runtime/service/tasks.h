// Runs one task as a job: recorded before it starts, each attempt kept when it was judged and when
// it was critiqued, the result kept at the end.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>
#include <variant>

#include "runtime/agent/agent_runtime.h"
#include "runtime/refusals/refusal.h"
#include "runtime/service/execution.h"
#include "runtime/service/services.h"

namespace runtime {

struct TaskOutcome {
  agent::TaskStatus status;
  std::string result;  // in the form of encode_task()
};

// Requires services.agent.
boost::asio::awaitable<std::variant<TaskOutcome, Refusal>> run_task(Services services,
                                                                    Caller caller,
                                                                    Execution execution,
                                                                    agent::TaskRequest request,
                                                                    agent::TaskOptions options);

}  // namespace runtime
