#pragma once

#include <string>
#include <vector>

#include "jail/fd.h"
#include "jail/network.h"
#include "jail/result.h"

namespace jail {

// Makes the file that wire::Invocation describes. `argv` is the interpreter, the program's file and
// the program's arguments. Errors: invalid (a NUL, a variable without '='), exhausted, kernel.
Result<Fd> invocation_file(const std::vector<std::string>& argv,
                           const std::vector<std::string>& env, const Network& network);

}  // namespace jail
