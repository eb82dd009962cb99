// What all jails of a host share and can open: device nodes, and the namespace of clocks.
#pragma once

#include <vector>

#include "jail/fd.h"
#include "jail/result.h"

namespace jail {

// Descriptors that hold these inodes (child/hold_inode.h) for as long as they are open. Errors:
// ErrorKind::refused where another process of this host has locked one exclusively.
Result<std::vector<Fd>> hold_shared_inodes();

}  // namespace jail
