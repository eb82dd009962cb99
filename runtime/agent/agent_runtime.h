// The agent: writes a program for a task, runs it in a jail, learns from the outcome and tries
// again.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/agent/event.h"
#include "runtime/agent/lessons.h"
#include "runtime/agent/task.h"
#include "runtime/llm/provider.h"
#include "runtime/sandbox/runner.h"

namespace runtime::agent {

struct TaskOptions {
  Cancel cancel;
  std::string caller;  // as RunOptions::caller; lessons are kept per caller, too
  // Called in order, on the executor on which run() is awaited. Empty: nobody watches.
  EventSink on_event;
  // For callers that store the progress: called with each attempt and its place in the history when
  // the attempt was judged, and again when a verification or a critic has added to it.
  std::function<void(std::size_t place, const Attempt&)> on_attempt;
  OutputGate gate;
};

// The objects behind the pointers must outlive the runtime; `lessons` may be null: nothing is
// remembered.
struct AgentParts {
  Runner* runner = nullptr;
  std::vector<llm::Provider*> providers;  // the first is used where a request names none
  LessonStore* lessons = nullptr;
};

// Thread-safe. Must outlive its tasks. A task runs on the executor on which it is awaited.
class AgentRuntime {
 public:
  explicit AgentRuntime(AgentParts parts);

  // Never fails: errors are in the result.
  boost::asio::awaitable<TaskResult> run(TaskRequest request, TaskOptions options);

  // Returns the provider that a request would use; null where the request names one that is not
  // configured, or where none is configured.
  llm::Provider* provider_for(const std::string& name) const;

 private:
  const AgentParts parts_;
};

}  // namespace runtime::agent
