// Small parts of a root as copies instead of mounts: a file cannot have a mount with an inode of
// its own, and a copy in a jail's root costs less than any mount.
#pragma once

#include <optional>
#include <string>

#include "jail/fd.h"
#include "jail/spec.h"

namespace jail {

// A copy, for `target`, of a regular file of up to 1 MiB that everybody may read and nobody
// execute; nothing where `file` is anything else. Reads from the start.
std::optional<TextFile> small_file(const Fd& file, const std::string& target);

// The same root, with each directory of `binds` that holds only such files, links and directories
// with something in them, 2,000 entries and 1 MiB in all, and nothing that is hidden, moved to
// `files` and `links`.
Root with_small_directories_copied(Root root);

}  // namespace jail
