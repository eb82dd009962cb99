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

// Contains the files, directories and links below the directory, as TreeWalk finds them, and
// nothing else. A file has the size that it has when its turn comes: content that it then loses is
// replaced by zeros, and content that it gains is left out. Not thread-safe; it touches names that
// a guest may change.
class TarTree {
 public:
  explicit TarTree(jail::Fd directory) : walk_(std::move(directory)) {}

  // Appends the next part of the archive, about `bytes` of it. Returns false at its end. Errors: as
  // TreeWalk.
  jail::Result<bool> read(std::string& out, std::size_t bytes);

 private:
  jail::Result<void> add(FileEntry entry, std::string& out);
  jail::Result<void> add_file(const std::string& path, std::string& out);
  jail::Result<void> copy_some(std::string& out, std::size_t bytes);

  TreeWalk walk_;
  jail::Fd file_;  // the file whose content is being read
  std::string file_path_;
  std::uint64_t left_ = 0;
  std::uint64_t padding_ = 0;
};

}  // namespace runtime
