// Reports what happens to the names in a directory of a sandbox, and further down, while it
// happens.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "jail/fd.h"
#include "jail/result.h"

namespace runtime {

struct FileEvent {
  enum class Type : std::uint8_t {
    created,
    written,     // may be reported several times
    attributes,  // mode, owner or times
    moved,       // within the watched tree; a move to or from elsewhere is `removed` or `created`
    removed,
    overflow,  // events were lost, or directories are not watched: the caller must look at the
               // whole tree again
  } type = Type::overflow;
  std::string path = {};
  bool is_directory = false;
  std::string from = {};  // for `moved`: the path before
};

// Bounds the number of things that are watched at a time. Thread-safe. Every
// place that is taken must be given back.
class WatchRoom {
 public:
  explicit WatchRoom(std::uint32_t most) : left_(most) {}

  bool take();
  void give_back(std::uint32_t count);

 private:
  std::mutex mutex_;
  std::uint32_t left_;
};

// Watches a directory. Holds no file of the sandbox open, so what is watched goes when the sandbox
// ends. Guests may change the names meanwhile in any way: below the path that was asked for links
// are never followed, other mounts are not entered, and one call's work is bounded. Must be called
// by one thread at a time; a call looks at names that a guest may change, which can take a second.
class DirectoryWatch {
 public:
  using OpenDirectory = std::function<jail::Result<jail::Fd>(std::string_view path)>;
  using Rooms = std::vector<std::shared_ptr<WatchRoom>>;
  struct Bounds {
    Rooms watches;      // each DirectoryWatch takes a place in every one of these
    Rooms directories;  // each watched directory takes a place in every one of these
  };

  // With this many events read() fetches no more from the kernel. The last batch and the content of
  // new directories may go beyond it.
  static constexpr std::size_t max_events = 512;

  // Watches the directory at `path`, which is resolved through links; with `is_recursive` also all
  // directories below it, which must fit. Errors: as `open`; exhausted without an errno where there
  // is no room, or where the host's user may watch no more.
  static jail::Result<DirectoryWatch> start(OpenDirectory open, std::string path, bool is_recursive,
                                            Bounds bounds);

  DirectoryWatch(DirectoryWatch&& other) noexcept;
  DirectoryWatch& operator=(DirectoryWatch&&) = delete;
  ~DirectoryWatch();

  // Readable when something has happened.
  int fd() const noexcept { return inotify_.get(); }
  std::size_t directories() const noexcept { return paths_.size(); }

  struct Events {
    std::vector<FileEvent> events = {};
    bool has_more = false;  // some may still wait, or come soon: read again, though not at once
    bool is_over = false;   // the directory itself is no longer at its path
  };
  // Returns what has happened since the last call. Does not wait for events.
  Events read();

 private:
  struct Moved {
    std::string path;
    bool is_directory = false;
    std::uint32_t cookie = 0;
  };

  DirectoryWatch() = default;

  jail::Result<void> add_first();
  // Watches this directory and those below it; reports the content of one that was not watched
  // before.
  void add_all_below(const std::string& path, Events& events);
  // Returns the errno, or 0. EDQUOT: there is no room. `more` gets the directories in it.
  int add(int root, const std::string& path, std::vector<std::string>& more, Events& events);
  void look_into(jail::Fd fd, const std::string& path, bool is_new, std::vector<std::string>& more,
                 Events& events);
  void look_again(Events& events);
  void forget_below(const std::string& path);
  void rename_below(const std::string& from, const std::string& to);
  void take(std::string_view bytes, Events& events);
  void take_one(int number, std::uint32_t mask, std::uint32_t cookie, std::string_view name,
                Events& events);
  void take_name(const std::string& path, std::uint32_t mask, Events& events);
  bool is_nameless(const std::string& path);
  void end_move(Events& events);
  void say(FileEvent::Type type, const std::string& path, bool is_directory, Events& events,
           const std::string& from = {});
  void say_overflow(Events& events);
  std::string whole(const std::string& path) const;
  // Returns a negative number where the directory is no longer in its place.
  int root();
  Events read_some();

  OpenDirectory open_;
  std::string path_;
  bool is_recursive_ = false;
  Bounds bounds_;
  bool is_counted_ = false;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  jail::Fd inotify_;
  jail::Fd root_;                     // open during a call, where it was needed
  std::map<int, std::string> paths_;  // watched paths, by the kernel's number
  std::set<int> left_;                // numbers of watched directories that were moved away: their
                                      // events are not reported
  std::optional<Moved> moved_;        // the file or directory that was last moved away, until it
                                      // arrives in a watched place or is given up
  // What was reported when its directory was read; the kernel may report it again.
  std::set<std::string> told_;
  // Until then the second half of `moved_`, or the kernel's event for a name in `told_`, may come.
  std::chrono::steady_clock::time_point settled_at_{};
  bool is_quiet_ = false;         // nothing is reported
  bool must_look_again_ = false;  // directories may no longer be where their paths say
};

}  // namespace runtime
