// Runs a program in a jail, with its tests where there are any.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>
#include <variant>

#include "runtime/agent/task_scope.h"
#include "runtime/sandbox/runner.h"

namespace runtime::agent {

// What failed of a program with tests: the program itself, or its tests.
enum class Part : std::uint8_t { program, tests };

struct TrialResult {
  RunResult result;
  Part failed_in = Part::program;  // only where the result is not a success; `program` also where
                                   // the driver was killed before it could say
};

using Tried = std::variant<TrialResult, Stop>;

// Whether watchers see the program's output as it is written; hidden where several run at once.
enum class Output : std::uint8_t { shown, hidden };

// Whether the files that the task asks for are taken out of the working directory.
enum class Artifacts : std::uint8_t { taken, left };

// With `tests`, success means that the tests ran to their end and that the child process with
// program and tests then exited with status 0, which the first process of the jail, test_driver.py,
// attests. The result's standard output contains only what the program wrote.
boost::asio::awaitable<Tried> try_program(const TaskScope& scope, Runner& runner, std::string code,
                                          std::string tests, Output output, Artifacts artifacts);

}  // namespace runtime::agent
