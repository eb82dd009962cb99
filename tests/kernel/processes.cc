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

pid_t zygote_below(pid_t ancestor) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "stat");
    std::string stat;
    std::getline(file, stat);
    const std::size_t close = stat.rfind(')');
    if (close == std::string::npos || stat.find("(jail-template)") == std::string::npos) continue;
    const pid_t host = std::stoi(entry.path().filename());
    pid_t above = std::stoi(stat.substr(close + 4));
    std::ifstream launcher_stat("/proc/" + std::to_string(above) + "/stat");
    std::getline(launcher_stat, stat);
    above = std::stoi(stat.substr(stat.rfind(')') + 4));
    if (above != ancestor) continue;
    std::ifstream children("/proc/" + std::to_string(host) + "/task/" + std::to_string(host) +
                           "/children");
    for (pid_t child = 0; children >> child;) {
      std::ifstream name("/proc/" + std::to_string(child) + "/comm");
      std::string comm;
      std::getline(name, comm);
      if (comm == "python3") return child;
    }
  }
  return -1;
}

pid_t process_of(int pidfd) {
  std::ifstream file("/proc/self/fdinfo/" + std::to_string(pidfd));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("Pid:")) return std::stoi(line.substr(4));
  }
  return -1;
}

}  // namespace kernel_ring
