// Runs a program in a jail, with its tests where there are any.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>
#include <variant>

#include "runtime/agent/task_scope.h"
#include "runtime/sandbox/runner.h"

namespace runtime::agent {

// The part in which a program with tests failed.
enum class Part : std::uint8_t { program, tests };

struct TrialResult {
  RunResult result;
  Part failed_in = Part::program;  // meaningful only where the result is not a success
};

using Tried = std::variant<TrialResult, Stop>;

// Whether watchers see the program's output as it is written; hidden where several run at once.
enum class Output : std::uint8_t { shown, hidden };

// Whether the files that the task asks for are taken out of the working directory.
enum class Artifacts : std::uint8_t { taken, left };

// With `tests`, success means that they, too, came to their end and that the process ended with
// status 0 afterwards; test_driver.py says how that is recognized. The result's standard output
// contains only what the program wrote.
boost::asio::awaitable<Tried> try_program(const TaskScope& scope, Runner& runner, std::string code,
                                          std::string tests, Output output, Artifacts artifacts);

}  // namespace runtime::agent
