// Copies a tree of files that guests have left, within bounds.
#pragma once

#include <cstdint>
#include <string>

#include "jail/fd.h"
#include "jail/result.h"
#include "runtime/sandbox/cancel.h"

namespace runtime {

// Copies one directory's content into another, empty one on the same file system. Copied are
// regular files, directories and links, which are copied as links and never followed; pipes,
// sockets and devices are left out. A file with several names becomes several files. A copy has the
// permissions of the original without the set-user-ID, set-group-ID and sticky bits, and its time
// of modification; holes stay holes. Where the file system can share the blocks of files, it does.
//
// Nobody may write to either tree meanwhile. A directory or file whose owner may not read it is
// made readable for that; a directory stays so. Not thread-safe.
class TreeCopy {
 public:
  struct Limits {
    std::uint64_t bytes = 0;  // of the disk, in all
    std::uint64_t files = 0;  // files, directories and links
  };

  // Everything below both directories belongs to this process's user.
  TreeCopy(jail::Fd from, jail::Fd to, Limits limits, Cancel cancel)
      : from_(std::move(from)), to_(std::move(to)), limits_(limits), cancel_(std::move(cancel)) {}

  // Errors: exhausted with EFBIG where the tree is larger than a limit, with ENOSPC where the
  // file system is full; closed where it was cancelled; kernel. What was copied by then stays.
  jail::Result<void> run();

  // What has been copied.
  std::uint64_t bytes() const noexcept { return bytes_; }
  std::uint64_t files() const noexcept { return files_; }

 private:
  jail::Result<void> copy_directory(jail::Fd from, const jail::Fd& to, int depth);
  jail::Result<void> copy_entry(int from, const std::string& name, int to, int depth);
  jail::Result<void> copy_file(const jail::Fd& node, int to, const std::string& name);
  jail::Result<void> copy_link(int from, const std::string& name, int to);
  jail::Result<void> copy_content(int from, int to, std::uint64_t size);
  jail::Result<void> copy_piece(int from, int to, std::int64_t begin, std::int64_t end);
  jail::Result<void> take(std::uint64_t bytes);

  const jail::Fd from_;
  const jail::Fd to_;
  const Limits limits_;
  const Cancel cancel_;
  std::uint64_t bytes_ = 0;
  std::uint64_t files_ = 0;
};

}  // namespace runtime
