#pragma once

#include <string>
#include <vector>

#include "jail/fd.h"
#include "jail/network.h"
#include "jail/result.h"

namespace jail {

// As wire::Invocation says: `argv` is the interpreter, the program's file and what follows. Errors:
// invalid (a NUL, a variable without '='), exhausted, kernel.
Result<Fd> invocation_file(const std::vector<std::string>& argv,
                           const std::vector<std::string>& env, const Network& network);

}  // namespace jail
