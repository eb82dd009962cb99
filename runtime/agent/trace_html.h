// The course of a task, as one page of HTML that needs nothing else, not even a script.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/agent/event.h"
#include "runtime/agent/task.h"

namespace runtime::agent {

struct TracedEvent {
  Event event;
  std::chrono::milliseconds at{0};  // since the task began
};

// The outcome, the timeline, and each attempt: its program (from the second one on, the changes),
// its output, and the critique. All text is escaped; long text is cut. Pieces of the same kind that
// follow each other are one line of the timeline.
std::string trace_html(std::string_view task, const TaskResult& result,
                       const std::vector<TracedEvent>& events);

}  // namespace runtime::agent
