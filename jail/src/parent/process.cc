#include "jail/process.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>

#include <string_view>
#include <utility>
#include <vector>

#include "parent/fd_passing.h"
#include "parent/fill_report.h"
#include "parent/invocation.h"
#include "parent/jail_state.h"
#include "parent/messages.h"
#include "parent/order.h"
#include "parent/process_state.h"
#include "parent/sealed_file.h"
#include "plan/check_spec.h"
#include "plan/concerns.h"
#include "plan/path_rules.h"

namespace jail {
namespace {

// Texts and lists of wire::Command.
class CommandWriter {
 public:
  CommandWriter() : bytes_(sizeof(wire::Command), '\0') {}

  std::uint64_t text(const std::string& text) {
    const std::uint64_t place = bytes_.size();
    bytes_.append(text).push_back('\0');
    return place;
  }

  std::uint64_t list(const std::vector<std::string>& texts) {
    std::vector<std::uint64_t> places;
    for (const std::string& entry : texts) places.push_back(text(entry));
    places.push_back(0);
    bytes_.resize((bytes_.size() + 7) / 8 * 8, '\0');
    const std::uint64_t place = bytes_.size();
    bytes_.append(reinterpret_cast<const char*>(places.data()), places.size() * sizeof places[0]);
    return place;
  }

  std::string finish(wire::Command head) {
    head.magic = wire::plan_magic;
    head.size = bytes_.size();
    bytes_.replace(0, sizeof head, reinterpret_cast<const char*>(&head), sizeof head);
    return std::move(bytes_);
  }

 private:
  std::string bytes_;
};

Result<Fd> command_file(const ProcessSpec& spec, const Jail::State::Spawning& jail) {
  CommandWriter writer;
  wire::Command head{};
  head.path = writer.text(spec.argv[0]);
  head.start_directory =
      writer.text(spec.working_directory.empty() ? jail.working_directory : spec.working_directory);
  head.arguments = writer.list(spec.argv);
  head.variables = writer.list(with_way_out(spec.env, jail.network));
  return sealed_file("jail-command", writer.finish(head), SealedUse::read);
}

std::string directory_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

Result<void> check_warm(const ProcessSpec& spec, const Jail::State::Spawning& jail) {
  if (jail.of_template.empty()) {
    return invalid("warm: the jail is none of Pool::launch_living()");
  }
  if (!spec.working_directory.empty()) return invalid("working_directory: of a warm process");
  if (directory_of(spec.argv[0]) != directory_of(jail.of_template[1])) {
    return invalid("argv: \"" + spec.argv[0] + "\" is not a file in " +
                   directory_of(jail.of_template[1]));
  }
  return {};
}

// What init is to execute or the zygote to run.
Result<Fd> program_file(const ProcessSpec& spec, const Jail::State::Spawning& jail) {
  if (!spec.warm) return command_file(spec, jail);
  std::vector<std::string> argv = {jail.of_template[0]};
  argv.insert(argv.end(), spec.argv.begin(), spec.argv.end());
  return invocation_file(argv, spec.env, jail.network);
}

Result<void> check_process(const ProcessSpec& spec, const Limits& limits) {
  if (Result<void> command = check_command(spec.argv); !command) return command;
  if (Result<void> environment = check_environment(spec.env); !environment) return environment;
  if (!spec.working_directory.empty() && !is_plain_path(spec.working_directory)) {
    return invalid("working_directory: \"" + spec.working_directory +
                   "\" is not a plain absolute path");
  }
  if (spec.terminal && (spec.terminal->columns == 0 || spec.terminal->rows == 0)) {
    return invalid("terminal: no columns or no rows");
  }
  Limits own = limits;
  own.wall = spec.wall.value_or(limits.wall);
  own.cpu = spec.cpu.value_or(limits.cpu);
  return check_limits(own);
}

wire::Order order_to_spawn(const ProcessSpec& spec, const Jail::State& jail) {
  const Limits& limits = jail.limits;
  wire::Order order{};
  order.type = spec.warm ? wire::order_fork : wire::order_spawn;
  if (spec.terminal) {
    order.columns = spec.terminal->columns;
    order.rows = spec.terminal->rows;
  }
  const std::chrono::nanoseconds wall = spec.wall.value_or(limits.wall);
  order.wall_ns = static_cast<std::uint64_t>(wall.count());
  if (spec.cpu)
    order.cpu_ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(*spec.cpu).count());
  set_process_limits(jail, order);
  order.cpu_limit_s = cpu_seconds_limit(spec.cpu.value_or(limits.cpu));
  return order;
}

}  // namespace

Result<Process> Jail::spawn(const ProcessSpec& spec) const {
  const State& jail = *state_;
  if (jail.failure) return *jail.failure;
  if (!jail.spawning) return invalid("spawn a process: the jail runs one program (JailSpec::life)");
  if (jail.phase != Phase::running) {
    return invalid("spawn a process: the jail was not started, or has ended");
  }
  if (jail.activity != Activity::active) return invalid("spawn a process: the jail is paused");
  if (Result<void> checked = check_process(spec, jail.limits); !checked) return checked.error();
  if (spec.terminal && !jail.spawning->of_template.empty()) {
    return invalid("terminal: jails of a template have none");
  }
  if (spec.warm) {
    if (Result<void> checked = check_warm(spec, *jail.spawning); !checked) return checked.error();
  }
  auto command = program_file(spec, *jail.spawning);
  if (!command) return std::move(command).error();
  auto control = socket_pair();
  if (!control) return std::move(control).error();
  auto state = std::make_unique<Process::State>();
  std::vector<int> lent = {control->second.get(), command->get()};
  StreamPipes pipes;
  if (!spec.terminal) {
    auto made = make_stream_pipes(jail.ids());
    if (!made) return std::move(made).error();
    pipes = std::move(*made);
    for (const Fd& end : pipes.guest) lent.push_back(end.get());
  }
  const wire::Order order = order_to_spawn(spec, jail);
  const std::string_view bytes(reinterpret_cast<const char*>(&order), sizeof order);
  if (!send_with_fds(jail.control.get(), bytes, lent)) return sending_error("spawn a process");
  state->plan = jail.plan;
  state->path = spec.argv[0];
  state->wall = spec.wall.value_or(jail.limits.wall);
  state->cpu = spec.cpu.value_or(jail.limits.cpu);
  state->control = std::move(control->first);
  state->streams = std::move(pipes.owner);
  state->has_terminal = spec.terminal.has_value();
  state->report.enforcement = enforcement_of(jail.cgroup ? LimitedBy::cgroup : LimitedBy::init);
  return Process::State::make(std::move(state));
}

Process::Process(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
Process::Process(Process&&) noexcept = default;
Process& Process::operator=(Process&&) noexcept = default;
// Init kills a process whose control socket ends.
Process::~Process() = default;

ProcessPhase Process::phase() const noexcept { return state_->phase; }
int Process::control_fd() const noexcept { return state_->control.get(); }
int Process::pid() const noexcept { return state_->pid; }
Fd Process::take_stdin() noexcept { return std::move(state_->streams[0]); }
Fd Process::take_stdout() noexcept { return std::move(state_->streams[1]); }
Fd Process::take_stderr() noexcept { return std::move(state_->streams[2]); }
int Process::terminal_fd() const noexcept { return state_->terminal.get(); }
const ExitReport& Process::report() const noexcept { return state_->report; }

Result<ProcessPhase> Process::advance() {
  if (state_->failure) return *state_->failure;
  Result<ProcessPhase> now = state_->read_reports();
  if (!now) state_->failure = now.error();
  return now;
}

Result<ProcessPhase> Process::State::read_reports() {
  while (phase != ProcessPhase::ended) {
    Received received;
    switch (receive(control.get(), received)) {
      case Reading::nothing:
        return ProcessPhase(phase);
      case Reading::over:
        return give_up(Ended::killed);
      case Reading::no_room:
        return no_room_for_descriptor();
      case Reading::got:
        break;
    }
    const wire::Message& message = received.message;
    switch (message.type) {
      case wire::message_spawned:
        pid = message.pid;
        if (has_terminal && !received.fd.valid()) return give_up(Ended::killed);
        terminal = std::move(received.fd);
        if (terminal.valid()) {
          if (auto done = set_non_blocking(terminal); !done) return done.error();
        }
        break;
      case wire::message_running:
        phase = ProcessPhase::running;
        break;
      case wire::message_failed:
        return start_error(message);
      case wire::message_ended:
        fill_report(message, cpu, report);
        phase = ProcessPhase::ended;
        break;
      default:
        return give_up(Ended::killed);
    }
  }
  return ProcessPhase(phase);
}

Error Process::State::start_error(const wire::Message& message) const {
  const auto last = static_cast<std::int32_t>(plan->guest.calls.size()) - 1;
  if (message.index == last) return step_error(message, "start " + path);
  if (message.index >= 0) return step_error(message, describe_call(*plan, 1, message.index));
  Error error = step_error(message, "make a process for " + path);
  if (message.index == wire::no_place_for_process) {
    error.hint = "as many processes as a jail may have at a time have not ended";
  } else if (message.index == wire::no_place_for_listener) {
    error.hint = "too many processes have left others behind that live, or have not ended";
  } else if (message.index == wire::no_terminal) {
    error.kind = ErrorKind::exhausted;
    error.hint = "processes of the jail have all of its terminals open";
  } else if (message.index == wire::no_zygote) {
    error.kind = ErrorKind::closed;
    error.hint = "the zygote that the jail was made with has ended: execute the program instead";
  } else if (message.index == wire::no_start_in_time) {
    error.kind = ErrorKind::exhausted;
    error.hint = "it has not come to its program in time, and has not run";
  }
  return error;
}

Result<ProcessPhase> Process::State::give_up(Ended why) {
  report.ended = why;
  report.signal = SIGKILL;
  phase = ProcessPhase::ended;
  // The descriptor stays open: an event loop may hold it.
  ::shutdown(control.get(), SHUT_RDWR);
  return ProcessPhase(phase);
}

namespace {

Result<void> send_signal(Process::State& state, wire::ProcessOrderType type, int number) {
  if (number < 0 || number > SIGRTMAX) return invalid("signal: not 0 to 64");
  if (state.failure) return *state.failure;
  if (state.phase == ProcessPhase::ended) return {};
  const wire::ProcessOrder order{type, number};
  if (::send(state.control.get(), &order, sizeof order, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
    return {};
  // Init lets go of the socket when the process has ended; advance() reads how.
  if (errno == EPIPE || errno == ECONNRESET) return {};
  return sending_error("signal a process");
}

}  // namespace

Result<void> Process::signal(int number) {
  return send_signal(*state_, wire::signal_process, number);
}

Result<void> Process::signal_group(int number) {
  return send_signal(*state_, wire::signal_group, number);
}

Result<void> Process::resize(TerminalSize size) { return resize_terminal(state_->terminal, size); }

}  // namespace jail
