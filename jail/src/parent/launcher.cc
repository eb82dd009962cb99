#include "jail/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "parent/check_grants.h"
#include "parent/jail_state.h"
#include "parent/launcher_state.h"
#include "parent/order.h"
#include "parent/sealed_file.h"
#include "parent/shared_inodes.h"
#include "plan/plan.h"

extern "C" const char jail_launcher_image_begin[];
extern "C" const char jail_launcher_image_end[];

namespace jail {
namespace {

// The numbers that the launcher gets its descriptors at (see launcher_main.cc).
constexpr int launcher_socket = 3;
constexpr int launcher_image = 4;
constexpr int first_held = 5;  // and up: open for as long as it lives, and for nothing else

// posix_spawn_file_actions and attributes, with the destructors that they lack.
class SpawnSetup {
 public:
  SpawnSetup(int socket, int image, const std::vector<Fd>& held) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
    for (int fd = 0; fd < 3; ++fd) {
      ::posix_spawn_file_actions_addopen(&actions_, fd, "/dev/null", O_RDWR, 0);
    }
    ::posix_spawn_file_actions_adddup2(&actions_, socket, launcher_socket);
    ::posix_spawn_file_actions_adddup2(&actions_, image, launcher_image);
    int next = first_held;
    for (const Fd& fd : held) ::posix_spawn_file_actions_adddup2(&actions_, fd.get(), next++);
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

// Out of the way of the low numbers that the spawned process moves descriptors to.
Fd moved_up(const Fd& fd) { return Fd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 16)); }

}  // namespace

Launcher::Launcher(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
Launcher::Launcher(Launcher&&) noexcept = default;
Launcher& Launcher::operator=(Launcher&&) noexcept = default;

Launcher::~Launcher() {
  if (state_ == nullptr) return;
  state_->socket.reset();  // it ends by itself; a process that is wedged is not waited for
  if (::syscall(SYS_pidfd_send_signal, state_->process.get(), SIGKILL, nullptr, 0) == 0) {
    siginfo_t ended{};
    while (::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(state_->process.get()),
                    &ended, WEXITED) != 0 &&
           errno == EINTR) {
    }
  }
}

Result<Launcher> Launcher::start(LauncherOptions options) {
  if (::geteuid() == 0) {
    return Error{ErrorKind::refused, "start the launcher as root", 0,
                 "no jail runs as host uid 0: drop to another user first"};
  }
  auto image =
      sealed_file("jail-launcher",
                  {jail_launcher_image_begin,
                   static_cast<std::size_t>(jail_launcher_image_end - jail_launcher_image_begin)},
                  SealedUse::execute);
  if (!image) return image.error();
  auto sockets = socket_pair();
  if (!sockets) return sockets.error();
  auto held = hold_shared_inodes();
  if (!held) return held.error();
  const Fd socket = moved_up(sockets->second);
  const Fd program = moved_up(*image);
  for (Fd& fd : *held) fd = moved_up(fd);
  const bool moved =
      std::all_of(held->begin(), held->end(), [](const Fd& fd) { return fd.valid(); });
  if (!socket.valid() || !program.valid() || !moved) return system_error("duplicate a descriptor");

  const SpawnSetup setup(socket.get(), program.get(), *held);
  const std::string path = "/proc/self/fd/" + std::to_string(launcher_image);
  char name[] = "jail-launcher";
  char* arguments[] = {name, nullptr};
  char* environment[] = {nullptr};
  pid_t pid = 0;
  errno = ::posix_spawn(&pid, path.c_str(), setup.actions(), setup.attributes(), arguments,
                        environment);
  if (errno != 0) return system_error("execute the launcher");
  auto state = std::make_unique<State>();
  state->socket = std::move(sockets->first);
  state->process = Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!state->process.valid()) return system_error("open the launcher's pidfd");
  state->host = HostFacts::of_this_host(::geteuid(), ::getegid());
  state->cgroups = std::move(options.cgroups);
  return Launcher(std::move(state));
}

int Launcher::process_fd() const noexcept { return state_->process.get(); }

Enforcement Launcher::enforcement() const noexcept {
  return enforcement_of(state_->cgroups ? LimitedBy::cgroup : LimitedBy::init);
}

Result<std::string> Launcher::explain(const JailSpec& spec) const {
  const auto plan = compile(spec, state_->host);
  if (!plan) return plan.error();
  if (auto granted = check_grants(spec, state_->host.uid); !granted) return granted.error();
  return loosened_text(spec) + to_text(*plan);
}

Result<Jail> Launcher::launch(const JailSpec& spec) const {
  auto plan = compile(spec, state_->host);
  if (!plan) return std::move(plan).error();
  if (auto granted = check_grants(spec, state_->host.uid); !granted) return granted.error();
  const auto image = to_image(*plan);
  if (!image) return image.error();
  const JailOrder order{state_->socket.get(), image->get(),
                        std::make_shared<const Plan>(std::move(*plan)), spec.limits,
                        state_->cgroups ? &*state_->cgroups : nullptr};
  return order_jail(order);
}

}  // namespace jail
