// Files of the host, and directories with all that is in them, for a program's working directory.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "jail/result.h"
#include "runtime/sandbox/run_request.h"
#include "server/cli/arguments.h"

namespace server {

// What is read at most, of all --file together.
inline constexpr std::size_t max_input_bytes = 48u << 20;
inline constexpr std::size_t max_input_files = 4096;

// Reads the sources, as whoever this process is. A directory becomes the files in it, in the order
// of their names, below the destination; where that is "." they stand in the working directory
// itself. No link in it is followed: what is neither a file nor a directory is left out, which is
// told on standard error. Errors name the file.
jail::Result<std::vector<runtime::InputFile>> read_input_files(
    const std::vector<FileOption>& files);

}  // namespace server
