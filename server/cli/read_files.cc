#include "server/cli/read_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "jail/fd.h"
#include "runtime/config/text_file.h"
#include "server/cli/exec_files.h"
#include "server/cli/exit_codes.h"

namespace server {
namespace {

// As deep as a path of a program's file may be.
constexpr std::size_t max_directories = 16;
// So much of what was left out is told by name.
constexpr std::size_t max_told = 8;

class InputReader {
 public:
  jail::Result<void> add(const FileOption& file) {
    struct stat status {};
    // What cannot be looked at cannot be opened, and that error is told.
    const bool is_directory = ::stat(file.source.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
    if (!is_directory) {
      return add_content(runtime::read_text_file(file.source, room_), file.destination);
    }
    jail::Fd directory(::open(file.source.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory.valid()) return failed(file.source, errno);
    const std::string inside = file.destination == "." ? "" : file.destination + "/";
    return add_directory(std::move(directory), file.source, inside, 0);
  }

  std::vector<runtime::InputFile> take() {
    if (left_out_ > max_told) {
      fail(0, "--file: " + std::to_string(left_out_) + " were left out in all");
    }
    return std::move(files_);
  }

 private:
  static jail::Error failed(const std::string& path, int error) {
    return {jail::ErrorKind::kernel, "--file: read " + path, error, {}};
  }

  jail::Result<void> add_content(jail::Result<std::string> content, std::string path) {
    if (!content) {
      jail::Error error = std::move(content).error();
      // Where it is no error of the kernel the file has more bytes than there is room for.
      const std::size_t name_bytes = error.doing.rfind(": larger than ");
      if (error.sys_errno == 0 && name_bytes != std::string::npos) {
        error.doing.resize(name_bytes);
        error.doing += ": expected at most " + size_text(max_input_bytes) + " together";
      }
      error.doing = "--file: " + error.doing;
      return error;
    }
    if (files_.size() == max_input_files) {
      return jail::invalid("--file: expected at most " + std::to_string(max_input_files) +
                           " files together");
    }
    room_ -= content->size();
    files_.push_back({std::move(path), std::move(*content)});
    return {};
  }

  void leave_out(const std::string& path) {
    if (++left_out_ > max_told) return;
    fail(0, "--file: " + path + " is neither a file nor a directory and was left out");
  }

  static jail::Result<std::vector<std::string>> names_in(jail::Fd directory,
                                                         const std::string& shown) {
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(directory.get()), ::closedir);
    if (entries == nullptr) return failed(shown, errno);
    static_cast<void>(directory.release());
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* entry = ::readdir(entries.get())) {
      const std::string name = entry->d_name;
      if (name != "." && name != "..") names.push_back(name);
      // Each file is an entry, so that a directory with more has too many files or directories.
      if (names.size() > 16 * max_input_files) break;
      errno = 0;
    }
    if (errno != 0) return failed(shown, errno);
    std::ranges::sort(names);
    return names;
  }

  // `shown`: the directory's path for people. `inside`: what stands before its files' names.
  jail::Result<void> add_directory(jail::Fd directory, const std::string& shown,
                                   const std::string& inside, std::size_t depth) {
    if (depth == max_directories) {
      return jail::invalid("--file: " + shown + ": expected at most " +
                           std::to_string(max_directories) + " directories in one another");
    }
    jail::Fd to_list(::fcntl(directory.get(), F_DUPFD_CLOEXEC, 0));
    const auto names = names_in(std::move(to_list), shown);
    if (!names) return names.error();
    for (const std::string& name : *names) {
      const std::string path = shown + (shown.ends_with('/') ? "" : "/") + name;
      struct stat status {};
      if (::fstatat(directory.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return failed(path, errno);
      }
      const bool is_directory = S_ISDIR(status.st_mode);
      if (!is_directory && !S_ISREG(status.st_mode)) {
        leave_out(path);
        continue;
      }
      jail::Fd entry(::openat(
          directory.get(), name.c_str(),
          O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | (is_directory ? O_DIRECTORY : 0)));
      if (!entry.valid()) return failed(path, errno);
      auto added = is_directory
                       ? add_directory(std::move(entry), path, inside + name + "/", depth + 1)
                       : add_content(runtime::read_text(entry.get(), path, room_), inside + name);
      if (!added) return added;
    }
    return {};
  }

  std::vector<runtime::InputFile> files_;
  std::size_t room_ = max_input_bytes;
  std::size_t left_out_ = 0;
};

}  // namespace

jail::Result<std::vector<runtime::InputFile>> read_input_files(
    const std::vector<FileOption>& files) {
  InputReader reader;
  for (const FileOption& file : files) {
    if (auto added = reader.add(file); !added) return std::move(added).error();
  }
  return reader.take();
}

}  // namespace server
