#include "parent/order.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "parent/act_as.h"
#include "parent/fd_passing.h"
#include "parent/jail_state.h"

namespace jail {
namespace {

LeafLimits leaf_limits(const Limits& limits) {
  return {limits.memory_bytes, limits.processes + 1, limits.cpu_percent};
}

}  // namespace

bool is_shortage(int error) {
  return error == EAGAIN || error == EMFILE || error == ENFILE || error == ETOOMANYREFS;
}

Error system_error(std::string doing) {
  const int error = errno;
  const bool full = is_shortage(error) || error == ENOMEM;
  return {full ? ErrorKind::exhausted : ErrorKind::kernel, std::move(doing), error,
          error == EMFILE ? "raise the limit of open files (ulimit -n)" : ""};
}

Error sending_error(std::string doing) {
  Error error = system_error(std::move(doing));
  if (error.sys_errno == EPIPE || error.sys_errno == ECONNRESET) error.kind = ErrorKind::closed;
  return error;
}

Error no_proxy() {
  return {ErrorKind::invalid, "network: egress without a proxy", 0,
          "start one and give it to the launcher (LauncherOptions::egress)"};
}

Result<std::pair<Fd, Fd>> socket_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return system_error("make a socket pair");
  }
  return std::pair<Fd, Fd>(Fd(ends[0]), Fd(ends[1]));
}

Result<std::pair<Fd, Fd>> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_error("make a pipe");
  return std::pair<Fd, Fd>(Fd(ends[0]), Fd(ends[1]));
}

Result<void> set_non_blocking(const Fd& fd) {
  if (::fcntl(fd.get(), F_SETFL, O_NONBLOCK) != 0)
    return system_error("make a stream non-blocking");
  return {};
}

Result<void> resize_terminal(const Fd& terminal, TerminalSize size) {
  if (!terminal.valid()) return invalid("resize a terminal: there is none");
  const winsize wanted{size.rows, size.columns, 0, 0};
  if (::ioctl(terminal.get(), TIOCSWINSZ, &wanted) == 0) return {};
  return system_error("resize a terminal");
}

Result<void> send_launch_request(int socket, std::vector<LaunchArgument> arguments,
                                 std::uint32_t guest_work, const wire::Ids& ids) {
  std::sort(arguments.begin(), arguments.end(),
            [](const LaunchArgument& a, const LaunchArgument& b) { return a.kind < b.kind; });
  wire::LaunchRequest request{wire::plan_magic, 0, guest_work, ids};
  int fds[wire::launch_fd_kinds];
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    request.fds |= arguments[i].kind;
    fds[i] = arguments[i].fd;
  }
  // A launcher that stands still must not make its owner's event loop stand still.
  const std::string_view bytes(reinterpret_cast<const char*>(&request), sizeof request);
  if (send_with_fds(socket, bytes, {fds, arguments.size()})) return {};
  return sending_error("ask the launcher for a jail");
}

Result<StreamPipes> make_stream_pipes(const wire::Ids& ids) {
  const CountAs counted(ids);
  const ActAs acting(ids);
  StreamPipes made;
  for (std::size_t i = 0; i < made.guest.size(); ++i) {
    auto pipe = make_pipe();
    if (!pipe) return std::move(pipe).error();
    // The guest reads the first one and writes to the others.
    made.guest[i] = std::move(i == 0 ? pipe->first : pipe->second);
    made.owner[i] = std::move(i == 0 ? pipe->second : pipe->first);
    if (auto done = set_non_blocking(made.owner[i]); !done) return done.error();
  }
  return made;
}

Result<Jail> order_jail(const JailOrder& order) {
  auto control = socket_pair();
  if (!control) return control.error();
  auto state = std::make_unique<Jail::State>();
  if (order.ids != nullptr) {
    auto lease = order.ids->lease();
    if (!lease) return std::move(lease).error();
    state->lease.emplace(std::move(*lease));
  }
  auto streams = make_stream_pipes(state->ids());
  if (!streams) return std::move(streams).error();
  std::vector<LaunchArgument> arguments = {{wire::launch_plan, order.image},
                                           {wire::launch_control, control->second.get()},
                                           {wire::launch_stdin, streams->guest[0].get()},
                                           {wire::launch_stdout, streams->guest[1].get()},
                                           {wire::launch_stderr, streams->guest[2].get()}};
  if (order.cgroups != nullptr) {
    auto leaf = order.cgroups->make_leaf(leaf_limits(order.limits));
    if (!leaf) return leaf.error();
    arguments.push_back({wire::launch_cgroup, leaf->directory()});
    state->cgroup.emplace(std::move(*leaf));
  }
  Fd way_out;
  if (order.network != nullptr && order.network->kind == Network::Kind::egress) {
    if (order.proxy == nullptr) return no_proxy();
    auto admitted = order.proxy->admit(order.network->rules, order.network->label);
    if (!admitted) return std::move(admitted).error();
    way_out = std::move(*admitted);
    arguments.push_back({wire::launch_egress, way_out.get()});
  }
  if (order.invocation >= 0) arguments.push_back({wire::launch_invocation, order.invocation});
  const auto now = std::chrono::steady_clock::now();
  if (auto sent =
          send_launch_request(order.socket, std::move(arguments), order.guest_work, state->ids());
      !sent) {
    return sent.error();
  }
  state->plan = order.plan;
  state->limits = order.limits;
  state->max_memory_bytes = std::max(order.max_memory_bytes, order.limits.memory_bytes);
  state->max_cpu = std::max(order.max_cpu, order.limits.cpu);
  state->control = std::move(control->first);
  state->terminal_size = order.terminal;
  if (!order.terminal) state->streams = std::move(streams->owner);
  if (order.living != nullptr) {
    state->spawning = {order.living->working_directory, order.living->network, {}};
    state->max_limits = order.max_limits.value_or(order.limits);
    if (order.forks) state->spawning->of_template = order.living->argv;
  }
  state->launched_at = now;
  return Jail::State::make(std::move(state));
}

}  // namespace jail
