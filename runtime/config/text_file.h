// Reads small files as a whole.
#pragma once

#include <cstddef>
#include <string>

#include "jail/result.h"

namespace runtime {

// Errors: ErrorKind::kernel with the errno of open or read (ENOENT, EACCES, EISDIR, ...);
// ErrorKind::invalid where the file is larger than `max_bytes`.
jail::Result<std::string> read_text_file(const std::string& path, std::size_t max_bytes);

// The same for an open descriptor, which is read to its end; `name` is for errors.
jail::Result<std::string> read_text(int fd, const std::string& name, std::size_t max_bytes);

}  // namespace runtime
