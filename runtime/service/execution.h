// The identity of one program or task that is run.
#pragma once

#include <chrono>
#include <string>

namespace runtime {

struct Execution {
  std::string id;  // a UUID, which is also its job's
  std::chrono::system_clock::time_point created;
};

// With an id that nobody can guess, created now.
Execution make_execution();

}  // namespace runtime
