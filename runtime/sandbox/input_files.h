// The rules for files that a caller puts into the working directory before the program starts.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "jail/result.h"
#include "runtime/sandbox/run_request.h"

namespace runtime {

struct InputFileLimits {
  std::size_t files = 64;
  std::size_t total_bytes = 8u << 20;
};

// Paths are relative, at most 512 bytes and 16 components, none of them empty, "." or "..". No path
// may be `own_name` (the program's own file), occur twice, or be a directory of another path.
// Errors: invalid; `doing` begins with the path in quotes, where one is at fault.
jail::Result<void> check_input_files(const std::vector<InputFile>& files, std::string_view own_name,
                                     const InputFileLimits& limits);

}  // namespace runtime
