#include "processes.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace kernel_ring {
namespace {

// Reads a directory of /proc; returns -1 where that does not belong to a process.
pid_t parent_in(const std::filesystem::path& directory) {
  std::ifstream file(directory / "stat");
  // A name may contain line ends, as those of hostile guests in other tests do.
  std::string stat;
  std::getline(file, stat, '\0');
  const std::size_t name_end = stat.rfind(')');  // "PID (name) S PPID ..."
  return name_end == std::string::npos ? -1 : std::stoi(stat.substr(name_end + 4));
}

// Children by their parent.
using Family = std::map<pid_t, std::set<pid_t>>;

// Looks at every process of the host once.
Family look_at_all() {
  Family all;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    // Entries that are not processes are skipped, since -1 may be what the caller asked for.
    if (name.find_first_not_of("0123456789") != name.npos) continue;
    all[parent_in(entry.path())].insert(std::stoi(name));
  }
  return all;
}

}  // namespace

std::size_t open_descriptors() { return open_descriptors_of(::getpid()).value_or(0); }

std::optional<std::size_t> open_descriptors_of(pid_t pid) {
  std::error_code error;
  std::filesystem::directory_iterator all("/proc/" + std::to_string(pid) + "/fd", error);
  if (error) return std::nullopt;
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

std::string name_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

std::set<pid_t> children_of(pid_t parent) {
  const Family all = look_at_all();
  return all.contains(parent) ? all.at(parent) : std::set<pid_t>();
}

std::set<pid_t> descendants_of(pid_t ancestor) {
  const Family all = look_at_all();
  std::set<pid_t> found;
  std::vector<pid_t> parents = {ancestor};
  while (!parents.empty()) {
    const auto children = all.find(parents.back());
    parents.pop_back();
    if (children == all.end()) continue;
    for (const pid_t child : children->second) {
      if (found.insert(child).second) parents.push_back(child);
    }
  }
  return found;
}

bool is_gone(pid_t pid) { return ::kill(pid, 0) != 0 && errno == ESRCH; }

std::vector<pid_t> interpreters_of_hosts_below(pid_t ancestor) {
  std::vector<pid_t> found;
  for (const pid_t launcher : children_of(ancestor)) {
    for (const pid_t host : children_of(launcher)) {
      if (name_of(host) != "jail-template") continue;
      for (const pid_t child : children_of(host)) {
        if (name_of(child) == "python3") found.push_back(child);
      }
    }
  }
  return found;
}

pid_t zygote_below(pid_t ancestor) {
  const std::vector<pid_t> found = interpreters_of_hosts_below(ancestor);
  return found.empty() ? -1 : found.front();
}

pid_t process_of(int pidfd) {
  std::ifstream file("/proc/self/fdinfo/" + std::to_string(pidfd));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("Pid:")) return std::stoi(line.substr(4));
  }
  return -1;
}

}  // namespace kernel_ring
