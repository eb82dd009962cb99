// The file of a database before it is opened: its owner's alone, and out of the way when damaged.
#pragma once

#include <string>

#include "jail/result.h"

namespace runtime {

inline constexpr const char* in_memory = ":memory:";

// The database would be made with the umask's mode; what is in it is its owner's alone. Nothing for
// in_memory. Errors: kernel, and unsupported where a device, directory or pipe is there.
jail::Result<void> make_private_file(const std::string& path);

// The directory of `path`, for its owner alone, and those above it. What is wrong with it shows
// when the file is opened. Nothing for in_memory.
void make_private_directory(const std::string& path);

// Renames a damaged file to `path`.damaged. One older damaged file is kept beside it; two would
// fill a disk that is the cause of the damage.
jail::Result<void> set_aside(const std::string& path);

}  // namespace runtime
