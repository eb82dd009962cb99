// The state that all parts of one task share: the request, the watcher, the deadline, the usage so
// far.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "runtime/agent/agent_runtime.h"
#include "runtime/agent/event_feed.h"
#include "runtime/agent/task.h"
#include "runtime/sandbox/cancel.h"

namespace runtime::agent {

// The reason for which a task ends unsolved.
struct Stop {
  TaskStatus status = TaskStatus::failed;
  std::string error;
  int provider_status = 0;
  std::string host_error = {};  // as TaskResult::host_error
};

// Must be used on one executor that runs one handler at a time.
class TaskScope {
 public:
  using Clock = std::chrono::steady_clock;

  // The task's time begins with the construction.
  TaskScope(const boost::asio::any_io_executor& executor, TaskRequest request, TaskOptions options);

  const TaskRequest& request() const noexcept { return request_; }
  const TaskOptions& options() const noexcept { return options_; }
  const EventFeed& events() const noexcept { return events_; }
  Clock::duration elapsed() const { return Clock::now() - started_; }

  // Requested when the task is cancelled or its time is over.
  const Cancel& cancel() const noexcept { return cancel_; }
  // Whether it was cancelled or its time is over.
  std::optional<Stop> ended() const;
  // Returns early when the task ends.
  boost::asio::awaitable<void> wait(std::chrono::milliseconds duration) const;

  void spend(std::uint64_t tokens) noexcept { spent_ += tokens; }
  std::uint64_t tokens_left() const noexcept;

 private:
  const TaskRequest request_;
  const TaskOptions options_;
  const EventFeed events_;
  const Clock::time_point started_;
  const Clock::time_point deadline_;
  const Cancel cancel_;
  boost::asio::steady_timer timer_;
  std::uint64_t spent_ = 0;
};

}  // namespace runtime::agent
