#include "processes.h"

#include <errno.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace kernel_ring {

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

std::set<pid_t> children_of(pid_t parent) {
  std::set<pid_t> children;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    std::ifstream file(entry.path() / "stat");
    std::string stat;
    std::getline(file, stat);
    const std::size_t name_end = stat.rfind(')');  // "PID (name) S PPID ..."
    if (name_end != std::string::npos && std::stoi(stat.substr(name_end + 4)) == parent) {
      children.insert(std::stoi(entry.path().filename()));
    }
  }
  return children;
}

std::set<pid_t> descendants_of(pid_t ancestor) {
  std::set<pid_t> all;
  for (const pid_t child : children_of(ancestor)) {
    all.insert(child);
    all.merge(descendants_of(child));
  }
  return all;
}

bool is_gone(pid_t pid) { return ::kill(pid, 0) != 0 && errno == ESRCH; }

pid_t process_of(int pidfd) {
  std::ifstream file("/proc/self/fdinfo/" + std::to_string(pidfd));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("Pid:")) return std::stoi(line.substr(4));
  }
  return -1;
}

}  // namespace kernel_ring
