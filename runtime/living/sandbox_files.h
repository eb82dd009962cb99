// Files of a sandbox that lives, while hostile processes in it may change any name. A path is
// absolute, leads where it leads inside, and nowhere else; "a/.." in it means nothing, whatever `a`
// is.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jail/fd.h"
#include "jail/result.h"

namespace runtime {

struct FileEntry {
  std::string path;  // as it was asked for, or below that
  enum class Type : std::uint8_t { file, directory, link, other } type = Type::other;
  std::uint64_t size = 0;  // bytes
  mode_t mode = 0;         // permission bits
  std::chrono::system_clock::time_point modified{};
  std::string target = {};  // of a link, as it is written there
};

struct FileList {
  std::vector<FileEntry> entries;  // sorted by path
  bool is_truncated = false;       // there are more than may be listed
};

// Thread-safe as far as `open` is. Errors of every function: what `open` answers; invalid where a
// path has no name to work on; kernel with the errno, such as ENOENT; exhausted with ENOSPC where
// the disk limit is met.
class SandboxFiles {
 public:
  // As jail::Jail::open_file().
  using Open = std::function<jail::Result<jail::Fd>(std::string_view path, int flags, mode_t mode)>;

  static constexpr std::size_t max_entries = 10'000;
  static constexpr int max_depth = 64;  // of what is listed or removed with all that is in it

  explicit SandboxFiles(Open open) : open_(std::move(open)) {}

  // Describes what has this path; a link is described itself, not what it leads to.
  jail::Result<FileEntry> stat(std::string_view path) const;
  // What is in a directory, and so many levels further down; 1 .. max_depth. Neither links nor
  // mounts are followed.
  jail::Result<FileList> list(std::string_view path, int depth) const;
  // A regular file for reading, links followed; EISDIR where it is a directory.
  jail::Result<jail::Fd> open_to_read(std::string_view path) const;
  // A directory for reading, links followed.
  jail::Result<jail::Fd> open_directory(std::string_view path) const;
  // With the directories above it. False: it is there already. EEXIST: something else is.
  jail::Result<bool> make_directory(std::string_view path) const;
  // ENOTEMPTY: it is a directory with something in it, and not to be removed with that, or a guest
  // makes new files all the while.
  jail::Result<void> remove(std::string_view path, bool recursive) const;
  // Replaces a file, but no directory.
  jail::Result<void> move(std::string_view from, std::string_view to) const;

  // A file that gets its name when all of it is there. What was begun and not committed is removed.
  class NewFile {
   public:
    // As create(), in a directory that is there. `path` is for errors.
    static jail::Result<NewFile> in(jail::Fd directory, std::string name, std::string path,
                                    std::optional<mode_t> mode);

    // In seconds since 1970; without it, the time of the last write.
    void set_modified(std::int64_t seconds) { modified_ = seconds; }
    jail::Result<void> write(std::string_view bytes);
    // In place of the file or link of that name. True: there was none.
    jail::Result<bool> commit();

   private:
    NewFile() = default;

    jail::Fd directory_;
    // Without a name a guest cannot open it, and so not hold the lock that write() needs.
    jail::Fd file_;
    std::string path_;
    std::string name_;
    mode_t mode_ = 0;
    std::optional<std::int64_t> modified_;
  };
  // Makes the directories above it. `mode`: its permission bits; without it those of the file that
  // it replaces, or 0644.
  jail::Result<NewFile> create(std::string_view path, std::optional<mode_t> mode) const;

 private:
  struct Place;

  jail::Result<Place> place_of(std::string_view path) const;
  jail::Result<void> make_directories(const std::string& path, int depth) const;

  const Open open_;
};

}  // namespace runtime
