// Walks everything below a directory of a guest, one entry after the other.
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

// No link is followed, no other mount is entered, and entries that a guest removes meanwhile are
// left out. Holds two directories open and the names of the entries on the way. Not thread-safe.
class TreeWalk {
 public:
  static constexpr std::size_t max_entries = 65'536;

  explicit TreeWalk(jail::Fd root) : root_(std::move(root)) {}

  // Returns the next entry, with its path within the root: a directory before its content, names in
  // their order. Returns std::nullopt at the end. Errors: exhausted without an errno where there
  // are more entries than allowed, kernel where a directory cannot be read.
  jail::Result<std::optional<FileEntry>> next();

  // Opens the file that next() returned last, for reading. The Fd is not valid where that is no
  // file any more. Errors: kernel where it cannot be read.
  jail::Result<jail::Fd> open_file() const;

 private:
  // A directory whose entries are being walked.
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
  jail::Fd directory_;  // directory of the last level
  std::string path_;    // path of the entry that next() returned last
  std::string name_;
  std::size_t entries_ = 0;
};

}  // namespace runtime
