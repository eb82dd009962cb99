// Keeps the events of a task for the page that --trace writes.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "runtime/agent/event.h"
#include "runtime/agent/task.h"
#include "runtime/agent/trace_html.h"

namespace server {

// On the executor of its task.
class TaskTrace {
 public:
  explicit TaskTrace(std::string task) : task_(std::move(task)) {}

  void add(const runtime::agent::Event& event) {
    const auto now = std::chrono::steady_clock::now();
    events_.push_back({event, std::chrono::duration_cast<std::chrono::milliseconds>(now - began_)});
  }

  std::string page(const runtime::agent::TaskResult& result) const {
    return runtime::agent::trace_html(task_, result, events_);
  }

 private:
  const std::string task_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::vector<runtime::agent::TracedEvent> events_;
};

}  // namespace server
