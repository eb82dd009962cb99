// Keeps the events of a task for the page that --trace writes.
#pragma once

#include <chrono>
#include <cstddef>
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
    const auto at = std::chrono::duration_cast<std::chrono::milliseconds>(now - began_);
    pieces_ = comes_in_pieces(event.type) ? pieces_ + event.data.size() : 0;
    if (pieces_ > max_pieces && !events_.empty()) {
      events_.back().at = at;
      return;
    }
    events_.push_back({event, at});
  }

  std::size_t size() const { return events_.size(); }

  std::string page(const runtime::agent::TaskResult& result) const {
    return runtime::agent::trace_html(task_, result, events_);
  }

 private:
  // The most pieces kept of what a model or a program says without a pause. The page shows less of
  // it, and a program may write as much as its time allows.
  static constexpr std::size_t max_pieces = 1u << 20;

  static bool comes_in_pieces(runtime::agent::EventType type) {
    using runtime::agent::EventType;
    return type == EventType::token || type == EventType::standard_output ||
           type == EventType::standard_error;
  }

  const std::string task_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::vector<runtime::agent::TracedEvent> events_;
  std::size_t pieces_ = 0;
};

}  // namespace server
