// All that is below a directory of a guest, one after the other.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jail/fd.h"
#include "jail/result.h"
#include "runtime/living/sandbox_files.h"

namespace runtime {

// No link is followed, no other mount entered, and what a guest removes meanwhile is left out.
// Holds two directories and the names of those on the way. Not thread-safe.
class TreeWalk {
 public:
  static constexpr std::size_t max_entries = 65'536;

  explicit TreeWalk(jail::Fd root) : root_(std::move(root)) {}

  // The next one, with its path within the root: a directory before what is in it, names in their
  // order. Nothing: that was all. Errors: exhausted without an errno where there are more than may
  // be, kernel where a directory cannot be read.
  jail::Result<std::optional<FileEntry>> next();

  // The file that next() gave last, for reading; not valid where it is none any more. Errors:
  // kernel where it cannot be read.
  jail::Result<jail::Fd> open_file() const;

 private:
  // A directory whose entries have their turn.
  struct Level {
    std::string path;
    std::vector<std::string> names;
    std::size_t next = 0;
  };

  jail::Result<void> enter(std::string path);
  void leave();

  const jail::Fd root_;
  std::optional<std::string> to_enter_ = std::string();  // the root has an empty path
  std::vector<Level> levels_;
  jail::Fd directory_;  // of the last level
  std::string path_;    // what next() gave last
  std::string name_;
  std::size_t entries_ = 0;
};

}  // namespace runtime
