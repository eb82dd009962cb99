#include "server/cli/exec_files.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "runtime/config/file_names.h"
#include "runtime/json/writer.h"
#include "server/cli/exit_codes.h"
#include "server/cli/write_all.h"

namespace server {
namespace {

jail::Error failed(const std::string& doing, int error) {
  return {jail::ErrorKind::kernel, doing, error, {}};
}

jail::Fd open_beneath(int directory, const std::string& name, int flags, mode_t mode) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_NOFOLLOW | O_CLOEXEC);
  how.mode = mode;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return jail::Fd(
      static_cast<int>(::syscall(SYS_openat2, directory, name.c_str(), &how, sizeof how)));
}

// The directory that `path` (relative) is to stand in; its last component stays in `name`.
jail::Fd make_parents(int directory, std::string_view path, std::string& name) {
  jail::Fd above = open_beneath(directory, ".", O_PATH | O_DIRECTORY, 0);
  for (std::size_t slash = path.find('/'); slash != path.npos; slash = path.find('/')) {
    const std::string component(path.substr(0, slash));
    path.remove_prefix(slash + 1);
    if (::mkdirat(above.get(), component.c_str(), 0777) != 0 && errno != EEXIST) return {};
    above = open_beneath(above.get(), component, O_PATH | O_DIRECTORY, 0);
    if (!above.valid()) return {};
  }
  name = path;
  return above;
}

// What a start takes as its configuration where it finds it. A program that chose its content would
// choose what the next one may do.
bool is_configuration(std::string_view name) {
  return name == runtime::config_file_name || name == runtime::dotenv_file_name;
}

std::string_view last_component(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

// Whether `path` is one that a jail could hand over. A server that is not to be trusted may send
// any.
bool is_path_below(std::string_view path) {
  if (path.find('\0') != path.npos) return false;
  for (;;) {
    const std::string_view component = path.substr(0, path.find('/'));
    if (component.empty() || component == "." || component == "..") return false;
    if (component.size() == path.size()) return true;
    path.remove_prefix(component.size() + 1);
  }
}

// Whole under its name, or not there: whoever watches the directory never sees half a file.
bool store_one(int directory, const jail::CollectedFile& file, bool overwrite) {
  if (!is_path_below(file.path) || is_configuration(last_component(file.path))) {
    errno = EPERM;
    return false;
  }
  std::string name;
  const jail::Fd parent = make_parents(directory, file.path, name);
  if (!parent.valid()) return false;
  const std::string partial = ".agent-sandbox." + std::to_string(::getpid());
  const jail::Fd out = open_beneath(parent.get(), partial, O_WRONLY | O_CREAT | O_EXCL, 0666);
  if (!out.valid()) return false;
  const unsigned flags = overwrite ? 0 : RENAME_NOREPLACE;
  const bool stored =
      write_all(out.get(), file.content) &&
      ::renameat2(parent.get(), partial.c_str(), parent.get(), name.c_str(), flags) == 0;
  if (stored) return true;
  const int error = errno;
  ::unlinkat(parent.get(), partial.c_str(), 0);
  errno = error;
  return false;
}

// With the bound that was met, where there is one.
std::string reason_of(const jail::SkippedFile& file) {
  const jail::CollectLimits limits;
  std::string text(jail::to_string(file.reason));
  if (file.reason == jail::SkipReason::too_large) {
    text += " (" + size_text(limits.file_bytes) + " at most)";
  } else if (file.reason == jail::SkipReason::total_too_large) {
    text += " (" + size_text(limits.total_bytes) + " at most)";
  } else if (file.reason == jail::SkipReason::too_many) {
    text += " (" + std::to_string(limits.files) + " at most)";
  }
  return text;
}

}  // namespace

std::string size_text(std::uint64_t bytes) {
  constexpr std::uint64_t kilobyte = 1024;
  if (bytes < kilobyte) return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
  if (bytes < kilobyte * kilobyte) return std::to_string(bytes / kilobyte) + " KiB";
  return std::to_string(bytes / kilobyte / kilobyte) + " MiB";
}

jail::Result<ArtifactDirectories> ArtifactDirectories::open(const ArtifactOptions& options) {
  ArtifactDirectories directories;
  directories.overwrite_ = options.overwrite;
  for (const ArtifactOptions::Artifact& artifact : options.wanted) {
    if (artifact.directory.empty()) {
      directories.entries_.push_back({artifact, {}});
      continue;
    }
    const std::string doing = "--artifact: write into " + artifact.directory;
    const bool is_new = ::mkdir(artifact.directory.c_str(), 0777) == 0;
    if (!is_new && errno != EEXIST) {
      return failed(doing, errno);
    }
    jail::Fd directory(::open(artifact.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory.valid() || ::faccessat(directory.get(), ".", W_OK | X_OK, AT_EACCESS) != 0) {
      jail::Error error = failed(doing, errno);
      error.hint = "name a directory that you may write to";
      return error;
    }
    directories.entries_.push_back({artifact, std::move(directory), is_new});
  }
  return directories;
}

jail::Result<void> ArtifactDirectories::remember_caller() {
  if (entries_.empty() || ::geteuid() != 0) return {};
  const auto store = [this](std::uint32_t place, const jail::CollectedFile& file) {
    return place < entries_.size() ? store_in(entries_[place], file) : EBADF;
  };
  auto keeper = ArtifactKeeper::start(store, [this] { remove_unused(); });
  if (!keeper) return keeper.error();
  keeper_ = std::make_shared<const ArtifactKeeper>(std::move(*keeper));
  for (Entry& entry : entries_) entry.directory.reset();  // the keeper has them
  return {};
}

ArtifactDirectories::~ArtifactDirectories() { remove_unused(); }

// The name may lead elsewhere by now: then what is there is somebody else's.
void ArtifactDirectories::remove_unused() const {
  for (const Entry& entry : entries_) {
    struct stat made;
    struct stat named;
    const bool is_the_same = entry.is_new && entry.directory.valid() &&
                             ::fstat(entry.directory.get(), &made) == 0 &&
                             ::lstat(entry.wanted.directory.c_str(), &named) == 0 &&
                             made.st_dev == named.st_dev && made.st_ino == named.st_ino;
    if (is_the_same) ::rmdir(entry.wanted.directory.c_str());  // fails where it holds a file
  }
}

// 0, or why not.
int ArtifactDirectories::store_in(const Entry& entry, const jail::CollectedFile& file) const {
  return store_one(entry.directory.get(), file, overwrite_) ? 0 : errno;
}

std::vector<jail::Error> ArtifactDirectories::store(
    const std::vector<jail::CollectedFile>& files,
    const std::function<void(const std::string& path, std::size_t bytes)>& tell) const {
  std::vector<jail::Error> errors;
  for (const jail::CollectedFile& file : files) {
    for (std::size_t place = 0; place < entries_.size(); ++place) {
      const Entry& entry = entries_[place];
      if (entry.wanted.directory.empty()) continue;
      if (!jail::glob_names(entry.wanted.glob, file.path)) continue;
      const int why_not = keeper_ != nullptr
                              ? keeper_->store(static_cast<std::uint32_t>(place), file)
                              : store_in(entry, file);
      if (why_not != 0) {
        errors.push_back(failed(
            "write " + runtime::json::quoted(file.path, 512) + " into " + entry.wanted.directory,
            why_not));
        if (is_configuration(last_component(file.path))) {
          errors.back().hint =
              "a start would take it as its configuration: have the program name it otherwise";
        } else if (why_not == EEXIST) {
          errors.back().hint = "--overwrite replaces it";
        }
        continue;
      }
      const bool is_here = entry.wanted.directory == ".";
      tell(is_here ? file.path : entry.wanted.directory + "/" + file.path, file.content.size());
    }
  }
  return errors;
}

std::vector<std::string> ArtifactDirectories::without_match(const jail::Collection& found) const {
  std::vector<std::string> globs;
  for (const Entry& entry : entries_) {
    const auto is_named = [&](const auto& file) {
      return jail::glob_names(entry.wanted.glob, file.path);
    };
    const bool has_match = std::any_of(found.files.begin(), found.files.end(), is_named) ||
                           std::any_of(found.skipped.begin(), found.skipped.end(), is_named) ||
                           found.skipped_total > found.skipped.size();
    if (!has_match) globs.push_back(entry.wanted.glob);
  }
  return globs;
}

bool keep_artifacts(const jail::Collection& artifacts, const ArtifactDirectories& directories) {
  // Nobody wants an artifact that is no regular file. One that is not
  // listed may have been a regular file.
  bool is_complete = artifacts.skipped_total <= artifacts.skipped.size();
  for (const jail::SkippedFile& file : artifacts.skipped) {
    is_complete = is_complete && file.reason == jail::SkipReason::not_regular;
    std::fprintf(stderr, "agent-sandbox: artifact %s skipped: %s\n",
                 runtime::json::quoted(file.path, 512).c_str(), reason_of(file).c_str());
  }
  if (artifacts.skipped_total > artifacts.skipped.size()) {
    std::fprintf(stderr, "agent-sandbox: %llu artifacts skipped in all\n",
                 static_cast<unsigned long long>(artifacts.skipped_total));
  }
  for (const std::string& glob : directories.without_match(artifacts)) {
    std::fprintf(stderr, "agent-sandbox: --artifact %s: no file matched\n",
                 runtime::json::quoted(glob, 512).c_str());
  }
  const auto tell = [](const std::string& path, std::size_t bytes) {
    std::fprintf(stderr, "agent-sandbox: wrote %s, %s\n", runtime::json::quoted(path, 1024).c_str(),
                 size_text(bytes).c_str());
  };
  const auto errors = directories.store(artifacts.files, tell);
  for (const jail::Error& error : errors) fail(0, error.message());
  return errors.empty() && is_complete;
}

std::vector<std::string> globs_of(const ArtifactOptions& options) {
  std::vector<std::string> globs;
  for (const auto& artifact : options.wanted) globs.push_back(artifact.glob);
  return globs;
}

}  // namespace server
