#include "parent/image_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "parent/order.h"
#include "parent/sealed_file.h"

namespace jail {
namespace {

constexpr int socket_number = 3;
constexpr int image_number = 4;
constexpr int first_other = 5;

// posix_spawn_file_actions and attributes, with the destructors that they lack.
class SpawnSetup {
 public:
  SpawnSetup(int socket, int image, const std::vector<Fd>& others) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
    for (int fd = 0; fd < 3; ++fd) {
      ::posix_spawn_file_actions_addopen(&actions_, fd, "/dev/null", O_RDWR, 0);
    }
    ::posix_spawn_file_actions_adddup2(&actions_, socket, socket_number);
    ::posix_spawn_file_actions_adddup2(&actions_, image, image_number);
    int next = first_other;
    for (const Fd& fd : others) ::posix_spawn_file_actions_adddup2(&actions_, fd.get(), next++);
    ::posix_spawn_file_actions_addclosefrom_np(&actions_, next);
    sigset_t signals;
    ::sigfillset(&signals);
    ::posix_spawnattr_setsigdefault(&attributes_, &signals);
    ::sigemptyset(&signals);
    ::posix_spawnattr_setsigmask(&attributes_, &signals);
    // A session of its own: an interrupt typed at the caller's terminal is for the caller to act
    // on.
    ::posix_spawnattr_setflags(&attributes_,
                               POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
  }
  SpawnSetup(const SpawnSetup&) = delete;
  ~SpawnSetup() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

// Takes the status of the process behind a pidfd. `options` beside WEXITED. False: it is no child,
// or none any more, in a fork of the process that owns it or where its end was seen.
bool take_status(const Fd& process, siginfo_t& ended, int options) {
  constexpr auto by_pidfd = static_cast<idtype_t>(P_PIDFD);
  const auto id = static_cast<id_t>(process.get());
  int result;
  do {
    result = ::waitid(by_pidfd, id, &ended, WEXITED | options);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

// Out of the way of the low numbers that the spawned process moves descriptors to.
Fd moved_up(const Fd& fd) { return Fd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 16)); }

}  // namespace

Result<Fd> run_image(const char* name, std::string_view image, Fd socket, std::vector<Fd> others) {
  auto file = sealed_file(name, image, SealedUse::execute);
  if (!file) return file.error();
  const Fd program = moved_up(*file);
  socket = moved_up(socket);
  for (Fd& fd : others) fd = moved_up(fd);
  const bool moved =
      std::all_of(others.begin(), others.end(), [](const Fd& fd) { return fd.valid(); });
  if (!socket.valid() || !program.valid() || !moved) return system_error("duplicate a descriptor");

  const SpawnSetup setup(socket.get(), program.get(), others);
  const std::string path = "/proc/self/fd/" + std::to_string(image_number);
  std::string argument = name;
  char* arguments[] = {argument.data(), nullptr};
  char* environment[] = {nullptr};
  pid_t pid = 0;
  errno = ::posix_spawn(&pid, path.c_str(), setup.actions(), setup.attributes(), arguments,
                        environment);
  if (errno != 0) return system_error("execute " + argument);
  Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process.valid()) return system_error("open the pidfd of " + argument);
  return process;
}

void end_process(const Fd& process) {
  siginfo_t ended{};
  if (!take_status(process, ended, WNOHANG | WNOWAIT)) return;
  ::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0);
  take_status(process, ended, 0);
}

void reap_ended(const Fd& process) {
  siginfo_t ended{};
  take_status(process, ended, WNOHANG);
}

}  // namespace jail
