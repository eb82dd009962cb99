// The identity of one run of a program or a task.
#pragma once

#include <chrono>
#include <string>

namespace runtime {

struct Execution {
  std::string id;  // a UUID, which is also the job's id
  std::chrono::system_clock::time_point created;
};

// Makes an identity with an id that nobody can guess, created now.
Execution make_execution();

}  // namespace runtime
