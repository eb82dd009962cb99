// Asking a launcher, the first one or a template's host, for a jail.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jail/cgroup.h"
#include "jail/egress.h"
#include "jail/id_range.h"
#include "jail/jail.h"
#include "jail/network.h"
#include "plan/plan.h"

namespace jail {

// Whether the host is short of processes, descriptors, or descriptors on their way.
bool is_shortage(int error);
// The error of the call that has just failed, by errno.
Error system_error(std::string doing);
// The same of a message to one of the library's own processes: ErrorKind::closed where it is gone.
Error sending_error(std::string doing);
Result<std::pair<Fd, Fd>> socket_pair();
// First the reading, then the writing end.
Result<std::pair<Fd, Fd>> make_pipe();
// The file's only status flag from now on.
Result<void> set_non_blocking(const Fd& fd);

// Resizes the terminal of a jail or a process; `terminal` is not valid where it has none.
Result<void> resize_terminal(const Fd& terminal, TerminalSize size);

// Sets the limits that each process of a living jail gets, in an order to spawn, to fork or to
// change limits.
void set_process_limits(const Jail::State& jail, wire::Order& order);

// The standard streams of a guest: its ends, and the owner's, which do not block.
struct StreamPipes {
  std::array<Fd, 3> guest;
  std::array<Fd, 3> owner;
};
// Makes the pipes as `ids`, the jail's user, since a guest may open its streams once more by
// /dev/stdout and the like.
Result<StreamPipes> make_stream_pipes(const wire::Ids& ids);

// A descriptor and what it is for.
struct LaunchArgument {
  wire::LaunchFd kind;
  int fd;
};
// Errors: closed (the launcher is gone), exhausted, kernel.
// `guest_work`: wire::GuestWork bits; `ids`: of the jail.
Result<void> send_launch_request(int socket, std::vector<LaunchArgument> arguments,
                                 std::uint32_t guest_work = 0, const wire::Ids& ids = {});

struct JailOrder {
  int socket = -1;  // of the launcher
  int image = -1;   // of `plan`
  std::shared_ptr<const Plan> plan;
  Limits limits;
  // That a start() may ask for instead.
  std::uint64_t max_memory_bytes = 0;
  std::chrono::milliseconds max_cpu{0};
  const CgroupTree* cgroups = nullptr;              // where the jail gets a leaf; null: nowhere
  int invocation = -1;                              // of wire::Invocation; -1: the template's own
  std::uint32_t guest_work = 0;                     // wire::GuestWork bits, of a forked jail
  const Network* network = nullptr;                 // what it may reach; null: nothing
  const EgressProxy* proxy = nullptr;               // the way there, for Network::Kind::egress
  const JailSpec* living = nullptr;                 // of a jail that processes are spawned into
  std::optional<Limits> max_limits = std::nullopt;  // of that one; nullopt: `limits`
  bool forks = false;                               // that one, by a zygote
  IdRange::State* ids = nullptr;  // where the jail gets ids of its own; null: nowhere
  std::optional<TerminalSize> terminal = std::nullopt;  // in place of the guest's streams
};

// The error of a jail with Network::Kind::egress where there is no proxy.
Error no_proxy();

// Does not wait.
Result<Jail> order_jail(const JailOrder& order);

}  // namespace jail
