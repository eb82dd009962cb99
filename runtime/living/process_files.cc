#include "runtime/living/process_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <memory>
#include <system_error>

#include "jail/cgroup.h"

namespace runtime {
namespace {

using jail::Fd;

constexpr std::size_t max_file_bytes = 64u << 10;
constexpr std::size_t max_processes = 4096;

void add_children(const std::string& process, std::vector<std::string>& processes) {
  const std::unique_ptr<DIR, int (*)(DIR*)> threads(::opendir((process + "/task").c_str()),
                                                    ::closedir);
  if (threads == nullptr) return;
  while (const dirent* thread = ::readdir(threads.get())) {
    if (thread->d_name[0] == '.') continue;
    const auto numbers = text_of(process + "/task/" + thread->d_name + "/children");
    std::string_view left = numbers ? std::string_view(*numbers) : std::string_view();
    while (!left.empty() && processes.size() < max_processes) {
      const std::string_view number = left.substr(0, left.find(' '));
      left.remove_prefix(std::min(number.size() + 1, left.size()));
      if (number_in(number)) processes.push_back("/proc/" + std::string(number));
    }
  }
}

}  // namespace

std::optional<std::string> text_of(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return std::nullopt;
  std::string text;
  std::array<char, 4096> buffer;
  while (text.size() < max_file_bytes) {
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

std::string_view word_of(std::string_view text, std::size_t before) {
  for (; before > 0; --before) {
    const std::size_t blank = text.find(' ');
    if (blank == text.npos) return {};
    text.remove_prefix(blank + 1);
  }
  return text.substr(0, text.find_first_of(" \n"));
}

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

std::vector<std::string> processes_below(const Fd& pidfd) {
  std::vector<std::string> processes;
  if (const auto first = process_directory(pidfd)) processes.push_back(*first);
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const std::string process = processes[i];
    add_children(process, processes);
  }
  return processes;
}

std::optional<std::string> cgroup_directory(const std::string& process) {
  const auto place = text_of(process + "/cgroup");
  const auto mounts = text_of("/proc/self/mountinfo");
  if (!place || !mounts) return std::nullopt;
  return jail::own_cgroup_directory(*place, *mounts);
}

}  // namespace runtime
