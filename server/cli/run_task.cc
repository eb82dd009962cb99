#include "server/cli/run_task.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_future.hpp>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <optional>
#include <utility>

#include "jail/fd.h"
#include "runtime/config/text_file.h"
#include "runtime/sandbox/input_files.h"
#include "runtime/sandbox/language.h"
#include "runtime/service/request_rules.h"
#include "runtime/service/task_json.h"
#include "server/cli/agent_parts.h"
#include "server/cli/drop_privileges.h"
#include "server/cli/exec_files.h"
#include "server/cli/exit_codes.h"
#include "server/cli/interrupt.h"
#include "server/cli/local_runner.h"
#include "server/cli/plain_text.h"
#include "server/cli/progress.h"
#include "server/cli/read_files.h"
#include "server/cli/run_on_server.h"
#include "server/cli/state_directory.h"
#include "server/cli/task_trace.h"
#include "server/cli/terminal.h"
#include "server/cli/write_all.h"

namespace server {
namespace {

namespace agent = runtime::agent;
namespace asio = boost::asio;

// What is read and opened as whoever called.
struct Brief {
  agent::TaskRequest request;
  jail::Fd trace;
  ArtifactDirectories directories;
};

jail::Error mistake(std::string text) { return {jail::ErrorKind::invalid, std::move(text), 0, {}}; }

jail::Result<std::string> read_task(const std::string& argument) {
  if (argument != "-") return argument;
  auto text = runtime::read_text(STDIN_FILENO, "standard input", agent::max_task_bytes);
  if (!text) return text;
  while (text->ends_with('\n') || text->ends_with('\r')) text->pop_back();
  if (runtime::is_task_text(*text)) return text;
  return mistake("standard input: expected a task of 1 .. " +
                 std::to_string(runtime::max_task_characters) + " characters");
}

jail::Result<Brief> read_brief(const RunTaskOptions& options) {
  Brief brief;
  auto task = read_task(options.task);
  if (!task) return task.error();
  brief.request.task = std::move(*task);
  if (!options.tests_file.empty()) {
    auto tests = runtime::read_text_file(options.tests_file, runtime::max_tests_bytes);
    if (!tests) {
      jail::Error error = tests.error();
      error.doing = "--tests: " + error.doing;
      return error;
    }
    brief.request.tests = std::move(*tests);
  }
  auto files = read_input_files(options.program.files);
  if (!files) return files.error();
  brief.request.files = std::move(*files);
  const auto own_name = runtime::file_name_of(runtime::Language::python, {});
  if (const auto ok = check_input_files(brief.request.files, own_name, {}); !ok) {
    return mistake("--file: " + ok.error().doing);
  }
  auto directories = ArtifactDirectories::open(options.artifacts);
  if (!directories) return directories.error();
  brief.directories = std::move(*directories);
  brief.request.artifacts = globs_of(options.artifacts);
  if (!options.trace_file.empty()) {
    brief.trace = jail::Fd(
        ::open(options.trace_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (!brief.trace.valid()) {
      return jail::Error{
          jail::ErrorKind::kernel, "--trace: write " + options.trace_file, errno, {}};
    }
  }
  return brief;
}

// A cassette's answers are those to another question, where the task differs.
void tell_of_recording(const RunTaskOptions& options, const runtime::Config& config) {
  const auto* const active = runtime::active_provider(config);
  const std::string& usual = active == nullptr ? options.provider : active->name;
  const std::string& name = options.provider.empty() ? usual : options.provider;
  if (name != config.replay.name) return;
  fail(0, "the answers are recorded (REPLAY_CASSETTE); no model reads the task");
}

// Whoever types a program's file wants it to be run, and a model would be given its name alone.
void tell_of_program(const std::string& task) {
  struct stat entry {};
  const bool is_program = runtime::language_of_file(task) && ::stat(task.c_str(), &entry) == 0;
  if (!is_program) return;
  fail(0, "the task is the name of a file; agent-sandbox exec " + task + " runs that file");
}

bool is_quiet(const RunTaskOptions& options) {
  return options.output == RunTaskOptions::Output::json &&
         options.detail == RunTaskOptions::Detail::usual;
}

void complete_request(agent::TaskRequest& request, const RunTaskOptions& options,
                      const runtime::Config& config) {
  request.max_attempts = options.max_attempts.value_or(config.max_reflexion_attempts);
  request.candidates = options.candidates;
  request.timeout = options.program.timeout.value_or(config.sandbox_timeout);
  request.memory_limit_mb =
      options.program.memory_limit_mb.value_or(config.sandbox_memory_limit_mb);
  request.team = options.team;
  request.tests_by_model = options.tests_by_model;
  request.lessons = options.lessons;
  request.provider = options.provider;
  request.model = options.model;
}

ProgressStyle style_of(const RunTaskOptions& options, const runtime::Environment& environment,
                       std::uint32_t max_attempts) {
  return {.colours = colours_on(STDERR_FILENO, environment),
          .detail = options.detail,
          .max_attempts = max_attempts};
}

int report(const agent::TaskResult& result, const RunTaskOptions& options,
           const runtime::Execution& execution) {
  std::string text;
  if (options.output == RunTaskOptions::Output::json) {
    text = json_for_standard_output(
               runtime::encode_task(result, execution, std::chrono::system_clock::now())) +
           "\n";
  } else if (result.success()) {
    text = plain_text(result.output);
    if (!text.empty() && !text.ends_with('\n') && ::isatty(STDOUT_FILENO) == 1) text += "\n";
  }
  if (const int failed = print(text); failed != 0) return failed;
  return result.success() ? 0 : exit_not_solved;
}

int solve(LocalRunner& local, Agent& parts, Brief brief, const RunTaskOptions& options) {
  const runtime::Execution execution = runtime::make_execution();
  const auto strand = asio::make_strand(*local.pool);
  const ProgressPlace place = is_terminal(STDERR_FILENO, local.environment)
                                  ? ProgressPlace::terminal
                                  : ProgressPlace::lines;
  const auto style = style_of(options, local.environment, brief.request.max_attempts);
  const auto progress =
      is_quiet(options) ? nullptr : std::make_shared<Progress>(strand, STDERR_FILENO, place, style);
  const auto trace =
      brief.trace.valid() ? std::make_shared<TaskTrace>(brief.request.task) : nullptr;
  agent::TaskOptions task;
  task.on_event = [progress, trace](const agent::Event& event) {
    if (trace != nullptr) trace->add(event);
    if (progress != nullptr) progress->add(event);
  };
  Interrupt interrupt(strand, task.cancel);
  if (progress != nullptr) asio::post(strand, [progress] { progress->start(); });
  auto future = asio::co_spawn(
      strand, parts.runtime->run(std::move(brief.request), std::move(task)), asio::use_future);
  const agent::TaskResult result = future.get();
  local.pool->stop();
  local.pool->join();
  if (progress != nullptr) progress->finish(result);
  if (trace != nullptr && !write_all(brief.trace.get(), trace->page(result))) {
    const jail::Error error{jail::ErrorKind::kernel, "write " + options.trace_file, errno, {}};
    return fail(exit_own_failure, error.message());
  }
  int exit_code = report(result, options, execution);
  if (result.success() && !keep_artifacts(result.artifacts, brief.directories)) {
    exit_code = exit_own_failure;
  }
  return interrupt.signal() != 0 ? exit_signal_base + interrupt.signal() : exit_code;
}

}  // namespace

int run_task(RunTaskOptions options, runtime::Environment environment) {
  tell_of_program(options.task);
  auto brief = read_brief(options);
  if (!brief) return fail(exit_usage, brief.error().message());
  if (!options.server.empty()) {
    return run_on_server(options, brief->request, brief->directories, brief->trace.get(),
                         environment);
  }
  take_state_directory(environment, options.host.user);
  auto local = start_local_runner(options.host, std::move(environment),
                                  [&brief] { return brief->directories.remember_caller(); });
  if (!local) return fail_to_start(local.error().message());
  complete_request(brief->request, options, local->config);
  runtime::Logger logger(
      {.level = runtime::LogLevel::warning, .format = local->config.log_format, .write = {}});
  auto parts =
      make_agent(local->config, local->environment, *local->runner, options.lessons, logger);
  if (!parts) return fail(exit_own_failure, as_whom(parts.error()).message());
  if (const std::string why = why_not_taken(local->config, *parts, options.provider);
      !why.empty()) {
    return fail(exit_own_failure, why);
  }
  if (!is_quiet(options)) tell_of_recording(options, local->config);
  return solve(*local, *parts, std::move(*brief), options);
}

}  // namespace server
