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
  std::string task;   // the text that the model gets
  std::string tests;  // appended to the program, which must then exit with 0; the model does not
                      // get them
  std::vector<InputFile> files;  // present in the working directory
  std::string solution;          // a program that passes the tests
  std::string wrong;             // a program that looks right but fails the tests; empty in suites
                                 // from files
};

struct Suite {
  std::string name;
  std::string about;
  std::vector<SuiteTask> tasks;
};

// "quick", "algorithms", ... and last "full", which is all of them together.
std::vector<std::string> suite_names();

// `name` must be one of suite_names().
jail::Result<Suite> shipped_suite(std::string_view name);

// One problem a line, in any of the forms in which these two collections are passed around.
// HumanEval: task_id, prompt, entry_point, test, canonical_solution. MBPP: task_id, text or prompt,
// code, test_list, and test_setup_code or test_imports. Either may also come as recorded programs:
// id, code (with the tests at its end), and task for MBPP. As is usual for MBPP, the model gets its
// tests: the text alone names no function. `what` names the file in errors, which name the line.
jail::Result<Suite> suite_of_lines(std::string_view lines, std::string_view what);

// Takes the name of a suite, or else the path of a file of lines.
jail::Result<Suite> find_suite(const std::string& name_or_path);

}  // namespace runtime::benchmark
