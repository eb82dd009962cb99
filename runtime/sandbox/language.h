// What runs a program of each language, as paths inside the jail.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jail/spec.h"
#include "runtime/sandbox/run_request.h"

namespace runtime {

struct Interpreter {
  std::string_view path;       // not looked up in PATH: a program cannot be given another python3
  std::string_view file_name;  // the program's own, in the working directory
};

Interpreter interpreter_of(Language language) noexcept;

// argv and env for `request`: the interpreter, the program's file, the caller's arguments; a small
// fixed environment with the caller's over it.
std::vector<std::string> arguments_of(const RunRequest& request);
std::vector<std::string> environment_of(const RunRequest& request);

}  // namespace runtime
