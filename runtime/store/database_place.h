// Prepares the file of a database before it is opened: only its owner may access it, and a damaged
// file is moved away.
#pragma once

#include <string>

#include "jail/result.h"

namespace runtime {

inline constexpr const char* in_memory = ":memory:";

// Makes the file with a mode for its owner alone, since SQLite would use the umask's mode. Does
// nothing for in_memory. Errors: kernel, and unsupported where a device, directory or pipe is
// there.
jail::Result<void> make_private_file(const std::string& path);

// Makes the directory of `path`, for its owner alone, and those above it. Errors show when the file
// is opened. Does nothing for in_memory.
void make_private_directory(const std::string& path);

// Renames a damaged file to `path`.damaged. One older damaged file is kept beside it; two might
// fill a disk whose being full caused the damage.
jail::Result<void> set_aside(const std::string& path);

}  // namespace runtime
