// The files of a directory of a sandbox as a tar archive, piece by piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "jail/fd.h"
#include "jail/result.h"
#include "runtime/living/tree_walk.h"

namespace runtime {

// Files, directories and links below the directory, as TreeWalk finds them; what is something else
// is left out. A file has the size that it has when its turn comes: what it is short of then is
// zeros, and what it has more is left out. Not thread-safe; what it does touches names that a guest
// may change.
class TarTree {
 public:
  explicit TarTree(jail::Fd directory) : walk_(std::move(directory)) {}

  // Appends what comes next, some `bytes` of it. False: that was all of it. Errors: as TreeWalk.
  jail::Result<bool> read(std::string& out, std::size_t bytes);

 private:
  jail::Result<void> add(FileEntry entry, std::string& out);
  jail::Result<void> add_file(const std::string& path, std::string& out);
  jail::Result<void> copy_some(std::string& out, std::size_t bytes);

  TreeWalk walk_;
  jail::Fd file_;  // whose content is being read
  std::string file_path_;
  std::uint64_t left_ = 0;
  std::uint64_t padding_ = 0;
};

}  // namespace runtime
