// The files of a directory of a sandbox as a tar archive, piece by piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "jail/fd.h"
#include "jail/result.h"

namespace runtime {

// Files, directories and links below the directory; what is something else, or in another mount, is
// left out, and no link is followed. A file has the size that it has when its turn comes: what it
// is short of then is zeros, and what it has more is left out. Not thread-safe; what it does
// touches names that a guest may change.
class TarTree {
 public:
  static constexpr std::size_t max_entries = 65'536;

  explicit TarTree(jail::Fd directory) : root_(std::move(directory)) {}

  // Appends what comes next, some `bytes` of it. False: that was all of it. Errors: exhausted where
  // there are more entries than may be, kernel where one of them cannot be read.
  jail::Result<bool> read(std::string& out, std::size_t bytes);

 private:
  // A directory whose entries have their turn.
  struct Level {
    std::string path;  // within the root, which has none
    std::vector<std::string> names;
    std::size_t next = 0;
  };

  jail::Result<void> enter(std::string path);
  jail::Result<void> add(const std::string& path, const std::string& name, std::string& out);
  jail::Result<void> add_file(const std::string& path, const std::string& name, std::string& out);
  jail::Result<void> copy_some(std::string& out, std::size_t bytes);

  const jail::Fd root_;
  bool is_begun_ = false;
  std::vector<Level> levels_;
  jail::Fd directory_;  // of the last level
  std::size_t entries_ = 0;
  jail::Fd file_;  // whose content is being read
  std::string file_path_;
  std::uint64_t left_ = 0;
  std::uint64_t padding_ = 0;
};

}  // namespace runtime
