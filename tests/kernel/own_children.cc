#include "own_children.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <array>
#include <set>
#include <sstream>

#include "jail/fd.h"

namespace kernel_ring {
namespace {

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

pid_t spawn(char* const* arguments, char* const* environment, int output) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, output, 1);
  ::posix_spawn_file_actions_adddup2(&actions, output, 2);
  pid_t pid = -1;
  errno = ::posix_spawn(&pid, arguments[0], &actions, nullptr, arguments, environment);
  ::posix_spawn_file_actions_destroy(&actions);
  return errno == 0 ? pid : -1;
}

// Between fork and execve only functions may be called that are safe while another thread held a
// lock.
pid_t fork_and_exec(char* const* arguments, char* const* environment, int output) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  const int nothing = ::open("/dev/null", O_RDONLY);
  if (::dup2(nothing, 0) == 0 && ::dup2(output, 1) == 1 && ::dup2(output, 2) == 2) {
    if (nothing > 2) ::close(nothing);
    ::execve(arguments[0], arguments, environment);
  }
  ::_exit(127);
}

}  // namespace

OwnChild run_own_child(StartedBy by, const std::vector<std::string>& program) {
  std::vector<std::string> texts = program;
  std::vector<std::string> variables = {"LC_ALL=C", "PATH=/usr/bin:/bin"};
  const std::vector<char*> arguments = pointers_to(texts);
  const std::vector<char*> environment = pointers_to(variables);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {-1, std::string("no pipe: ") + std::to_string(errno)};
  const jail::Fd output(ends[0]);
  jail::Fd given(ends[1]);
  OwnChild child;
  child.pid = by == StartedBy::posix_spawn
                  ? spawn(arguments.data(), environment.data(), given.get())
                  : fork_and_exec(arguments.data(), environment.data(), given.get());
  if (child.pid < 0) return {-1, "not started: errno " + std::to_string(errno)};
  given.reset();
  std::array<char, 4096> room;
  for (;;) {
    const ssize_t got = ::read(output.get(), room.data(), room.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return child;
    child.output.append(room.data(), static_cast<std::size_t>(got));
  }
}

std::string descriptors_of_own_child(OwnChild& child) {
  // "l-wx------ 1 1000 1000 64 Jan  1 00:00 2 -> pipe:[4711]"; one of them is the listed directory.
  std::set<int> found;
  std::string directory;
  std::istringstream lines(child.output);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t arrow = line.find(" -> ");
    if (arrow == std::string::npos) continue;
    const std::size_t before = line.rfind(' ', arrow - 1);
    if (line.find("/proc/", arrow) != std::string::npos && directory.empty()) {
      directory = line;
    } else {
      found.insert(std::stoi(line.substr(before + 1)));
    }
  }
  if (found.size() != 3 || directory.empty()) return child.output;
  std::string numbers;
  for (const int fd : found) numbers += (numbers.empty() ? "" : " ") + std::to_string(fd);
  return numbers;
}

}  // namespace kernel_ring
