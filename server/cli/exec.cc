#include "server/cli/exec.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "runtime/config/text_file.h"
#include "runtime/sandbox/language.h"
#include "runtime/sandbox/program_root.h"
#include "runtime/sandbox/runner.h"
#include "server/api/decode_execute.h"
#include "server/api/encode.h"
#include "server/cli/drop_privileges.h"
#include "server/cli/exit_codes.h"
#include "server/cli/run_once.h"

namespace server {
namespace {

namespace asio = boost::asio;

int fail(int exit_code, const std::string& text) {
  std::fprintf(stderr, "agent-sandbox: %s\n", text.c_str());
  return exit_code;
}

// False with errno when it cannot all be written. A descriptor that somebody made non-blocking is
// waited for, since it may be shared with the program that started us.
bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      pollfd entry{.fd = fd, .events = POLLOUT, .revents = 0};
      ::poll(&entry, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

// Passes output on as it comes. Where nobody reads any more the program is ended, as the signal
// for a broken pipe would have ended it.
class Passthrough {
 public:
  explicit Passthrough(runtime::Cancel cancel) : cancel_(std::move(cancel)) {}

  void operator()(runtime::Stream stream, std::string_view bytes) {
    if (error_ != 0) return;
    const int fd = stream == runtime::Stream::standard_output ? STDOUT_FILENO : STDERR_FILENO;
    if (write_all(fd, bytes)) return;
    error_ = errno;
    cancel_.request();
  }

  int error() const { return error_; }

 private:
  runtime::Cancel cancel_;
  std::atomic<int> error_{0};
};

// The first signal ends the program, a second one ends us: the jail dies with its launcher.
class Interrupt {
 public:
  Interrupt(asio::any_io_executor executor, runtime::Cancel cancel)
      : signals_(executor, SIGINT, SIGTERM), cancel_(std::move(cancel)) {
    struct sigaction hangup {};
    // Started by nohup it goes on when the terminal is gone.
    if (::sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler != SIG_IGN) {
      signals_.add(SIGHUP);
    }
    wait();
  }

  int signal() const { return signal_; }

 private:
  void wait() {
    signals_.async_wait([this](const boost::system::error_code& error, int number) {
      if (error) return;
      if (signal_.exchange(number) != 0) std::_Exit(exit_signal_base + number);
      cancel_.request();
      wait();
    });
  }

  asio::signal_set signals_;
  runtime::Cancel cancel_;
  std::atomic<int> signal_{0};
};

struct Program {
  std::string code;
  int input_fd = STDIN_FILENO;  // what the program reads from
};

jail::Result<Program> read_program(const ExecOptions& options) {
  if (options.code) return Program{.code = *options.code};
  const bool from_input = options.file == "-";
  auto code = from_input ? runtime::read_text(STDIN_FILENO, "standard input", max_code_bytes)
                         : runtime::read_text_file(options.file, max_code_bytes);
  if (!code) return code.error();
  return Program{.code = std::move(*code), .input_fd = from_input ? -1 : STDIN_FILENO};
}

runtime::Language language_of(const ExecOptions& options) {
  if (options.language) return *options.language;
  if (options.code) return runtime::Language::python;
  return runtime::language_of_file(options.file).value_or(runtime::Language::python);
}

runtime::RunRequest request_of(ExecOptions options, std::string code,
                               const runtime::Config& config) {
  runtime::RunRequest request;
  request.language = language_of(options);
  request.code = std::move(code);
  request.args = std::move(options.args);
  request.env = std::move(options.env);
  request.timeout = options.timeout.value_or(config.sandbox_timeout);
  request.memory_limit_mb = options.memory_limit_mb.value_or(config.sandbox_memory_limit_mb);
  return request;
}

// One line for whoever looks at a program that did not end by itself.
std::string fate_text(const runtime::RunResult& result, const runtime::RunRequest& request) {
  switch (result.status) {
    case runtime::Status::timeout:
      return "ended after " + std::to_string(request.timeout.count()) + " ms: timeout";
    case runtime::Status::out_of_memory:
      return "ended at " + std::to_string(request.memory_limit_mb) + " MB: out of memory";
    case runtime::Status::killed:
      return "ended by " + result.signal.value_or("a signal");
    case runtime::Status::violation:
      return "ended by the system call policy";
    default:
      return {};
  }
}

int report(const runtime::RunResult& result, const runtime::RunRequest& request,
           ExecOptions::Mode mode, const Job& job) {
  if (mode == ExecOptions::Mode::json) {
    const std::string text = encode_result(result, job, runtime::OutputEncoding::utf8) + "\n";
    if (!write_all(STDOUT_FILENO, text)) return exit_own_failure;
  } else if (const std::string fate = fate_text(result, request); !fate.empty()) {
    std::fprintf(stderr, "agent-sandbox: %s\n", fate.c_str());
  }
  return exit_code_of(result);
}

int run(runtime::Runner& runner, asio::thread_pool& pool, const Program& program,
        const runtime::RunRequest& request, ExecOptions::Mode mode) {
  const Job job = make_job();
  runtime::RunOptions options;
  Interrupt interrupt(pool.get_executor(), options.cancel);
  const auto passthrough = std::make_shared<Passthrough>(options.cancel);
  options.standard_input_fd = program.input_fd;
  if (mode == ExecOptions::Mode::stream) {
    options.collect_output = false;
    options.on_output = [passthrough](runtime::Stream stream, std::string_view bytes) {
      (*passthrough)(stream, bytes);
    };
  }
  const auto result = run_once(runner, pool, request, std::move(options));
  if (!result) return fail(exit_own_failure, result.error().message());
  if (interrupt.signal() != 0) return exit_signal_base + interrupt.signal();
  if (passthrough->error() == EPIPE) return exit_signal_base + SIGPIPE;
  if (passthrough->error() != 0) {
    const jail::Error error{jail::ErrorKind::kernel, "write output", passthrough->error(), {}};
    return fail(exit_own_failure, error.message());
  }
  return report(*result, request, mode, job);
}

}  // namespace

int exec(ExecOptions options, runtime::Environment environment) {
  std::size_t bytes = 0;
  for (const auto& arg : options.args) bytes += arg.size() + 1;
  for (const auto& [name, value] : options.env) bytes += name.size() + value.size() + 2;
  if (bytes > max_args_env_bytes) {
    return fail(exit_usage, "exec: more than 131072 bytes of arguments and --env together");
  }
  auto program = read_program(options);
  if (!program) return fail(exit_usage, program.error().message());
  const std::vector<std::string> root_places = runtime::default_root_places(environment);
  runtime::ConfigSources sources;
  sources.flags = std::move(options.flags);
  sources.environment = std::move(environment);
  runtime::find_default_files(sources);
  if (const auto dropped = drop_privileges(options.user); !dropped) {
    return fail(exit_own_failure, dropped.error().message());
  }
  asio::thread_pool pool(2);
  auto runner = runtime::Runner::create(pool.get_executor(), {});
  if (!runner) return fail(exit_own_failure, runner.error().message());
  const auto config = runtime::load_config(sources);
  if (!config) return fail(exit_own_failure, config.error().message());
  const ExecOptions::Mode mode = options.mode;
  const auto request = request_of(std::move(options), std::move(program->code), *config);
  auto root = runtime::find_program_root(config->rootfs, root_places);
  if (!root) return fail(exit_own_failure, root.error().message());
  if (const auto why = runtime::why_not_available(request.language, *root)) {
    return fail(exit_own_failure, *why);
  }
  (*runner)->use_root(std::move(root->view));
  if (mode == ExecOptions::Mode::explain) {
    const auto plan = (*runner)->explain(request);
    if (!plan) return fail(exit_own_failure, plan.error().message());
    return write_all(STDOUT_FILENO, *plan) ? 0 : exit_own_failure;
  }
  return run(**runner, pool, *program, request, mode);
}

}  // namespace server
