// The report of a benchmark, for a terminal, for programs and for a page.
#pragma once

#include <string>

#include "runtime/benchmark/benchmark.h"

namespace runtime::benchmark {

std::string as_table(const BenchmarkReport& report);
// An object: suite, asked, tasks, pass_at_1, solved_within_3, attempts_each, seconds, ...
std::string as_json(const BenchmarkReport& report);
std::string as_markdown(const BenchmarkReport& report);

// One line: "strings/justify  solved at 2  4.1 s  5321 tokens".
std::string as_line(const TaskScore& score);

}  // namespace runtime::benchmark
