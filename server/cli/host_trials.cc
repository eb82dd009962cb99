#include "server/cli/host_trials.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "jail/fd.h"

namespace server {
namespace {

// The process that tries, as the namespace around it knows it.
struct Tester {
  uid_t uid;
  gid_t gid;
};

// One thing to do; 0 or -1 with errno, as system calls have it.
struct Step {
  const char* doing;
  int (*act)(const Tester& tester);
};

int write_file(const char* path, std::string_view text) {
  const jail::Fd file(::open(path, O_WRONLY | O_CLOEXEC));
  if (!file.valid()) return -1;
  return ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0
                                                                                            : -1;
}

int make_namespaces(const Tester&) { return ::unshare(CLONE_NEWUSER | CLONE_NEWNS); }

// The one user and group that an unprivileged process may map. Without them no file could be made.
int map_tester(const Tester& tester) {
  const auto line = [](unsigned id) { return "0 " + std::to_string(id) + " 1"; };
  if (write_file("/proc/self/uid_map", line(tester.uid)) != 0) return -1;
  if (write_file("/proc/self/setgroups", "deny") != 0) return -1;
  return write_file("/proc/self/gid_map", line(tester.gid));
}

int keep_mounts_to_itself(const Tester&) {
  return ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
}

int mount_scratch(const Tester&) {
  return ::mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=700");
}

int make_directories(const Tester&) {
  for (const char* path : {"/tmp/upper", "/tmp/lower", "/tmp/over"}) {
    if (::mkdir(path, 0700) != 0) return -1;
  }
  return 0;
}

// One that is only read has no upper directory, and so needs two that lie below. Whether a root can
// lie there, too, is for the trial with a real jail to say: it knows which root.
int mount_overlay(const Tester&) {
  return ::mount("overlay", "/tmp/over", "overlay", MS_RDONLY | MS_NOSUID | MS_NODEV,
                 "lowerdir=/tmp/upper:/tmp/lower");
}

// A child tells by its exit status which step failed and, by a pipe, why.
template <std::size_t size>
Trial try_steps(const std::array<Step, size>& steps) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return {errno, "make a pipe"};
  const jail::Fd reading(ends[0]);
  jail::Fd writing(ends[1]);
  const Tester tester{.uid = ::geteuid(), .gid = ::getegid()};
  // Without the handlers of fork(): a thread that one of them started would keep the child out of
  // user namespaces.
  const pid_t child = ::_Fork();
  if (child < 0) return {errno, "fork"};
  if (child == 0) {
    for (std::size_t i = 0; i < size; ++i) {
      if (steps[i].act(tester) == 0) continue;
      const int error = errno;
      const ssize_t told = ::write(writing.get(), &error, sizeof error);
      ::_exit(told == sizeof error ? static_cast<int>(i) + 1 : 255);
    }
    ::_exit(0);
  }
  writing.reset();
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return {errno, "wait for a child"};
  }
  if (!WIFEXITED(status)) return {EIO, "run a child"};
  const auto failed = static_cast<std::size_t>(WEXITSTATUS(status));
  if (failed == 0) return {};
  int error = EIO;
  if (failed > size || ::read(reading.get(), &error, sizeof error) != sizeof error) {
    return {EIO, "run a child"};
  }
  return {error, steps[failed - 1].doing};
}

}  // namespace

std::string describe(const Trial& trial) {
  std::array<char, 128> room{};
  return trial.doing + ": " + ::strerror_r(trial.error, room.data(), room.size());
}

Trial try_user_namespace() {
  return try_steps(std::array<Step, 2>{
      {{"make them", make_namespaces}, {"mount in them", keep_mounts_to_itself}}});
}

Trial try_overlay() {
  return try_steps(std::array<Step, 6>{{{"make namespaces", make_namespaces},
                                        {"map a user", map_tester},
                                        {"mount in them", keep_mounts_to_itself},
                                        {"mount a tmpfs", mount_scratch},
                                        {"make directories", make_directories},
                                        {"mount an overlay", mount_overlay}}});
}

Trial try_vsock() {
  const jail::Fd socket(::socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return socket.valid() ? Trial() : Trial{errno, "open a socket"};
}

}  // namespace server
