#include "jail/collect.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "jail/fd.h"
#include "jail/id_range.h"
#include "parent/beneath.h"
#include "parent/glob.h"

namespace jail {
namespace {

// Not blocking, because opening a FIFO would wait for its writer.
constexpr int to_read = O_RDONLY | O_NONBLOCK | O_NOCTTY;

SkipReason reason_of(int error) {
  return error == EACCES || error == EPERM ? SkipReason::permission : SkipReason::unreadable;
}

struct CloseDirectory {
  void operator()(DIR* stream) const { ::closedir(stream); }
};

class Walk {
 public:
  Walk(const GlobSet& globs, const CollectLimits& limits)
      : globs_(globs), limits_(limits), entries_left_(limits.entries) {}

  void run(int directory) {
    const GlobSet::Positions positions = globs_.start();
    // A descriptor from fsmount(2) cannot be listed, only looked up from.
    Fd listed = open_beneath(directory, ".", to_read | O_DIRECTORY);
    if (!listed.valid()) {
      skip(".", reason_of(errno));
    } else {
      entries_of(listed, {}, positions, 0);
    }
  }

  Collection take() && { return std::move(collection_); }

 private:
  static std::string directory_of(const std::string& prefix) {
    return prefix.empty() ? "." : prefix.substr(0, prefix.size() - 1);
  }

  // `prefix`: the path of `directory` with a slash behind it, or nothing for the first.
  void entries_of(const Fd& directory, const std::string& prefix,
                  const GlobSet::Positions& positions, std::uint32_t depth) {
    for (const std::string& name : names_in(directory, prefix)) {
      if (comparisons_ > limits_.comparisons) {
        skip(directory_of(prefix), SkipReason::too_many_entries);
        return;
      }
      const GlobSet::Match match = globs_.match(positions, name);
      comparisons_ += match.steps;
      if (!match.is_named && !match.leads_on) continue;
      struct stat entry {};
      if (::fstatat(directory.get(), name.c_str(), &entry, AT_SYMLINK_NOFOLLOW) != 0) {
        skip(prefix + name, reason_of(errno));
      } else if (S_ISDIR(entry.st_mode)) {
        if (match.leads_on) descend(directory, prefix + name, name, match.below, depth);
      } else if (match.is_named) {
        file(directory, prefix + name, name);
      }
    }
  }

  void descend(const Fd& parent, const std::string& path, const std::string& name,
               const GlobSet::Positions& positions, std::uint32_t depth) {
    if (depth >= limits_.depth) {
      skip(path, SkipReason::too_deep);
      return;
    }
    const Fd opened = open_beneath(parent.get(), name, to_read | O_DIRECTORY);
    if (opened.valid()) {
      entries_of(opened, path + '/', positions, depth + 1);
    } else {
      skip(path, reason_of(errno));
    }
  }

  // Sorted, so that the same tree gives the same answer.
  std::vector<std::string> names_in(const Fd& directory, const std::string& prefix) {
    std::vector<std::string> names;
    // The stream takes its descriptor along when it is closed.
    Fd own(::fcntl(directory.get(), F_DUPFD_CLOEXEC, 0));
    const std::unique_ptr<DIR, CloseDirectory> stream(::fdopendir(own.get()));
    if (stream == nullptr) {
      skip(directory_of(prefix), SkipReason::unreadable);
      return names;
    }
    static_cast<void>(own.release());
    while (const dirent* entry = ::readdir(stream.get())) {
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      if (entries_left_ == 0) {
        skip(directory_of(prefix), SkipReason::too_many_entries);
        break;
      }
      --entries_left_;
      names.emplace_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  void file(const Fd& parent, const std::string& path, const std::string& name) {
    const Fd opened = open_beneath(parent.get(), name, to_read);
    if (!opened.valid()) {
      // ELOOP: a symbolic link. ENXIO: a socket, or a FIFO that nobody writes to.
      const bool wrong_kind = errno == ELOOP || errno == ENXIO;
      skip(path, wrong_kind ? SkipReason::not_regular : reason_of(errno));
      return;
    }
    // What was opened is judged, not what stood under the name before.
    struct stat status {};
    const bool known = ::fstat(opened.get(), &status) == 0;
    if (const auto reason = known ? refuse(status) : SkipReason::unreadable) {
      skip(path, *reason);
      return;
    }
    auto content = read(opened, static_cast<std::size_t>(status.st_size));
    if (!content) {
      skip(path, SkipReason::unreadable);
      return;
    }
    total_bytes_ += content->size();
    collection_.files.push_back({path, std::move(*content)});
  }

  std::optional<SkipReason> refuse(const struct stat& status) const {
    if (!S_ISREG(status.st_mode)) return SkipReason::not_regular;
    if (status.st_nlink != 1) return SkipReason::several_links;
    const auto size = static_cast<std::uint64_t>(status.st_size);
    if (size > limits_.file_bytes) return SkipReason::too_large;
    if (collection_.files.size() >= limits_.files) return SkipReason::too_many;
    if (size > limits_.total_bytes - total_bytes_) return SkipReason::total_too_large;
    return std::nullopt;
  }

  // Exactly `size` bytes: a file that shrinks or fails meanwhile is not half a result.
  static std::optional<std::string> read(const Fd& file, std::size_t size) {
    std::string content(size, '\0');
    for (std::size_t done = 0; done < size;) {
      const ssize_t got = ::read(file.get(), content.data() + done, size - done);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return std::nullopt;
      done += static_cast<std::size_t>(got);
    }
    return content;
  }

  void skip(std::string path, SkipReason reason) {
    ++collection_.skipped_total;
    if (collection_.skipped.size() < limits_.listed_skips) {
      collection_.skipped.push_back({std::move(path), reason});
    }
  }

  const GlobSet& globs_;
  const CollectLimits& limits_;
  Collection collection_;
  std::uint32_t entries_left_;
  std::uint64_t comparisons_ = 0;
  std::uint64_t total_bytes_ = 0;
};

}  // namespace

std::string_view to_string(SkipReason reason) noexcept {
  switch (reason) {
    case SkipReason::not_regular:
      return "not a regular file";
    case SkipReason::several_links:
      return "more than one link";
    case SkipReason::too_large:
      return "too large";
    case SkipReason::total_too_large:
      return "too large together with the others";
    case SkipReason::too_many:
      return "too many files";
    case SkipReason::too_deep:
      return "too deep";
    case SkipReason::too_many_entries:
      return "too many entries in the directories";
    case SkipReason::permission:
      return "permission denied";
    case SkipReason::unreadable:
      break;
  }
  return "unreadable";
}

Collection collect(int directory, std::span<const std::string> globs, const CollectLimits& limits) {
  const ActAsOwnerOf acting(directory);
  const GlobSet set(globs);
  Walk walk(set, limits);
  walk.run(directory);
  return std::move(walk).take();
}

}  // namespace jail
