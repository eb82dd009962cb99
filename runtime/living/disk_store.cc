#include "runtime/living/disk_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <string_view>
#include <utility>

#include "runtime/living/below.h"

namespace runtime {
namespace {

using below::failed;
using jail::Error;
using jail::ErrorKind;
using jail::Fd;
using jail::Result;

constexpr std::string_view prefix_of_servers = "server-";
constexpr std::string_view prefix_of_kept = "kept-";
constexpr std::string_view prefix_of_disks = "disk-";
constexpr char trash_name[] = "removed";
constexpr char volumes_name[] = "volumes";
// Its date of modification says until when nobody else may remove the directory that it is in. The
// date of the directory would not do: each disk that is made or removed changes it.
constexpr char deadline_name[] = "kept-until";
constexpr int max_new_names = 16;
constexpr std::size_t names_to_make_room = 256;

std::string random_name(std::string_view prefix) {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) ::abort();
  std::string name(prefix);
  constexpr std::string_view digits = "0123456789abcdef";
  for (const unsigned char byte : bytes) {
    name += digits[byte >> 4];
    name += digits[byte & 15];
  }
  return name;
}

Fd open_directory_in(int directory, const char* name) {
  return Fd(::openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// Only what its owner can write to can be moved to another directory.
constexpr mode_t rights_to_move = 0700;

bool is_own(const Fd& directory) {
  struct stat status {};
  return ::fstat(directory.get(), &status) == 0 && status.st_uid == ::geteuid() &&
         (status.st_mode & 022) == 0;
}

// Names of volumes are read from a file that others may have written.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == name.npos;
}

Error not_a_name(const std::string& name) {
  return {ErrorKind::invalid, "no volume can have the name " + name, 0, {}};
}

// The lock is the open file's, which no other process has: it goes when this process ends.
bool lock(const Fd& directory) { return ::flock(directory.get(), LOCK_EX | LOCK_NB) == 0; }

// Returns whether the directory still has this name.
bool has_name(const Fd& directory, const Fd& above, const std::string& name) {
  struct stat held {};
  struct stat named {};
  return ::fstat(directory.get(), &held) == 0 &&
         ::fstatat(above.get(), name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

}  // namespace

Fd SandboxDirectory::open() const {
  const std::lock_guard lock(mutex_);
  return Fd(::fcntl(directory_.get(), F_DUPFD_CLOEXEC, 0));
}

void SandboxDirectory::give_up() {
  {
    const std::lock_guard lock(mutex_);
    if (!directory_.valid()) return;
    if (is_volume_) {
      directory_.reset();
      return;
    }
    // Only what its owner can write to can be moved to another directory.
    ::fchmod(directory_.get(), 0700);
    directory_.reset();
  }
  if (const auto store = store_.lock()) store->take_back(name_);
}

Result<std::shared_ptr<DiskStore>> DiskStore::open(const std::string& path,
                                                   DiskReturn return_of_server) {
  const std::string doing = "use " + path + " for the disks of sandboxes";
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return failed(doing);
  const std::unique_ptr<char, decltype(&::free)> real(::realpath(path.c_str(), nullptr), &::free);
  if (real == nullptr) return failed(doing);
  Fd base(::open(real.get(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!base.valid() && errno == ENOTDIR) {
    return Error{ErrorKind::invalid, doing + ": it is no directory", 0, {}};
  }
  if (!base.valid()) return failed(doing);
  if (!is_own(base)) {
    return Error{ErrorKind::refused,
                 doing + ": it must belong to user " + std::to_string(::geteuid()) +
                     ", and nobody else may write to it",
                 0,
                 {}};
  }
  const std::shared_ptr<DiskStore> store(
      new DiskStore(real.get(), std::move(base), std::move(return_of_server)));
  auto made = store->make_own();
  const bool is_full = !made && made.error().kind == ErrorKind::exhausted;
  if (!made && !is_full) return made.error();
  store->find_left();
  if (!is_full) return store;
  // What a server has left that died may take all that there is.
  auto state = TreeRemoval::State::more;
  while (!made && state == TreeRemoval::State::more) {
    state = store->remove_some(names_to_make_room);
    made = store->make_own();
  }
  if (!made) return made.error();
  return store;
}

Result<void> DiskStore::make_own() { return is_kept() ? take_own() : make_new_own(); }

// One that is there already is what an earlier start has left.
Result<void> DiskStore::take_own() {
  const std::string doing = "make a directory in " + path_;
  own_name_ = std::string(prefix_of_kept) + return_.name;
  for (int i = 0; i < max_new_names; ++i) {
    if (::mkdirat(base_.get(), own_name_.c_str(), 0700) != 0 && errno != EEXIST) {
      return failed(doing);
    }
    own_ = open_directory_in(base_.get(), own_name_.c_str());
    if (!own_.valid()) return failed(doing);
    if (!is_own(own_)) {
      return Error{
          ErrorKind::refused, "use " + path_ + "/" + own_name_ + ": it is somebody else's", 0, {}};
    }
    if (!lock(own_)) {
      own_.reset();
      return Error{ErrorKind::refused,
                   "use " + path_ +
                       " for the disks of sandboxes: a server with a copy of the same "
                       "JOBS_PATH uses it",
                   0,
                   {}};
    }
    if (has_name(own_, base_, own_name_)) {
      auto made = make_deadline();
      return made ? make_trash() : made;
    }
  }
  own_.reset();
  return failed(doing);
}

// Another server may take a directory for one that was left, until it is locked.
Result<void> DiskStore::make_new_own() {
  const std::string doing = "make a directory in " + path_;
  for (int i = 0; i < max_new_names; ++i) {
    own_name_ = random_name(prefix_of_servers);
    if (::mkdirat(base_.get(), own_name_.c_str(), 0700) != 0) return failed(doing);
    own_ = open_directory_in(base_.get(), own_name_.c_str());
    if (!own_.valid() || !lock(own_) || !has_name(own_, base_, own_name_)) continue;
    return make_trash();
  }
  return failed(doing);
}

Result<void> DiskStore::make_trash() {
  const std::string doing = "make a directory in " + path_;
  if (::mkdirat(own_.get(), trash_name, 0700) != 0 && errno != EEXIST) {
    const Error error = failed(doing);
    ::unlinkat(base_.get(), own_name_.c_str(), AT_REMOVEDIR);
    own_.reset();
    return error;
  }
  trash_ = open_directory_in(own_.get(), trash_name);
  Fd to_empty = open_directory_in(own_.get(), trash_name);
  if (!trash_.valid() || !to_empty.valid()) return failed(doing);
  removal_.emplace(std::move(to_empty));
  show_life();
  return {};
}

Result<void> DiskStore::make_deadline() {
  const int flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  deadline_ = Fd(::openat(own_.get(), deadline_name, flags, 0600));
  if (deadline_.valid()) return {};
  const Error error = failed("make a file in " + path_ + "/" + own_name_);
  // It stays where disks are in it.
  ::unlinkat(base_.get(), own_name_.c_str(), AT_REMOVEDIR);
  own_.reset();
  return error;
}

void DiskStore::show_life() const {
  if (!deadline_.valid()) return;
  const auto until = std::chrono::system_clock::now() + return_.patience;
  const timespec date{.tv_sec = std::chrono::system_clock::to_time_t(until), .tv_nsec = 0};
  const std::array<timespec, 2> dates{date, date};
  ::futimens(deadline_.get(), dates.data());
}

// Another server's sandboxes come back with it, unless it has been gone for so long that none of
// them still has time to live. That server alone knows how long they may live. One that died before
// it could say so has no sandbox yet.
bool DiskStore::may_be_removed(const std::string& name, const Fd& directory) const {
  if (name.starts_with(prefix_of_servers)) return true;
  const auto now = std::chrono::system_clock::now();
  struct stat status {};
  if (::fstatat(directory.get(), deadline_name, &status, AT_SYMLINK_NOFOLLOW) == 0) {
    return now > std::chrono::system_clock::from_time_t(status.st_mtim.tv_sec);
  }
  if (errno != ENOENT || ::fstat(directory.get(), &status) != 0) return false;
  return now > std::chrono::system_clock::from_time_t(status.st_mtim.tv_sec) + return_.patience;
}

void DiskStore::find_left() {
  const auto listed = below::directory_of(open_directory_in(base_.get(), "."));
  if (listed == nullptr) return;
  while (const char* name = below::next_name(listed.get())) {
    const std::string_view text(name);
    const bool is_of_a_server =
        text.starts_with(prefix_of_servers) || text.starts_with(prefix_of_kept);
    if (!is_of_a_server || text == own_name_) continue;
    Fd directory = open_directory_in(base_.get(), name);
    if (!directory.valid() || !is_own(directory)) continue;
    // The lock of one that is left alone is not even tried: its server may start meanwhile.
    if (!may_be_removed(name, directory) || !lock(directory)) continue;
    Fd to_empty = open_directory_in(directory.get(), ".");
    if (!to_empty.valid()) continue;
    left_.push_back({name, std::move(directory), TreeRemoval(std::move(to_empty))});
  }
}

// What is beside the disks stays with them: the next start needs no new file for it, which a full
// disk might not have.
DiskStore::~DiskStore() {
  if (!own_.valid() || has_disks()) return;
  if (::unlinkat(own_.get(), trash_name, AT_REMOVEDIR) != 0 && errno != ENOENT) return;
  ::unlinkat(own_.get(), deadline_name, 0);
  ::unlinkat(base_.get(), own_name_.c_str(), AT_REMOVEDIR);
}

bool DiskStore::has_disks() const {
  const auto listed = below::directory_of(open_directory_in(own_.get(), "."));
  if (listed == nullptr) return true;
  while (const char* name = below::next_name(listed.get())) {
    if (std::string_view(name).starts_with(prefix_of_disks)) return true;
  }
  return false;
}

Result<std::shared_ptr<SandboxDirectory>> DiskStore::make() {
  const std::string name = random_name(prefix_of_disks);
  const std::string doing = "make a directory for a sandbox";
  if (::mkdirat(own_.get(), name.c_str(), 0700) != 0) return failed(doing);
  Fd directory = open_directory_in(own_.get(), name.c_str());
  // This process's umask must not apply.
  if (!directory.valid() || ::fchmod(directory.get(), 0700) != 0) {
    const Error error = failed(doing);
    ::unlinkat(own_.get(), name.c_str(), AT_REMOVEDIR);
    return error;
  }
  return known(name, std::move(directory));
}

std::shared_ptr<SandboxDirectory> DiskStore::known(const std::string& name, Fd directory) {
  std::string path = path_ + "/" + own_name_ + "/" + name;
  return std::shared_ptr<SandboxDirectory>(new SandboxDirectory(
      weak_from_this(), name, std::move(path), std::move(directory), is_kept()));
}

Result<std::shared_ptr<SandboxDirectory>> DiskStore::take(const std::string& name) {
  const bool is_name =
      name.starts_with(prefix_of_disks) && name.find('/') == name.npos && is_kept();
  if (!is_name) return Error{ErrorKind::invalid, "there is no such disk", 0, {}};
  Fd directory = below::open_shut_directory(own_.get(), name.c_str(), rights_to_move);
  if (directory.valid()) return known(name, std::move(directory));
  if (errno == ENOENT || errno == ENOTDIR) {
    return Error{ErrorKind::invalid, "there is no such disk", 0, {}};
  }
  return failed("take the disk of a sandbox");
}

void DiskStore::give_up_others(const std::set<std::string, std::less<>>& kept) {
  const auto listed = below::directory_of(open_directory_in(own_.get(), "."));
  if (listed == nullptr) return;
  std::vector<std::string> others;
  while (const char* name = below::next_name(listed.get())) {
    const std::string_view text(name);
    if (text.starts_with(prefix_of_disks) && !kept.contains(text)) others.emplace_back(name);
  }
  for (const std::string& name : others) {
    (void)below::open_shut_directory(own_.get(), name.c_str(), rights_to_move);
    take_back(name);
  }
}

Result<Fd> DiskStore::volumes() {
  const std::string doing = "use " + path_ + "/" + volumes_name + " for volumes";
  if (::mkdirat(base_.get(), volumes_name, 0700) != 0 && errno != EEXIST) return failed(doing);
  Fd directory = open_directory_in(base_.get(), volumes_name);
  if (!directory.valid()) return failed(doing);
  if (!is_own(directory)) {
    return Error{ErrorKind::refused, doing + ": others may write to it", 0, {}};
  }
  return directory;
}

Result<void> DiskStore::make_volume(SandboxDirectory& directory, const std::string& name) {
  if (!is_plain_name(name)) return not_a_name(name);
  const auto volumes = this->volumes();
  if (!volumes) return volumes.error();
  const std::lock_guard lock(directory.mutex_);
  const char* const old_name = directory.name_.c_str();
  if (::renameat2(own_.get(), old_name, volumes->get(), name.c_str(), RENAME_NOREPLACE) != 0) {
    return failed("make volume " + name);
  }
  directory.is_volume_ = true;
  return {};
}

Result<std::shared_ptr<SandboxDirectory>> DiskStore::open_volume(const std::string& name) {
  if (!is_plain_name(name)) return not_a_name(name);
  const auto volumes = this->volumes();
  if (!volumes) return volumes.error();
  Fd directory = below::open_shut_directory(volumes->get(), name.c_str(), rights_to_move);
  if (!directory.valid()) return failed("open the directory of volume " + name);
  std::string path = path_ + "/" + volumes_name + "/" + name;
  std::shared_ptr<SandboxDirectory> opened(
      new SandboxDirectory(weak_from_this(), name, std::move(path), std::move(directory), false));
  opened->is_volume_ = true;
  return opened;
}

Result<bool> DiskStore::remove_volume(const std::string& name) {
  if (!is_plain_name(name)) return not_a_name(name);
  const auto volumes = this->volumes();
  if (!volumes) return volumes.error();
  // Only what its owner can write to can be moved to another directory.
  const Fd directory = below::open_shut_directory(volumes->get(), name.c_str(), rights_to_move);
  if (!directory.valid() && errno == ENOENT) return false;
  const bool is_moved = directory.valid() && ::renameat(volumes->get(), name.c_str(), trash_.get(),
                                                        random_name("volume-").c_str()) == 0;
  if (!is_moved) return failed("remove the directory of volume " + name);
  return true;
}

void DiskStore::take_back(const std::string& name) {
  ::renameat(own_.get(), name.c_str(), trash_.get(), name.c_str());
}

TreeRemoval::State DiskStore::remove_some(std::size_t names) {
  using State = TreeRemoval::State;
  State all = removal_ ? removal_->step(names) : State::done;
  if (all == State::more) return all;
  for (std::size_t i = 0; i < left_.size(); ++i) {
    const State state = left_[i].removal.step(names);
    if (state == State::more) return state;
    if (state == State::stuck) all = state;
    if (state != State::done) continue;
    ::unlinkat(base_.get(), left_[i].name.c_str(), AT_REMOVEDIR);
    left_.erase(left_.begin() + static_cast<std::ptrdiff_t>(i));
    return left_.empty() ? all : State::more;
  }
  return all;
}

Result<DiskStore::Room> DiskStore::room() const {
  struct statvfs status {};
  if (::fstatvfs(own_.get(), &status) != 0) return failed("look at the room on " + path_);
  const auto block = static_cast<std::uint64_t>(status.f_frsize);
  return Room{.available_bytes = status.f_bavail * block,
              .used_bytes = (status.f_blocks - status.f_bfree) * block,
              .used_files = status.f_files - status.f_ffree,
              .available_files = status.f_favail,
              .all_files = status.f_files,
              .counts_files = status.f_files > 0};
}

}  // namespace runtime
