#include "runtime/living/directory_watch.h"

#include <errno.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "runtime/living/below.h"

namespace runtime {
namespace {

using jail::Error;
using jail::ErrorKind;
using jail::Fd;
using jail::Result;
using Type = FileEvent::Type;

constexpr std::uint32_t watched_events = IN_CREATE | IN_DELETE | IN_MODIFY | IN_CLOSE_WRITE |
                                         IN_ATTRIB | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF |
                                         IN_MOVE_SELF | IN_ONLYDIR | IN_EXCL_UNLINK;
// Bounds on the entries of a directory that are looked at, and on those of new directories that one
// call reports.
constexpr std::size_t max_looked_at = 131'072;  // more than a disk of a sandbox may have
constexpr std::size_t max_told = 4096;
// Room for several events with the longest name.
constexpr std::size_t read_bytes = 2u << 10;
// Other callers wait for the thread meanwhile.
constexpr std::chrono::milliseconds max_time_of_a_read{10};
// How long the second one of two related events is waited for: a rename is two events, and a name
// exists before its event does. The process that causes them may lose its processor in between.
constexpr std::chrono::milliseconds max_time_between{50};

bool is_below(const std::string& path, const std::string& directory) {
  return path.size() > directory.size() && path.starts_with(directory) &&
         path[directory.size()] == '/';
}

std::string within(const std::string& directory, std::string_view name) {
  return directory.empty() ? std::string(name) : below::joined(directory, name);
}

Error no_room(std::string why) { return {ErrorKind::exhausted, std::move(why), 0, {}}; }

void give_back(const DirectoryWatch::Rooms& rooms, std::uint32_t count) {
  for (const auto& room : rooms) room->give_back(count);
}

bool take_one_of_each(const DirectoryWatch::Rooms& rooms) {
  for (auto room = rooms.begin(); room != rooms.end(); ++room) {
    if ((*room)->take()) continue;
    while (room != rooms.begin()) (*--room)->give_back(1);
    return false;
  }
  return true;
}

// Returns the kernel's number of the watch, or a negative number.
int watch(int inotify, int directory) {
  const std::string by_number = "/proc/self/fd/" + std::to_string(directory);
  return ::inotify_add_watch(inotify, by_number.c_str(), watched_events);
}

}  // namespace

bool WatchRoom::take() {
  const std::lock_guard lock(mutex_);
  if (left_ == 0) return false;
  --left_;
  return true;
}

void WatchRoom::give_back(std::uint32_t count) {
  const std::lock_guard lock(mutex_);
  left_ += count;
}

Result<DirectoryWatch> DirectoryWatch::start(OpenDirectory open, std::string path,
                                             bool is_recursive, Bounds bounds) {
  DirectoryWatch started;
  started.open_ = std::move(open);
  started.path_ = below::normal(path);
  started.is_recursive_ = is_recursive;
  started.bounds_ = std::move(bounds);
  if (!take_one_of_each(started.bounds_.watches)) {
    return no_room("as many watches are open as there may be");
  }
  started.is_counted_ = true;
  started.inotify_ = Fd(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!started.inotify_.valid()) {
    if (errno == EMFILE || errno == ENFILE) {
      return no_room("the host allows no more watches (fs.inotify.max_user_instances)");
    }
    return Error{ErrorKind::kernel, "watch " + path, errno, {}};
  }
  if (auto added = started.add_first(); !added) return added.error();
  return started;
}

DirectoryWatch::~DirectoryWatch() {
  if (!is_counted_) return;
  give_back(bounds_.watches, 1);
  give_back(bounds_.directories, static_cast<std::uint32_t>(paths_.size()));
}

DirectoryWatch::DirectoryWatch(DirectoryWatch&& other) noexcept
    : open_(std::move(other.open_)),
      path_(std::move(other.path_)),
      is_recursive_(other.is_recursive_),
      bounds_(std::move(other.bounds_)),
      is_counted_(std::exchange(other.is_counted_, false)),
      device_(other.device_),
      inode_(other.inode_),
      inotify_(std::move(other.inotify_)),
      root_(std::move(other.root_)),
      paths_(std::move(other.paths_)),
      left_(std::move(other.left_)),
      moved_(std::move(other.moved_)),
      told_(std::move(other.told_)),
      settled_at_(other.settled_at_) {}

Result<void> DirectoryWatch::add_first() {
  auto directory = open_(path_);
  if (!directory) return directory.error();
  struct stat status {};
  if (::fstat(directory->get(), &status) != 0) {
    return Error{ErrorKind::kernel, "watch " + path_, errno, {}};
  }
  device_ = status.st_dev;
  inode_ = status.st_ino;
  std::vector<std::string> waiting = {std::string()};
  Events unsaid;
  is_quiet_ = true;
  while (!waiting.empty()) {
    const std::string next = std::move(waiting.back());
    waiting.pop_back();
    const int error = add(directory->get(), next, waiting, unsaid);
    if (error == EDQUOT) return no_room("path: too many directories are watched already");
    if (error == ENOSPC) {
      return no_room("the host allows no more watches (fs.inotify.max_user_watches)");
    }
    if (error != 0 && next.empty()) return Error{ErrorKind::kernel, "watch " + path_, error, {}};
  }
  is_quiet_ = false;
  return {};
}

// Returns the watched directory, where it is still in its place.
int DirectoryWatch::root() {
  if (root_.valid()) return root_.get();
  auto directory = open_(path_);
  struct stat status {};
  const bool is_there = directory && ::fstat(directory->get(), &status) == 0 &&
                        status.st_dev == device_ && status.st_ino == inode_;
  if (is_there) root_ = std::move(*directory);
  return root_.get();
}

void DirectoryWatch::add_all_below(const std::string& path, Events& events) {
  const int directory = root();
  if (directory < 0) return;
  std::vector<std::string> waiting = {path};
  bool is_short = false;
  while (!waiting.empty()) {
    const std::string next = std::move(waiting.back());
    waiting.pop_back();
    const int error = add(directory, next, waiting, events);
    is_short = is_short || error == EDQUOT || error == ENOSPC || error == ENAMETOOLONG;
    if (error == EDQUOT || error == ENOSPC) break;
    // The directory was moved meanwhile, perhaps to a place within the tree.
    must_look_again_ = must_look_again_ || error == ENOENT;
  }
  if (is_short) say_overflow(events);
}

void DirectoryWatch::look_again(Events& events) {
  if (std::exchange(must_look_again_, false) && is_recursive_) add_all_below({}, events);
}

int DirectoryWatch::add(int root, const std::string& path, std::vector<std::string>& more,
                        Events& events) {
  Fd directory = below::open_directory(root, path.empty() ? "." : path.c_str());
  if (!directory.valid()) return errno;
  const int number = watch(inotify_.get(), directory.get());
  if (number < 0) return errno;
  const bool is_new = !paths_.contains(number);
  if (is_new && !take_one_of_each(bounds_.directories)) {
    ::inotify_rm_watch(inotify_.get(), number);
    return EDQUOT;
  }
  paths_[number] = path;
  if (is_recursive_) look_into(std::move(directory), path, is_new, more, events);
  return 0;
}

void DirectoryWatch::look_into(Fd fd, const std::string& path, bool is_new,
                               std::vector<std::string>& more, Events& events) {
  const auto directory = below::directory_of(std::move(fd));
  if (directory == nullptr) return;
  const bool is_told = is_new && !is_quiet_;
  std::size_t looked_at = 0;
  while (const char* name = below::next_name(directory.get())) {
    ++looked_at;
    if (looked_at > max_looked_at || (is_told && events.events.size() > max_told)) {
      say_overflow(events);
      return;
    }
    const std::string inner = within(path, name);
    const auto entry = below::entry_at(::dirfd(directory.get()), name, {});
    if (!entry) continue;
    const bool is_directory = entry->type == FileEntry::Type::directory;
    if (is_told) {
      say(Type::created, inner, is_directory, events);
      if (told_.size() < max_told) told_.insert(inner);
      settled_at_ = std::chrono::steady_clock::now() + max_time_between;
    }
    if (is_directory) more.push_back(inner);
  }
}

DirectoryWatch::Events DirectoryWatch::read() {
  Events events = read_some();
  look_again(events);
  // The directory is closed between calls, so that it holds no file of the sandbox.
  root_ = Fd();
  return events;
}

DirectoryWatch::Events DirectoryWatch::read_some() {
  Events events;
  const auto until = std::chrono::steady_clock::now() + max_time_of_a_read;
  alignas(inotify_event) std::array<char, read_bytes> buffer;
  while (events.events.size() < max_events && !events.is_over &&
         std::chrono::steady_clock::now() < until) {
    const ssize_t got = ::read(inotify_.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      const bool is_unsettled = moved_ || !told_.empty();
      events.has_more = is_unsettled && std::chrono::steady_clock::now() < settled_at_;
      if (events.has_more) return events;
      end_move(events);
      told_.clear();
      return events;
    }
    take({buffer.data(), static_cast<std::size_t>(got)}, events);
  }
  events.has_more = true;
  return events;
}

void DirectoryWatch::take(std::string_view bytes, Events& events) {
  while (bytes.size() >= sizeof(inotify_event)) {
    inotify_event event{};
    ::memcpy(&event, bytes.data(), sizeof event);
    const std::string_view padded = bytes.substr(sizeof event, event.len);
    bytes.remove_prefix(std::min(bytes.size(), sizeof event + event.len));
    take_one(event.wd, event.mask, event.cookie, padded.substr(0, padded.find('\0')), events);
  }
}

void DirectoryWatch::take_one(int number, std::uint32_t mask, std::uint32_t cookie,
                              std::string_view name, Events& events) {
  if ((mask & IN_Q_OVERFLOW) != 0) {
    end_move(events);
    say_overflow(events);
    must_look_again_ = true;
    return;
  }
  const auto known = paths_.find(number);
  if (known == paths_.end()) return;
  const std::string directory = known->second;
  if ((mask & IN_IGNORED) != 0) {
    paths_.erase(known);
    left_.erase(number);
    give_back(bounds_.directories, 1);
    events.is_over = events.is_over || directory.empty();
    return;
  }
  if ((mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT)) != 0) {
    events.is_over = events.is_over || directory.empty();
    return;
  }
  if (name.empty()) return;
  const std::string path = within(directory, name);
  const bool is_directory = (mask & IN_ISDIR) != 0;
  const bool is_moved_here = moved_ && (mask & IN_MOVED_TO) != 0 && moved_->cookie == cookie;
  if (is_moved_here && !left_.contains(number)) {
    const Moved moved = *std::exchange(moved_, std::nullopt);
    say(Type::moved, path, is_directory, events, moved.path);
    if (is_directory && is_recursive_) {
      forget_below(path);
      rename_below(moved.path, path);
      must_look_again_ = true;
    }
    return;
  }
  end_move(events);
  if (left_.contains(number)) return;
  if ((mask & IN_MOVED_FROM) != 0) {
    told_.erase(path);
    moved_ = Moved{.path = path, .is_directory = is_directory, .cookie = cookie};
    settled_at_ = std::chrono::steady_clock::now() + max_time_between;
    return;
  }
  take_name(path, mask, events);
}

// Whether the event is of a file that never had a name, which the kernel calls # and a number: what
// comes in by the server is written so, until it is whole and gets its name.
bool DirectoryWatch::is_nameless(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string name = path.substr(slash + 1);  // npos + 1 is 0
  if (name.size() < 2 || name[0] != '#' || name.find_first_not_of("0123456789", 1) != name.npos) {
    return false;
  }
  const int top = root();
  if (top < 0) return false;
  const jail::Fd directory =
      below::open_directory(top, slash == path.npos ? "." : path.substr(0, slash).c_str());
  return directory.valid() && !below::entry_at(directory.get(), name.c_str(), path);
}

void DirectoryWatch::take_name(const std::string& path, std::uint32_t mask, Events& events) {
  const bool is_directory = (mask & IN_ISDIR) != 0;
  if ((mask & (IN_CREATE | IN_MOVED_TO)) != 0) {
    if (told_.erase(path) > 0) return;
    say(Type::created, path, is_directory, events);
    if (is_directory && is_recursive_) add_all_below(path, events);
  } else if ((mask & IN_DELETE) != 0) {
    told_.erase(path);
    say(Type::removed, path, is_directory, events);
  } else if (!is_nameless(path)) {
    say((mask & IN_ATTRIB) != 0 ? Type::attributes : Type::written, path, is_directory, events);
  }
}

// The directory that was moved away has come to no watched place.
void DirectoryWatch::end_move(Events& events) {
  if (!moved_) return;
  const Moved moved = *std::exchange(moved_, std::nullopt);
  say(Type::removed, moved.path, moved.is_directory, events);
  if (moved.is_directory) forget_below(moved.path);
}

// The kernel answers with IN_IGNORED, which removes the paths. Events that happened there before
// come first.
void DirectoryWatch::forget_below(const std::string& path) {
  for (const auto& [number, other] : paths_) {
    if (other != path && !is_below(other, path)) continue;
    ::inotify_rm_watch(inotify_.get(), number);
    left_.insert(number);
  }
}

void DirectoryWatch::rename_below(const std::string& from, const std::string& to) {
  for (auto& [number, path] : paths_) {
    if (path == from || is_below(path, from)) path = to + path.substr(from.size());
  }
}

void DirectoryWatch::say(Type type, const std::string& path, bool is_directory, Events& events,
                         const std::string& from) {
  std::vector<FileEvent>& said = events.events;
  const std::string now = whole(path);
  if (!said.empty() && said.back().type == type && said.back().path == now && type != Type::moved) {
    return;
  }
  said.push_back({.type = type,
                  .path = now,
                  .is_directory = is_directory,
                  .from = from.empty() ? std::string() : whole(from)});
}

void DirectoryWatch::say_overflow(Events& events) {
  if (!events.events.empty() && events.events.back().type == Type::overflow) return;
  events.events.push_back({.type = Type::overflow, .path = path_, .is_directory = true});
}

std::string DirectoryWatch::whole(const std::string& path) const {
  return path.empty() ? path_ : below::joined(path_, path);
}

}  // namespace runtime
