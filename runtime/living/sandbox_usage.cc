#include "runtime/living/sandbox_usage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "jail/cgroup.h"

namespace runtime {
namespace {

using jail::Error;
using jail::ErrorKind;
using jail::Fd;
using jail::Result;

// A guest chooses how many processes and threads there are.
constexpr std::size_t most_tasks = 1024;
constexpr std::size_t most_file_bytes = 64u << 10;

Error has_ended() { return {ErrorKind::closed, "the sandbox has ended", 0, {}}; }

// Nothing: it cannot be read, such as that of a process that is gone.
std::optional<std::string> text_of(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return std::nullopt;
  std::string text;
  std::array<char, 4096> buffer;
  while (text.size() < most_file_bytes) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return text;
}

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  return number;
}

// The word that stands behind so many others.
std::string_view word_of(std::string_view text, std::size_t before) {
  for (; before > 0; --before) {
    const std::size_t blank = text.find(' ');
    if (blank == text.npos) return {};
    text.remove_prefix(blank + 1);
  }
  return text.substr(0, text.find_first_of(" \n"));
}

// The number behind `name` at the beginning of a line.
std::optional<std::uint64_t> number_after(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.starts_with(name)) {
      const std::string_view value = line.substr(name.size());
      return number_in(value.substr(std::min(value.find_first_not_of(" \t"), value.size())));
    }
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return std::nullopt;
}

// By its number on this host, which stays its own as long as the pidfd is not readable.
std::optional<std::string> process_directory(const Fd& pidfd) {
  const auto text = text_of("/proc/self/fdinfo/" + std::to_string(pidfd.get()));
  const auto pid = text ? number_after(*text, "Pid:") : std::nullopt;
  if (!pid || *pid == 0) return std::nullopt;
  return "/proc/" + std::to_string(*pid);
}

bool lives(const Fd& pidfd) {
  pollfd process{.fd = pidfd.get(), .events = POLLIN, .revents = 0};
  return ::poll(&process, 1, 0) == 0;
}

SandboxUsage::Disk disk_of_directory(const Fd& directory) {
  struct statfs status {};
  if (!directory.valid() || ::fstatfs(directory.get(), &status) != 0) return {};
  const auto block = static_cast<std::uint64_t>(status.f_bsize);
  return {.used_bytes = (status.f_blocks - status.f_bfree) * block,
          .size_bytes = status.f_blocks * block};
}

// What the kernel has in files of a cgroup.
bool read_cgroup(const std::string& process, SandboxUsage& usage) {
  const auto place = text_of(process + "/cgroup");
  const auto mounts = text_of("/proc/self/mountinfo");
  if (!place || !mounts) return false;
  const auto directory = jail::own_cgroup_directory(*place, *mounts);
  if (!directory) return false;
  const auto number = [&](const char* name) -> std::optional<std::uint64_t> {
    const auto text = text_of(*directory + "/" + name);
    return text ? number_in(*text) : std::nullopt;
  };
  const auto memory = number("memory.current");
  const auto tasks = number("pids.current");
  const auto cpu = text_of(*directory + "/cpu.stat");
  const auto used = cpu ? number_after(*cpu, "usage_usec") : std::nullopt;
  if (!memory || !tasks || !used) return false;
  usage.memory_bytes = *memory;
  usage.memory_peak_bytes = number("memory.peak").value_or(0);  // of Linux 5.19
  usage.cpu = std::chrono::microseconds(*used);
  usage.tasks = static_cast<std::uint32_t>(*tasks);
  return true;
}

std::vector<std::string> threads_of(const std::string& process) {
  std::vector<std::string> threads;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir((process + "/task").c_str()),
                                                      ::closedir);
  if (directory == nullptr) return threads;
  while (const dirent* entry = ::readdir(directory.get())) {
    if (entry->d_name[0] != '.') threads.emplace_back(entry->d_name);
  }
  return threads;
}

// The processes of a jail, each by the threads that have made it.
class ProcessWalk {
 public:
  explicit ProcessWalk(std::string first) { left_.push_back(std::move(first)); }

  void run(SandboxUsage& usage) {
    while (!left_.empty()) {
      const std::string process = std::move(left_.back());
      left_.pop_back();
      count(process, usage);
    }
    usage.tasks = static_cast<std::uint32_t>(tasks_);
    usage.is_complete = is_complete_ && tasks_ > 0;
  }

 private:
  void count(const std::string& process, SandboxUsage& usage) {
    add_memory(process, usage);
    add_time(process, usage);
    for (const std::string& thread : threads_of(process)) {
      if (tasks_ >= most_tasks) {
        is_complete_ = false;
        return;
      }
      ++tasks_;
      queue_children(process + "/task/" + thread + "/children");
    }
  }

  static void add_memory(const std::string& process, SandboxUsage& usage) {
    const auto sizes = text_of(process + "/statm");
    if (!sizes) return;
    const std::uint64_t resident = number_in(word_of(*sizes, 1)).value_or(0);
    const std::uint64_t of_files = number_in(word_of(*sizes, 2)).value_or(0);
    usage.memory_bytes += (resident - std::min(resident, of_files)) *
                          static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  }

  // With that of children whose end it has seen.
  static void add_time(const std::string& process, SandboxUsage& usage) {
    const auto status = text_of(process + "/stat");
    if (!status) return;
    // Its name, which may have anything in it, is in brackets before the rest.
    const std::size_t name_end = status->rfind(") ");
    if (name_end == status->npos) return;
    const std::string_view rest = std::string_view(*status).substr(name_end + 2);
    std::uint64_t ticks = 0;
    for (std::size_t word = 11; word < 15; ++word) {
      ticks += number_in(word_of(rest, word)).value_or(0);
    }
    const auto per_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
    usage.cpu += std::chrono::microseconds(ticks * 1'000'000 / per_second);
  }

  void queue_children(const std::string& path) {
    const auto numbers = text_of(path);
    // The first process lives, so this host does not show anybody's children.
    if (!numbers && tasks_ == 1) is_complete_ = false;
    std::string_view left = numbers ? std::string_view(*numbers) : std::string_view();
    while (!left.empty()) {
      const std::string_view number = left.substr(0, left.find(' '));
      left.remove_prefix(std::min(number.size() + 1, left.size()));
      if (!number_in(number)) continue;
      left_.push_back("/proc/" + std::string(number));
    }
  }

  std::vector<std::string> left_;
  std::size_t tasks_ = 0;
  bool is_complete_ = true;
};

}  // namespace

Result<SandboxUsage> usage_of(const UsageTarget& target) {
  const auto process = process_directory(target.init);
  if (!process) return has_ended();
  SandboxUsage usage;
  // As it is told, so that it can be asked for by that.
  usage.at = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  usage.source = target.source;
  usage.workspace = disk_of_directory(target.workspace);
  usage.tmp = disk_of_directory(target.tmp);
  const bool is_counted =
      usage.source == SandboxUsage::Source::cgroup && read_cgroup(*process, usage);
  if (!is_counted) {
    usage.source = SandboxUsage::Source::processes;
    usage.memory_bytes = usage.workspace.used_bytes + usage.tmp.used_bytes;
    ProcessWalk(*process).run(usage);
  }
  // What was read may be another process's.
  if (!lives(target.init)) return has_ended();
  return usage;
}

}  // namespace runtime
