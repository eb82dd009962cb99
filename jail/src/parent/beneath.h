// Opening below a directory in which a guest may have made anything.
#pragma once

#include <cstdint>
#include <string>

#include "jail/fd.h"

namespace jail {

// Out of the directory leads neither a symbolic link, nor "..", nor a mount; the last component is
// not followed either. `flags` and `mode` as for open(2); close-on-exec. Not valid with errno when
// it fails.
Fd open_beneath(int directory, const std::string& path, int flags, std::uint32_t mode = 0);

}  // namespace jail
