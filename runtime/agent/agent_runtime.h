// The agent: writes a program for a task, runs it in a jail, learns from what happened, tries
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
  std::string caller;  // as RunOptions::caller; lessons are kept by it, too
  // Called on the executor of who awaits run(), in order. Empty: nobody watches.
  EventSink on_event;
  // For whoever keeps what has happened so far: called with each attempt, and its place in the
  // history, when it was judged, and again when a verification or a critic has added to that.
  std::function<void(std::size_t place, const Attempt&)> on_attempt;
  OutputGate gate;
};

// What is passed by pointer outlives the runtime; `lessons` may be null: nothing is remembered.
struct AgentParts {
  Runner* runner = nullptr;
  std::vector<llm::Provider*> providers;  // the first is used where a request names none
  LessonStore* lessons = nullptr;
};

// Thread-safe. Must outlive its tasks. A task happens on the executor of who awaits it.
class AgentRuntime {
 public:
  explicit AgentRuntime(AgentParts parts);

  // Never fails: what went wrong is in the result.
  boost::asio::awaitable<TaskResult> run(TaskRequest request, TaskOptions options);

  // The provider that a request would use; null where it names one that is not configured, or none
  // is.
  llm::Provider* provider_for(const std::string& name) const;

 private:
  const AgentParts parts_;
};

}  // namespace runtime::agent
