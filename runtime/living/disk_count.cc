#include "runtime/living/disk_count.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

#include "runtime/living/below.h"
#include "runtime/living/process_files.h"

namespace runtime {
namespace {

using jail::Fd;

constexpr int to_read = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NOATIME | O_CLOEXEC;
// A guest can change the mode of a directory again as often as it likes.
constexpr int max_openings = 3;
// A guest can make and remove names for as long as a directory is being read.
constexpr std::uint64_t names_for_each_file = 4;
// The clocks are read after so much work: a name, a descriptor or 256 bytes of text is a unit.
constexpr std::uint64_t units_between_clocks = 32;
constexpr std::uint64_t text_bytes_of_a_unit = 256;

constexpr std::uint64_t bytes_of_a_block = 512;  // of st_blocks, on every file system

// Whoever shuts a directory could hide files in it.
constexpr mode_t rights_to_restore = 0700;

// The Fd is not valid where the name leads to no directory any more, and where it leads to one that
// cannot be read, with EACCES.
Fd open_below(int above, const char* name) {
  for (int i = 0; i < max_openings; ++i) {
    Fd directory(::openat(above, name, to_read));
    if (directory.valid() || errno != EACCES) return directory;
    directory = below::open_shut_directory(above, name, rights_to_restore);
    if (directory.valid()) return directory;
  }
  errno = EACCES;
  return {};
}

std::chrono::nanoseconds own_processor_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// The host has no room for what the look needs.
bool is_shortage(int error) { return error == EMFILE || error == ENFILE || error == ENOMEM; }

// Returns the number and the start of a process that has memory; empty where it ends.
std::string identity_of(const std::string& process) {
  const auto text = text_of(process + "/stat");
  if (!text) return {};
  // The name before may have brackets and blanks.
  const std::size_t name_end = text->rfind(')');
  if (name_end == text->npos) return {};
  const std::string_view words = std::string_view(*text).substr(name_end + 1);
  constexpr std::size_t start = 20;
  constexpr std::size_t mapped = 21;
  if (number_in(word_of(words, mapped)).value_or(0) == 0) return {};
  return process + " " + std::string(word_of(words, start));
}

struct Line {
  Line() = default;
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  ~Line() { std::free(text); }  // NOLINT(cppcoreguidelines-no-malloc): getline(3) allocates it

  char* text = nullptr;
  std::size_t room = 0;
};

struct CloseFile {
  void operator()(FILE* file) const { ::fclose(file); }
};

}  // namespace

std::uint64_t DiskCount::bytes_of(const struct stat& status) {
  return static_cast<std::uint64_t>(status.st_blocks) * bytes_of_a_block;
}

std::optional<std::uint64_t> DiskCount::mount_of(int file) {
  struct statx status {};
  if (::statx(file, "", AT_EMPTY_PATH, STATX_MNT_ID, &status) != 0) return std::nullopt;
  if ((status.stx_mask & STATX_MNT_ID) == 0) return std::nullopt;
  return status.stx_mnt_id;
}

DiskCount::DiskCount(Fd directory, std::optional<std::uint64_t> mount)
    : directory_(std::move(directory)), mount_(mount) {
  struct stat status {};
  if (::fstat(directory_.get(), &status) == 0) device_ = status.st_dev;
}

DiskUse DiskCount::look(const Fd& init, std::uint64_t max_bytes, std::uint64_t max_files,
                        const Budget& budget) {
  use_ = {};
  max_bytes_ = max_bytes;
  max_files_ = max_files;
  names_left_ = names_for_each_file * max_files;
  budget_ = budget;
  processor_time_end_ = own_processor_time() + budget.processor_time;
  end_ = Clock::now() + budget.time;
  units_ = 0;
  text_bytes_ = 0;
  // What a look in part has not seen is known by the one before it.
  auto seen = std::exchange(seen_, {});
  unreadable_before_ = std::exchange(unreadable_, {});
  if (is_partial_) {
    before_.merge(seen);
  } else {
    before_ = std::move(seen);
  }
  count(init);
  is_partial_ = use_.seen != DiskUse::Seen::all;
  return use_;
}

// Files that lose their names while this looks are found by one of both ways.
void DiskCount::count(const Fd& init) {
  // A list of processes that lacks some is as good as none.
  errno = 0;
  const auto processes = init.valid() ? processes_below(init) : std::vector<std::string>();
  note_failure(errno);
  std::vector<bool> were_readable;
  were_readable.reserve(processes.size());
  for (const std::string& process : processes) were_readable.push_back(add_open_files(process));
  if (!walk(below::open_shut_directory(directory_, rights_to_restore), 0)) return;
  const auto now = Clock::now();
  for (std::size_t i = 0; i < processes.size(); ++i) {
    // The first one is init, which no guest may read and which opens none of these files.
    if (!add_open_files(processes[i]) && !were_readable[i] && i > 0) {
      note_unreadable(processes[i], now);
    }
    add_mapped_files(processes[i]);
  }
  for (const std::string& process : processes) count_in_flight(process);
}

void DiskCount::note_unreadable(const std::string& process, Clock::time_point now) {
  const std::string identity = identity_of(process);
  if (identity.empty()) return;
  if (use_.seen == DiskUse::Seen::all) use_.seen = DiskUse::Seen::unreadable;
  const auto before = unreadable_before_.find(identity);
  const auto since = before == unreadable_before_.end() ? now : before->second;
  unreadable_.emplace(identity, since);
  if (now - since >= patience_with_unreadable) use_.is_countable = false;
}

// Returns true from when on this look can end only in part.
bool DiskCount::is_spent(std::uint64_t units) {
  using Seen = DiskUse::Seen;
  units_ += units;
  if (units_ >= units_between_clocks) {
    units_ = 0;
    const bool is_over = own_processor_time() >= processor_time_end_ || Clock::now() >= end_ ||
                         text_bytes_ > budget_.max_text_bytes;
    if (is_over && use_.seen != Seen::short_of_the_host) use_.seen = Seen::beyond_budget;
  }
  return use_.seen == Seen::beyond_budget || use_.seen == Seen::short_of_the_host;
}

void DiskCount::note_failure(int error) {
  if (is_shortage(error)) use_.seen = DiskUse::Seen::short_of_the_host;
}

bool DiskCount::is_beyond() const {
  return use_.bytes > max_bytes_ || use_.files > max_files_ || !use_.is_countable;
}

void DiskCount::add(ino_t inode, std::uint64_t bytes) {
  const auto [place, is_new] = seen_.try_emplace(inode, bytes);
  if (is_new) {
    ++use_.files;
    use_.bytes += bytes;
  } else if (bytes > place->second) {
    use_.bytes += bytes - std::exchange(place->second, bytes);
  }
}

// Returns false where there is no need to look further.
bool DiskCount::walk(Fd directory, int depth) {
  if (!directory.valid()) note_failure(errno);
  errno = 0;
  const auto listed = below::directory_of(std::move(directory));
  if (listed == nullptr) {
    note_failure(errno);
    if (!is_spent()) use_.is_countable = false;
    return false;
  }
  if (depth == 0) add_size_of_root(::dirfd(listed.get()));
  while (const char* name = below::next_name(listed.get())) {
    if (is_spent()) return false;
    if (names_left_ == 0) use_.is_countable = false;
    if (names_left_ == 0) return false;
    --names_left_;
    struct stat status {};
    if (::fstatat(::dirfd(listed.get()), name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
      note_failure(errno);
      continue;
    }
    add(status.st_ino, bytes_of(status));
    if (is_beyond()) return false;
    if (!S_ISDIR(status.st_mode)) continue;
    Fd inner = open_below(::dirfd(listed.get()), name);
    if (!inner.valid()) {
      note_failure(errno);
      if (errno != EACCES) continue;  // another name by now, or none
    }
    if (!inner.valid() || depth + 1 == max_depth) {
      use_.is_countable = false;
      return false;
    }
    if (!walk(std::move(inner), depth + 1)) return false;
  }
  return true;
}

// An empty directory counts as nothing. One that had many names keeps the blocks they took.
void DiskCount::add_size_of_root(int directory) {
  constexpr std::uint64_t bytes_of_an_empty_one = 4096;
  struct stat status {};
  if (::fstat(directory, &status) != 0) return note_failure(errno);
  const std::uint64_t bytes = bytes_of(status);
  if (bytes > bytes_of_an_empty_one) use_.bytes += bytes - bytes_of_an_empty_one;
}

// Returns 0, or why that is not to be seen.
int DiskCount::add_nameless(int directory, const char* name) {
  struct statx status {};
  constexpr unsigned wanted = STATX_NLINK | STATX_INO | STATX_BLOCKS | STATX_MNT_ID;
  if (::statx(directory, name, 0, wanted, &status) != 0) {
    const int error = errno;
    note_failure(error);
    return error;
  }
  if (makedev(status.stx_dev_major, status.stx_dev_minor) != device_) return 0;
  const bool is_elsewhere =
      mount_ && (status.stx_mask & STATX_MNT_ID) != 0 && status.stx_mnt_id != *mount_;
  if (status.stx_nlink == 0 && !is_elsewhere) {
    add(status.stx_ino, status.stx_blocks * bytes_of_a_block);
  }
  return 0;
}

// Returns false where the process lets nobody read what it has open.
bool DiskCount::add_open_files(const std::string& process) {
  if (is_spent()) return true;
  Fd directory(::open((process + "/fd").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) {
    note_failure(errno);
    return errno != EACCES && errno != EPERM;
  }
  // The kernel holds the program that a process executes, and the directory that it is in, also
  // where the process has neither of them open or mapped.
  for (const char* const name : {"../exe", "../cwd"}) {
    if (add_nameless(directory.get(), name) == EACCES) return false;
  }
  const auto listed = below::directory_of(std::move(directory));
  if (listed == nullptr) return true;
  while (const char* name = below::next_name(listed.get())) {
    if (is_spent()) return true;
    if (add_nameless(::dirfd(listed.get()), name) == EACCES) return false;
  }
  return true;
}

void DiskCount::count_in_flight(const std::string& process) {
  if (is_spent()) return;
  const auto listed = below::directory_of(
      Fd(::open((process + "/fd").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  if (listed == nullptr) return;
  while (const char* name = below::next_name(listed.get())) {
    struct stat status {};
    if (is_spent()) return;
    if (::fstatat(::dirfd(listed.get()), name, &status, 0) != 0) continue;
    if (!S_ISSOCK(status.st_mode)) continue;
    const auto text = text_of(process + "/fdinfo/" + name);
    if (!text) continue;
    if (is_spent(text->size() / text_bytes_of_a_unit)) return;
    use_.in_flight += number_after(*text, "scm_fds:").value_or(0);
  }
}

void DiskCount::add_mapped_files(const std::string& process) {
  if (is_spent()) return;
  const std::unique_ptr<FILE, CloseFile> maps(::fopen((process + "/maps").c_str(), "re"));
  if (maps == nullptr) {
    note_failure(errno);
    return;
  }
  Line line;
  for (;;) {
    const ssize_t size = ::getline(&line.text, &line.room, maps.get());
    if (size <= 0) return;
    text_bytes_ += static_cast<std::uint64_t>(size);
    if (is_spent(1 + static_cast<std::uint64_t>(size) / text_bytes_of_a_unit)) return;
    const std::string_view whole(line.text, static_cast<std::size_t>(size));
    if (!whole.ends_with(" (deleted)\n")) continue;
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    unsigned device_major = 0;
    unsigned device_minor = 0;
    std::uint64_t inode = 0;
    const int found = std::sscanf(line.text, "%" SCNx64 "-%" SCNx64 " %*s %*x %x:%x %" SCNu64,
                                  &from, &to, &device_major, &device_minor, &inode);
    if (found != 5 || inode == 0 || makedev(device_major, device_minor) != device_) continue;
    if (seen_.contains(inode)) continue;
    const auto before = before_.find(inode);
    add(inode, std::max(to - from, before == before_.end() ? 0 : before->second));
  }
}

bool Doubts::are_certain(const DiskUse& use) {
  spent_budgets_ = use.seen == DiskUse::Seen::beyond_budget ? spent_budgets_ + 1 : 0;
  partial_looks_ = use.seen == DiskUse::Seen::all ? 0 : partial_looks_ + 1;
  return spent_budgets_ >= max_spent_budgets || partial_looks_ >= max_partial_looks;
}

}  // namespace runtime
