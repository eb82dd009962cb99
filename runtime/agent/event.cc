#include "runtime/agent/event.h"

namespace runtime::agent {

std::string_view name_of(EventType type) noexcept {
  switch (type) {
    case EventType::generating:
      return "generating";
    case EventType::token:
      return "token";
    case EventType::code:
      return "code";
    case EventType::executing:
      return "executing";
    case EventType::standard_output:
      return "stdout";
    case EventType::standard_error:
      return "stderr";
    case EventType::execution_result:
      return "execution_result";
    case EventType::critiquing:
      return "critiquing";
    case EventType::critique:
      return "critique";
    case EventType::retrying:
      return "retrying";
    case EventType::swarm:
      return "swarm";
  }
  return "unknown";
}

}  // namespace runtime::agent
