// What happened in a task, as one page of HTML that needs nothing else.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/agent/event.h"
#include "runtime/agent/task.h"

namespace server {

class TaskTrace {
 public:
  explicit TaskTrace(const runtime::agent::TaskRequest& request);

  void add(const runtime::agent::Event& event);
  // The task, its timeline, and each attempt with what changed in its program.
  std::string page(const runtime::agent::TaskResult& result) const;

 private:
  using Clock = std::chrono::steady_clock;

  struct Entry {
    std::chrono::milliseconds at;
    std::string type;
    std::string data;  // of one or, for what comes in pieces, of several events
  };

  const std::string task_;
  const Clock::time_point began_;
  std::vector<Entry> entries_;
};

// A line of one text or both.
struct DiffLine {
  enum class Side { both, before, after } side = Side::both;
  std::string_view text;
};

// The shortest way from one text to the other. Where both are long: all of one, then all of the
// other.
std::vector<DiffLine> diff_of(std::string_view before, std::string_view after);

}  // namespace server
