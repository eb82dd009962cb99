#include "runtime/service/execution.h"

#include "runtime/observe/uuid.h"

namespace runtime {

Execution make_execution() {
  return {.id = make_uuid(), .created = std::chrono::system_clock::now()};
}

}  // namespace runtime
