#include "jail/jail.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "parent/act_as.h"
#include "parent/beneath.h"
#include "parent/fill_report.h"
#include "parent/jail_state.h"
#include "parent/messages.h"
#include "parent/order.h"
#include "plan/check_spec.h"

namespace jail {
namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

// Not valid with errno when it fails, as when the file is there already.
Fd create_beneath(int root, std::string_view path, std::uint32_t mode) {
  constexpr mode_t directory_mode = 0755;
  Fd above;
  int directory = root;
  for (std::size_t slash = path.find('/'); slash != path.npos; slash = path.find('/')) {
    const std::string name(path.substr(0, slash));
    path.remove_prefix(slash + 1);
    if (::mkdirat(directory, name.c_str(), directory_mode) != 0 && errno != EEXIST) return {};
    above = open_beneath(directory, name, O_PATH | O_DIRECTORY);
    if (!above.valid()) return {};
    directory = above.get();
  }
  return open_beneath(directory, std::string(path), O_WRONLY | O_CREAT | O_EXCL, mode);
}

Error write_error(const std::string& doing) {
  const int error = errno;
  const bool full = error == ENOSPC || error == EDQUOT;
  return full ? Error{ErrorKind::exhausted, doing, error, {}} : system_error(doing);
}

// Returns the end that is reported when an owner ends a jail for the reason `why`. The reasons that
// only a program itself can bring about become `killed`.
Ended by_owner(Ended why) {
  const bool is_programs =
      why == Ended::exited || why == Ended::signaled || why == Ended::violation;
  return is_programs ? Ended::killed : why;
}

}  // namespace

Enforcement enforcement_of(LimitedBy by) noexcept {
  if (by == LimitedBy::cgroup) return {Enforcer::cgroup, Enforcer::cgroup, Enforcer::cgroup};
  return {Enforcer::watchdog, Enforcer::rlimit, Enforcer::watchdog};
}

void Jail::State::add_accounting() {
  report.enforcement = enforcement_of(cgroup ? LimitedBy::cgroup : LimitedBy::init);
  if (!cgroup) return;
  const LeafUsage usage = cgroup->usage();
  report.usage.memory_peak_bytes = usage.memory_peak_bytes;
  if (report.usage.cpu_user.count() + report.usage.cpu_system.count() == 0) {
    report.usage.cpu_user = microseconds(usage.cpu_user_us);  // init did not live to say
    report.usage.cpu_system = microseconds(usage.cpu_system_us);
  }
  // The kernel kills the whole group, init as well, so that nobody is left to report it.
  const bool by_a_kill = report.ended == Ended::killed ||
                         (report.ended == Ended::signaled && report.signal == SIGKILL);
  if (usage.out_of_memory && by_a_kill) report.ended = Ended::out_of_memory;
}

Jail::Jail(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
Jail::Jail(Jail&&) noexcept = default;

Jail& Jail::operator=(Jail&& other) noexcept {
  const Jail ends(std::move(state_));
  state_ = std::move(other.state_);
  return *this;
}

Jail::~Jail() {
  if (state_ != nullptr && state_->owner == ::getpid()) kill(Ended::cancelled);
}

Phase Jail::phase() const noexcept { return state_->phase; }
int Jail::control_fd() const noexcept { return state_->control.get(); }
Fd Jail::take_stdin() noexcept { return std::move(state_->streams[0]); }
Fd Jail::take_stdout() noexcept { return std::move(state_->streams[1]); }
Fd Jail::take_stderr() noexcept { return std::move(state_->streams[2]); }
int Jail::terminal_fd() const noexcept { return state_->terminal.get(); }
int Jail::working_directory_fd() const noexcept { return state_->workspace.get(); }
int Jail::process_fd() const noexcept { return state_->process.get(); }
const ExitReport& Jail::report() const noexcept { return state_->report; }

Result<Phase> Jail::advance() {
  if (state_->failure) return *state_->failure;
  Result<Phase> now = state_->read_reports();
  if (!now) state_->failure = now.error();
  return now;
}

Result<Phase> Jail::State::read_reports() {
  while (phase != Phase::ended) {
    Received received;
    switch (receive(control.get(), received)) {
      case Reading::nothing:
        return Phase(phase);
      case Reading::over:
        return give_up();
      case Reading::no_room:
        return no_room_for_descriptor();
      case Reading::got:
        break;
    }
    const wire::Message& message = received.message;
    switch (message.type) {
      case wire::message_launched:
        if (process.valid()) return give_up();
        if (message.error != 0) return launch_error(message.error);
        process = std::move(received.fd);
        if (process.valid() && workspace.valid()) phase = Phase::ready;
        break;
      case wire::message_root:
        root = std::move(received.fd);
        break;
      case wire::message_ready:
        // A jail that became ready once more could be started once more.
        if (phase != Phase::launching || workspace.valid()) return give_up();
        workspace = std::move(received.fd);
        report.phases.set_up = duration_cast<microseconds>(steady_clock::now() - launched_at);
        // Init may be quicker than the launcher, whose word has the pidfd by which it is killed.
        if (process.valid()) phase = Phase::ready;
        break;
      case wire::message_terminal:
        if (phase != Phase::running || !terminal_size || terminal.valid()) return give_up();
        terminal = std::move(received.fd);
        if (!terminal.valid()) return give_up();
        if (auto done = set_non_blocking(terminal); !done) return done.error();
        break;
      case wire::message_paused:
        if (message.index < 1 || message.index > pause_serial) return give_up();
        // An answer to an order that resume() has overtaken says nothing any more.
        if (activity == Activity::pausing && message.index == pause_serial) {
          activity = message.error == 0 ? Activity::paused : Activity::active;
        }
        break;
      case wire::message_context:
        if (phase != Phase::launching || workspace.valid() || message.index < 0 ||
            message.index >= static_cast<std::int32_t>(contexts.size())) {
          return give_up();
        }
        contexts[static_cast<std::size_t>(message.index)] = std::move(received.fd);
        break;
      case wire::message_limits:
        if (message.index <= held_limits_serial || message.index > limits_serial) return give_up();
        held_limits_serial = message.index;
        break;
      case wire::message_failed: {
        Error error = step_error(message, describe_call(*plan, message.phase, message.index));
        if (lease && message.phase == 0 && message.error == EACCES) {
          error.hint = "a jail with a user of its own reaches what everybody on the host may reach";
        }
        return error;
      }
      case wire::message_ending:
        if (phase != Phase::running || is_ending) return give_up();
        fill_report(message, limits.cpu, report);
        is_ending = true;
        break;
      case wire::message_ended:
        // A jail that is cancelled early ends before the launcher's word has come.
        if (!workspace.valid()) return give_up();
        fill_report(message, limits.cpu, report);
        add_accounting();
        phase = Phase::ended;
        break;
      default:
        return give_up();
    }
  }
  return Phase(phase);
}

Result<Phase> Jail::State::give_up() {
  if (phase == Phase::launching) {
    return Error{ErrorKind::closed, "make a jail: its launcher or init is gone", 0, {}};
  }
  kill(Ended::killed);
  return Phase(phase);
}

Result<void> Jail::write_file(std::string_view path, std::string_view content, std::uint32_t mode) {
  const std::string doing = "write " + std::string(path) + " in the working directory";
  if (state_->phase != Phase::ready) {
    return Error{ErrorKind::invalid, doing + ": the jail is not ready", 0, {}};
  }
  const ActAs acting(state_->ids());
  const Fd file = create_beneath(state_->workspace.get(), path, mode);
  if (!file.valid()) return write_error(doing);
  while (!content.empty()) {
    const ssize_t written = ::write(file.get(), content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return write_error(doing);
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  // The umask of this process must not change the mode.
  if (::fchmod(file.get(), mode) != 0) return write_error(doing);
  return {};
}

Result<void> Jail::start() { return start(RunLimits{}); }

Result<void> Jail::start(const RunLimits& limits) {
  State& state = *state_;
  if (state.failure) return *state.failure;
  Limits wanted = state.limits;
  wanted.wall = limits.wall.value_or(wanted.wall);
  wanted.cpu = limits.cpu.value_or(wanted.cpu);
  wanted.memory_bytes = limits.memory_bytes.value_or(wanted.memory_bytes);
  if (state.phase != Phase::ready) {
    return Error{ErrorKind::invalid, "start a jail that is not ready", 0, {}};
  }
  if (auto checked = check_limits(wanted); !checked) return checked;
  if (wanted.memory_bytes > state.max_memory_bytes || wanted.cpu > state.max_cpu) {
    return Error{ErrorKind::invalid,
                 std::string("start a jail: more ") +
                     (wanted.cpu > state.max_cpu ? "processor time" : "memory") +
                     " than it was made for",
                 0,
                 {}};
  }
  if (state.cgroup && wanted.memory_bytes != state.limits.memory_bytes) {
    if (auto done = state.cgroup->set_memory_limit(wanted.memory_bytes); !done) return done;
  }
  state.limits = wanted;
  wire::Order order{};
  order.type = wire::order_start;
  order.wall_ns = static_cast<std::uint64_t>(nanoseconds(wanted.wall).count());
  order.cpu_ns = static_cast<std::uint64_t>(nanoseconds(wanted.cpu).count());
  // Where the kernel counts, init does not look.
  order.memory_bytes =
      state.cgroup ? std::numeric_limits<std::uint64_t>::max() : wanted.memory_bytes;
  order.data_limit = private_mapping_limit(wanted.memory_bytes);
  order.cpu_limit_s = cpu_seconds_limit(wanted.cpu);
  if (state.terminal_size) {
    order.columns = state.terminal_size->columns;
    order.rows = state.terminal_size->rows;
  }
  if (::send(state.control.get(), &order, sizeof order, MSG_NOSIGNAL) < 0) {
    return Error{ErrorKind::closed, "start a jail", errno, {}};
  }
  state.phase = Phase::running;
  return {};
}

namespace {

Result<void> check_runs(const Jail::State& state, const std::string& doing) {
  if (state.failure) return *state.failure;
  if (!state.spawning) return invalid(doing + ": it is no living one");
  if (state.phase == Phase::ended) return Error{ErrorKind::closed, doing + ": it has ended", 0, {}};
  if (state.phase != Phase::running) return invalid(doing + ": it does not run yet");
  return {};
}

Result<void> send_order(const Jail::State& state, const wire::Order& order,
                        const std::string& doing) {
  if (::send(state.control.get(), &order, sizeof order, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
    return {};
  return sending_error(doing);
}

}  // namespace

Result<void> Jail::resize(TerminalSize size) { return resize_terminal(state_->terminal, size); }

Result<void> Jail::signal(int number) {
  if (number < 1 || number > SIGRTMAX) return invalid("signal: not 1 to 64");
  if (state_->failure) return *state_->failure;
  if (state_->spawning) return invalid("signal: a living jail has no guest of its own");
  if (state_->phase == Phase::ended) return {};
  if (state_->phase != Phase::running) return invalid("signal: the jail does not run yet");
  wire::Order order{};
  order.type = wire::order_signal;
  order.signal = number;
  auto sent = send_order(*state_, order, "signal a jail");
  // Init is gone when the jail has ended; advance() reads how.
  if (!sent && sent.error().kind == ErrorKind::closed) return {};
  return sent;
}

Result<void> Jail::pause() {
  const std::string doing = "pause a jail";
  if (auto checked = check_runs(*state_, doing); !checked) return checked;
  if (state_->activity != Activity::active) return {};
  wire::Order order{};
  order.type = wire::order_pause;
  order.serial = state_->pause_serial + 1;
  if (auto sent = send_order(*state_, order, doing); !sent) return sent;
  state_->pause_serial = order.serial;
  state_->activity = Activity::pausing;
  return {};
}

Result<void> Jail::resume() {
  const std::string doing = "resume a jail";
  if (auto checked = check_runs(*state_, doing); !checked) return checked;
  if (state_->activity == Activity::active) return {};
  wire::Order order{};
  order.type = wire::order_resume;
  if (auto sent = send_order(*state_, order, doing); !sent) return sent;
  state_->activity = Activity::active;
  return {};
}

Activity Jail::activity() const noexcept { return state_->activity; }

void Jail::cancel() noexcept {
  if (state_->phase != Phase::ended) state_->hurry_init();
}

void Jail::kill(Ended why) noexcept { state_->kill(by_owner(why)); }

void Jail::State::hurry_init() const noexcept {
  wire::Order order{};
  order.type = wire::order_cancel;
  ::send(control.get(), &order, sizeof order, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void Jail::State::kill(Ended why) noexcept {
  if (phase == Phase::ended) return;
  if (process.valid()) {
    ::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0);
  }
  // An init whose pidfd has not come yet ends when it finds nobody at the other end. The descriptor
  // stays open: an event loop may hold it.
  ::shutdown(control.get(), SHUT_RDWR);
  phase = Phase::ended;
  if (!is_ending) {
    report.ended = why;
    report.signal = SIGKILL;
  }
  if (cgroup) cgroup->kill();
  add_accounting();
}

}  // namespace jail
