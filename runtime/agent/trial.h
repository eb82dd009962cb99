// Runs a program in a jail, with its tests where there are any.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>
#include <variant>

#include "runtime/agent/task_scope.h"
#include "runtime/sandbox/runner.h"

namespace runtime::agent {

// Where a program failed that had tests.
enum class Part : std::uint8_t { program, tests };

struct TrialResult {
  RunResult result;
  Part failed_in = Part::program;  // says something only where result is no success
};

using Tried = std::variant<TrialResult, Stop>;

// Whether watchers see what the program writes as it is written; not where several run at once.
enum class Output : std::uint8_t { shown, hidden };

// Whether what the task asks for is taken out of the working directory.
enum class Artifacts : std::uint8_t { taken, left };

// With `tests`, success means that they came to their end, too, and that the process ended with
// status 0 after them: test_driver.py says how that is known. The result's standard output is the
// program's own.
boost::asio::awaitable<Tried> try_program(const TaskScope& scope, Runner& runner, std::string code,
                                          std::string tests, Output output, Artifacts artifacts);

}  // namespace runtime::agent
