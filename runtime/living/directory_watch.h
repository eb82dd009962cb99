// What happens to the names in a directory of a sandbox, and further down, while it happens.
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
    written,     // perhaps several times
    attributes,  // mode, owner or times
    moved,       // within what is watched; to or from elsewhere it is created or removed
    removed,
    overflow,  // events are lost, or directories are not watched: look at the whole tree again
  } type = Type::overflow;
  std::string path = {};
  bool is_directory = false;
  std::string from = {};  // of `moved`: the path before
};

// How many things may be watched at a time. Thread-safe. Outlives its shares.
class WatchRoom {
 public:
  explicit WatchRoom(std::uint32_t most) : left_(most) {}

  bool take();
  void give_back(std::uint32_t count);

 private:
  std::mutex mutex_;
  std::uint32_t left_;
};

// Holds no file of the sandbox, so what is watched goes when the sandbox ends. Guests may do what
// they like with the names meanwhile: links are never followed, other mounts not entered, and what
// one call does is bounded. One call at a time; they look at names that a guest may change, which
// can take them a second.
class DirectoryWatch {
 public:
  using OpenDirectory = std::function<jail::Result<jail::Fd>(std::string_view path)>;
  using Rooms = std::vector<std::shared_ptr<WatchRoom>>;
  struct Bounds {
    Rooms watches;      // each has room for one more, whatever it watches
    Rooms directories;  // and for each directory that is watched
  };

  // At most so many events at a time.
  static constexpr std::size_t max_events = 512;

  // Watches the directory that has `path`, through whatever links lead there; `is_recursive`: and
  // those below it, all of which must fit. Errors: as `open`; exhausted without an errno where
  // there is no room, or the host's user may watch no more.
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
    bool has_more = false;  // some may wait still, or come soon: read again, though not at once
    bool is_over = false;   // the directory itself is gone from its place
  };
  // What has happened since, without waiting and without working for long.
  Events read();

 private:
  struct Moved {
    std::string path;
    bool is_directory = false;
    std::uint32_t cookie = 0;
  };

  DirectoryWatch() = default;

  jail::Result<void> add_first();
  // Watches this directory, and those below it; what is in one that was not watched is told.
  void add_all_below(const std::string& path, Events& events);
  // The errno, or 0. EDQUOT: there is no room. `more`: directories in it.
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
  void end_move(Events& events);
  void say(FileEvent::Type type, const std::string& path, bool is_directory, Events& events,
           const std::string& from = {});
  void say_overflow(Events& events);
  std::string whole(const std::string& path) const;
  // Less than 0 where it is not in its place any more.
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
  jail::Fd root_;                     // during a call, where it was needed
  std::map<int, std::string> paths_;  // of what is watched, by the kernel's number
  std::set<int> left_;                // of these, what was moved away: nothing of it is told
  std::optional<Moved> moved_;        // away, and perhaps to another place that is watched
  // What was told when its directory was looked into; the kernel may say it again.
  std::set<std::string> told_;
  std::chrono::steady_clock::time_point settled_at_{};  // when no more is expected of either
  bool is_quiet_ = false;                               // nothing is told
  bool must_look_again_ = false;  // directories may be elsewhere than their paths say
};

}  // namespace runtime
