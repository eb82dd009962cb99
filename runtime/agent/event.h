// Events of a task, sent while it runs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace runtime::agent {

// The events' names are those of WS /stream: name_of(EventType::execution_result) is
// "execution_result".
enum class EventType : std::uint8_t {
  generating,        // {"attempt": 1, "role": "coder"}
  token,             // a string: text of the model as it comes
  code,              // {"attempt": 1, "candidate": 0, "code": "...", "reasoning": "..."}
  executing,         // {"attempt": 1, "candidate": 0}
  standard_output,   // a string; named "stdout"
  standard_error,    // a string; named "stderr"
  execution_result,  // {"attempt": 1, "candidate": 0, "status": "error", "exit_code": 1, ...}
  critiquing,        // {"attempt": 1}
  critique,  // {"attempt": 1, "diagnosis": "...", "fix": "...", "should_retry": true, "confidence":
             // 0.9}
  retrying,  // {"attempt": 2, "of": 3}
  swarm,     // {"role": "architect", "round": 1, ...} the answer of a member of the swarm
};

std::string_view name_of(EventType type) noexcept;

struct Event {
  EventType type;
  std::string data;  // a JSON value, as above
};

using EventSink = std::function<void(const Event&)>;

}  // namespace runtime::agent
