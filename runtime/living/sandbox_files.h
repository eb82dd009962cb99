// Files of a living sandbox, while hostile processes in it may change any name. A path is absolute,
// is resolved inside of the sandbox, and leads nowhere else; "a/.." in it is dropped, whatever `a`
// is.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jail/fd.h"
#include "jail/result.h"

namespace runtime {

struct FileEntry {
  std::string path;  // as requested, or a path below that
  enum class Type : std::uint8_t { file, directory, link, other } type = Type::other;
  std::uint64_t size = 0;  // in bytes
  mode_t mode = 0;         // permission bits
  std::chrono::system_clock::time_point modified{};
  std::string target = {};  // for a link: its text
};

struct FileList {
  std::vector<FileEntry> entries;  // sorted by path
  bool is_truncated = false;       // there are more entries than may be listed
};

// Thread-safe as far as `open` is. Errors of every function: those of `open`; invalid where a path
// has no last name to work on; kernel with the errno, such as ENOENT; exhausted with ENOSPC where
// the disk is full.
class SandboxFiles {
 public:
  // As jail::Jail::open_file().
  using Open = std::function<jail::Result<jail::Fd>(std::string_view path, int flags, mode_t mode)>;

  static constexpr std::size_t max_entries = 10'000;
  static constexpr int max_depth = 64;  // of a tree that is listed or removed

  // The room for one file that is being written, whose bytes no look at the disk sees before the
  // file has its name.
  class Reservation {
   public:
    Reservation() = default;
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;
    // The file has its name, or is gone and takes no room any more.
    virtual ~Reservation() = default;
    // Returns false where there is no room for these bytes too.
    virtual bool take(std::uint64_t bytes) = 0;
    // The file has its name: what it takes stays.
    virtual void note_name() = 0;
  };
  // Returns null where the kernel alone bounds what is written into the directory.
  using Room = std::function<std::unique_ptr<Reservation>(int directory)>;

  // Without `room` the kernel alone says whether the disk is full.
  explicit SandboxFiles(Open open, Room room = {})
      : open_(std::move(open)), room_(std::move(room)) {}
  const Room& room() const noexcept { return room_; }

  // Describes the file at this path; a link is described itself, not its target.
  jail::Result<FileEntry> stat(std::string_view path) const;
  // Lists a directory, down to `depth` levels; 1 .. max_depth. Neither links nor other mounts are
  // followed.
  jail::Result<FileList> list(std::string_view path, int depth) const;
  // Opens a regular file for reading and follows links; EISDIR where it is a directory.
  jail::Result<jail::Fd> open_to_read(std::string_view path) const;
  // Opens a directory for reading and follows links.
  jail::Result<jail::Fd> open_directory(std::string_view path) const;
  // Makes a directory and those above it. Returns false where it exists already. EEXIST: something
  // else exists.
  jail::Result<bool> make_directory(std::string_view path) const;
  // Removes a file, or with `recursive` a directory and all in it. ENOTEMPTY: a directory is not
  // empty and `recursive` is false, or a guest makes new files all the while.
  jail::Result<void> remove(std::string_view path, bool recursive) const;
  // Moves a file. It replaces a file at `to`, but not a directory.
  jail::Result<void> move(std::string_view from, std::string_view to) const;

  // A file that gets its name when its content is complete. A NewFile that is not committed is
  // removed.
  class NewFile {
   public:
    // As create(), in a directory that exists. `path` is for errors.
    static jail::Result<NewFile> in(jail::Fd directory, std::string name, std::string path,
                                    std::optional<mode_t> mode, const Room& room = {});

    // In seconds since 1970; without this call it is the time of the last write.
    void set_modified(std::int64_t seconds) { modified_ = seconds; }
    // After an error the file is gone, so that what the disk then has is what it has without it.
    jail::Result<void> write(std::string_view bytes);
    // Replaces the file or link of that name. Returns true where there was none.
    jail::Result<bool> commit();

   private:
    NewFile() = default;

    jail::Error given_up(int error);

    jail::Fd directory_;
    // Without a name a guest cannot open the file, and so cannot hold the lock that write() needs.
    jail::Fd file_;
    std::string path_;
    std::string name_;
    std::unique_ptr<Reservation> reservation_;
    mode_t mode_ = 0;
    std::optional<std::int64_t> modified_;
  };
  // Makes the directories above it. `mode` is the permission bits; without it they are those of the
  // file that it replaces, or 0644.
  jail::Result<NewFile> create(std::string_view path, std::optional<mode_t> mode) const;

 private:
  struct Place;

  jail::Result<Place> place_of(std::string_view path) const;
  jail::Result<void> make_directories(const std::string& path, int depth) const;

  const Open open_;
  const Room room_;
};

}  // namespace runtime
