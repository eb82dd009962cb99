// Tasks with tests that decide, by running, whether a program solves them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jail/result.h"
#include "runtime/sandbox/run_request.h"

namespace runtime::benchmark {

struct SuiteTask {
  std::string id;     // "strings/roman_numerals"
  std::string task;   // what the model is told
  std::string tests;  // appended to the program, which must exit with 0; the model is not told them
  std::vector<InputFile> files;  // in the working directory
  std::string solution;          // passes the tests
  std::string wrong;             // looks right and fails them; empty in suites from files
};

struct Suite {
  std::string name;
  std::string about;
  std::vector<SuiteTask> tasks;
};

// "quick", "algorithms", ... and last "full", which is all of them together.
std::vector<std::string> suite_names();

// One of suite_names().
jail::Result<Suite> shipped_suite(std::string_view name);

// One problem a line, in any of the forms in which these two collections are passed around.
// HumanEval: task_id, prompt, entry_point, test, canonical_solution. MBPP: task_id, text or prompt,
// code, test_list, and test_setup_code or test_imports. Either as recorded programs: id, code (with
// the tests at its end), and task for MBPP. Of MBPP the model is told the tests, as is usual: the
// text alone names no function. `what` names the file in errors, which name the line.
jail::Result<Suite> suite_of_lines(std::string_view lines, std::string_view what);

// By name, else a file of lines.
jail::Result<Suite> find_suite(const std::string& name_or_path);

}  // namespace runtime::benchmark
