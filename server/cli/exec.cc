#include "server/cli/exec.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>

#include "runtime/config/text_file.h"
#include "runtime/jail_file/jail_file.h"
#include "runtime/json/writer.h"
#include "runtime/sandbox/input_files.h"
#include "runtime/sandbox/language.h"
#include "runtime/sandbox/runner.h"
#include "runtime/sandbox/template.h"
#include "runtime/service/request_fields.h"
#include "runtime/service/request_rules.h"
#include "runtime/service/result_json.h"
#include "server/cli/common_arguments.h"
#include "server/cli/exec_files.h"
#include "server/cli/exec_on_server.h"
#include "server/cli/exec_report.h"
#include "server/cli/exec_terminal.h"
#include "server/cli/exit_codes.h"
#include "server/cli/interrupt.h"
#include "server/cli/option_words.h"
#include "server/cli/read_files.h"
#include "server/cli/run_once.h"
#include "server/cli/start.h"
#include "server/cli/typed_escape.h"
#include "server/cli/write_all.h"

namespace server {
namespace {

namespace asio = boost::asio;

// Works for a pool whose only thread is held up otherwise, so that signals are still heard.
class SecondThread {
 public:
  explicit SecondThread(asio::thread_pool& pool) : pool_(pool) {}
  SecondThread(const SecondThread&) = delete;
  ~SecondThread() {
    pool_.stop();
    if (thread_.joinable()) thread_.join();
  }

  // Does nothing where it works already, or where there can be no thread now: who is still held up
  // later asks again.
  void begin() {
    if (thread_.joinable()) return;
    try {
      thread_ = std::thread([this] { pool_.attach(); });
    } catch (const std::system_error&) {
      return;
    }
  }

 private:
  asio::thread_pool& pool_;
  std::thread thread_;
};

// Passes output on as it comes. Where nobody reads any more the program is ended, as the signal
// for a broken pipe would have ended it. Where somebody reads later, the program waits, and its end
// does not.
class Passthrough {
 public:
  Passthrough(runtime::Cancel cancel, SecondThread& second)
      : cancel_(std::move(cancel)),
        second_(second),
        out_(reopened_terminal(STDOUT_FILENO)),
        err_(reopened_terminal(STDERR_FILENO)) {}

  void operator()(runtime::Stream stream, std::string_view bytes) {
    if (error_ != 0) return;
    if (stream == runtime::Stream::standard_error) keep_tail(bytes);
    const bool is_out = stream == runtime::Stream::standard_output;
    const jail::Fd& own = is_out ? out_ : err_;
    const int fd = own.valid() ? own.get() : is_out ? STDOUT_FILENO : STDERR_FILENO;
    const auto goes_on = [&] {
      if (!takes_bytes(fd)) second_.begin();
      return !cancel_.requested();
    };
    if (write_all_while(fd, bytes, goes_on)) return;
    error_ = errno;
    cancel_.request();
  }

  // What came last on standard error.
  const std::string& error_tail() const { return error_tail_; }

  // The errno of writing; 0 where there is none, or the run was cancelled.
  int error() const { return error_ == EINTR ? 0 : error_.load(); }

 private:
  void keep_tail(std::string_view bytes) {
    constexpr std::size_t most = 4096;
    error_tail_ += bytes.substr(bytes.size() - std::min(bytes.size(), most));
    if (error_tail_.size() > most) error_tail_.erase(0, error_tail_.size() - most);
  }

  std::string error_tail_;
  runtime::Cancel cancel_;
  SecondThread& second_;
  const jail::Fd out_;
  const jail::Fd err_;
  std::atomic<int> error_{0};
};

struct Program {
  std::string code;
  int input_fd = STDIN_FILENO;  // what the program reads from
};

jail::Result<Program> read_program(const ExecOptions& options) {
  if (options.code) {
    return Program{.code = *options.code, .input_fd = options.reads_input ? STDIN_FILENO : -1};
  }
  if (options.file.empty()) {
    const char* const code =
        interactive_program(options.language.value_or(runtime::Language::python));
    if (code == nullptr)
      return jail::invalid(
          "-t: expected -c CODE or FILE; there is no typescript that reads what is typed");
    return Program{.code = code};
  }
  const bool from_input = options.file == "-";
  auto code = from_input
                  ? runtime::read_text(STDIN_FILENO, "standard input", runtime::max_code_bytes)
                  : runtime::read_text_file(options.file, runtime::max_code_bytes);
  if (!code) return code.error();
  const bool has_input = !from_input && options.reads_input;
  return Program{.code = std::move(*code), .input_fd = has_input ? STDIN_FILENO : -1};
}

// A file says its language by its name or its first line. What is typed, or comes by standard
// input, is Python where it says nothing. Nothing for a file that could be anything.
std::optional<runtime::Language> language_of(const ExecOptions& options, std::string_view code) {
  if (options.language) return options.language;
  const bool has_name = !options.code && !options.file.empty() && options.file != "-";
  if (has_name) {
    if (const auto language = runtime::language_of_file(options.file)) return language;
  }
  if (const auto language = runtime::language_of_first_line(code)) return language;
  return has_name ? std::nullopt : std::optional(runtime::Language::python);
}

// Whoever forgot -c has typed a program where a file's name belongs.
bool looks_like_code(const std::string& word) {
  return word.find_first_of("()=;\n\"'") != word.npos || word.find(' ') != word.npos;
}

// Whoever has Docker in mind names the program that is to run.
bool is_interpreter(std::string_view word) {
  constexpr std::string_view interpreters[] = {"bash", "sh", "python", "python3", "node"};
  return std::ranges::find(interpreters, word) != std::end(interpreters);
}

std::string with_hint(const ExecOptions& options, const jail::Error& error) {
  std::string text = error.message();
  if (error.sys_errno == ENOENT && looks_like_code(options.file)) {
    text +=
        "; a program itself goes behind -c: exec -c " + runtime::json::quoted(options.file, 128);
  } else if (error.sys_errno == ENOENT && is_interpreter(options.file)) {
    text += "; a language is named by --language, and -t gives a terminal: exec -t --language bash";
  } else if (error.sys_errno == EISDIR) {
    text += "; --file brings a directory beside a program: exec --file " + options.file + ":. FILE";
  }
  return text;
}

// The name of a variable that is not set, or nothing: all are in `options.env` then.
std::optional<std::string> pass_variables(ExecOptions& options,
                                          const runtime::Environment& environment) {
  for (const std::string& name : options.passed_env) {
    const auto found = environment.find(name);
    if (found == environment.end()) return name;
    options.env.emplace_back(name, found->second);
  }
  return std::nullopt;
}

// So that the program knows what the terminal can show, unless it is told something else.
void pass_terminal_name(ExecOptions& options, const runtime::Environment& environment) {
  const auto name = environment.find("TERM");
  if (name != environment.end()) options.env.emplace(options.env.begin(), "TERM", name->second);
}

// The name that the program's file has here, where its jail can have one of that name beside
// `files`; else empty.
std::string file_name_for(const ExecOptions& options,
                          const std::vector<runtime::InputFile>& files) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  constexpr std::size_t max_bytes = 128;
  if (options.code || options.file.empty() || options.file == "-") return {};
  const std::string name = options.file.substr(options.file.rfind('/') + 1);
  const bool is_plain = !name.empty() && name.size() <= max_bytes &&
                        name.find_first_not_of(plain) == name.npos && name.front() != '.' &&
                        name.front() != '-';
  // A caller who brings another file of that name means that one.
  const bool is_taken =
      std::ranges::any_of(files, [&](const auto& file) { return file.path == name; });
  return is_plain && !is_taken ? name : std::string();
}

// A directory of --file may bring the program's own file under the name that the program has
// anyway.
void leave_out_program(const ExecOptions& options, runtime::Language language,
                       const std::string& code, std::vector<runtime::InputFile>& files) {
  if (options.code || options.file.empty()) return;
  const std::string_view name = runtime::file_name_of(language, code);
  std::erase_if(files, [&](const auto& file) { return file.path == name && file.content == code; });
}

using SharedJailFile = std::shared_ptr<const runtime::JailFile>;

// Null where none is named.
jail::Result<SharedJailFile> read_jail_file(const ExecOptions& options) {
  if (options.jail_file.empty()) return SharedJailFile();
  auto file = runtime::read_jail_file(options.jail_file);
  if (!file) return file.error();
  return std::make_shared<const runtime::JailFile>(std::move(*file));
}

bool shows_files_of_host(const SharedJailFile& jail_file) {
  return jail_file != nullptr && !(jail_file->binds.empty() && jail_file->volumes.empty());
}

// The network that the file names, with what the command line adds.
jail::Network network_of(const ExecOptions& options, const SharedJailFile& jail_file) {
  jail::Network network;
  if (jail_file != nullptr) network = jail_file->network;
  for (const std::string& rule : options.allow) {
    network.kind = jail::Network::Kind::egress;
    network.rules.push_back(rule);
    network.why.emplace_back("--allow");
  }
  return network;
}

runtime::RunRequest request_of(ExecOptions options, runtime::Language language, std::string code,
                               std::vector<runtime::InputFile> files,
                               const SharedJailFile& jail_file,
                               const runtime::RequestRules& rules) {
  runtime::RunRequest request = runtime::default_program(rules);
  request.language = language;
  request.code = std::move(code);
  request.file_name = file_name_for(options, files);
  request.files = std::move(files);
  request.template_name = options.template_name;
  request.args = std::move(options.args);
  // What the command line says comes later and so counts.
  if (jail_file != nullptr) request.env = jail_file->env;
  request.env.insert(request.env.end(), options.env.begin(), options.env.end());
  request.artifacts = globs_of(options.artifacts);
  request.network = network_of(options, jail_file);
  // A person at a terminal ends the program.
  const auto usual = options.has_terminal ? typed_ceilings.timeout : request.timeout;
  request.timeout = options.program.timeout.value_or(usual);
  if (options.has_terminal) request.terminal = own_terminal_size();
  request.memory_limit_mb = options.program.memory_limit_mb.value_or(request.memory_limit_mb);
  request.max_processes = options.max_processes;
  request.disk_limit_mb = options.disk_limit_mb;
  return request;
}

// What may be named, where one is. Their jails do not wait: there is one program.
jail::Result<std::vector<runtime::Template>> templates_for(const ExecOptions& options,
                                                           const runtime::Config& config) {
  const std::string& name = options.template_name;
  if (name.empty() || name == runtime::no_template) return std::vector<runtime::Template>();
  auto known = runtime::load_templates(config.sandbox_templates_dir);
  if (!known) return known.error();
  for (runtime::Template& each : *known) each.pool = {.least = 0, .usual = 0, .most = 0};
  return std::move(*known);
}

// The same rules as for every other door, with what may be typed here in place of what a caller of
// a server may ask for.
runtime::RequestRules rules_for(const Start& started, std::vector<runtime::Template> templates) {
  runtime::RequestRules rules =
      runtime::rules_of(started.config, started.root, std::move(templates));
  rules.ceilings = typed_ceilings;
  rules.files = {.files = SIZE_MAX, .total_bytes = SIZE_MAX};
  return rules;
}

// Where limits come from that the command line does not say; empty: nobody set them.
struct LimitPlaces {
  std::string time;
  std::string memory;
};

// What is said of a program that has ended.
struct Reporting {
  LimitPlaces places;
  bool shows_usage = false;
};

// The result, whose cause says where the limit comes from that was met.
runtime::RunResult with_place(runtime::RunResult result, const LimitPlaces& places) {
  const auto met = result.outcome.met;
  const std::string place = met == runtime::RequestLimit::time     ? places.time
                            : met == runtime::RequestLimit::memory ? places.memory
                                                                   : std::string();
  if (!place.empty()) result.outcome.cause += ", by " + place;
  return result;
}

// What a closed terminal sends, unless nohup(1) made us deaf to it.
int hangup_signal() {
  struct sigaction action {};
  const bool is_heard = ::sigaction(SIGHUP, nullptr, &action) == 0 && action.sa_handler != SIG_IGN;
  return is_heard ? SIGHUP : SIGTERM;
}

// An error of the template that was named, with the option before it.
std::string in_template_option(const jail::Error& error, const std::string& template_name) {
  const bool is_named = error.doing.starts_with("template " + template_name + ": ");
  return (is_named ? "--" : "") + error.message();
}

// An error of what --jail, --file or --disk says, with that option before it.
jail::Error in_typed_option(jail::Error error, const std::string& jail_file,
                            const std::optional<std::uint32_t>& disk_limit_mb) {
  constexpr std::string_view lists[] = {"binds[", "volumes[", "devices[", "policy \""};
  const auto begins_with = [&](std::string_view list) { return error.doing.starts_with(list); };
  if (!jail_file.empty() && std::ranges::any_of(lists, begins_with)) {
    error.doing = "--jail: " + jail_file + ": " + error.doing;
  }
  if (error.sys_errno == ENOSPC && error.doing.ends_with(" in the working directory")) {
    error.doing = "--file: " + error.doing;
    error.hint = disk_limit_mb
                     ? "--disk " + std::to_string(*disk_limit_mb) + " is too little for it"
                     : "--disk gives the working directory more";
  }
  return error;
}

int run(runtime::Runner& runner, asio::thread_pool& pool, const Program& program,
        runtime::RunRequest request, const ArtifactDirectories& directories,
        const Reporting& reporting, const std::string& jail_file, ExecOptions::Mode mode) {
  const runtime::Execution execution = runtime::make_execution();
  request.network.label = execution.id;
  runtime::RunOptions options;
  options.signals = std::make_shared<runtime::ProgramSignals>();
  Interrupt interrupt(pool.get_executor(), options.cancel,
                      [signals = options.signals](int number) { signals->send(number); });
  SecondThread second(pool);
  const auto passthrough = std::make_shared<Passthrough>(options.cancel, second);
  options.standard_input_fd = program.input_fd;
  if (mode == ExecOptions::Mode::stream) {
    options.collect_output = false;
    options.on_output = [passthrough](runtime::Stream stream, std::string_view bytes) {
      (*passthrough)(stream, bytes);
    };
  }
  std::optional<ExecTerminal> terminal;
  if (request.terminal) {
    auto entered = ExecTerminal::enter(pool.get_executor());
    if (!entered) return fail(exit_own_failure, entered.error().message());
    options.on_terminal = entered->on_terminal();
    options.edit_input = [escape = TypedEscape(),
                          hangup = hangup_signal()](std::string& typed) mutable {
      if (escape.take(typed)) ::kill(::getpid(), hangup);
    };
    terminal.emplace(std::move(*entered));
  }
  const auto result = run_once(runner, pool, request, std::move(options));
  terminal.reset();
  if (!result) {
    return fail_to_start(
        in_typed_option(result.error(), jail_file, request.disk_limit_mb).message());
  }
  const std::string json =
      mode == ExecOptions::Mode::json
          ? runtime::encode_result(*result, execution, runtime::OutputEncoding::utf8)
          : std::string();
  if (interrupt.signal() != 0) {
    // What the program has left when it ended by itself is kept.
    if (result->status != runtime::Status::cancelled) keep_results(*result, json, directories);
    return exit_signal_base + interrupt.signal();
  }
  if (passthrough->error() == EPIPE) return exit_signal_base + SIGPIPE;
  if (passthrough->error() != 0) {
    const jail::Error error{jail::ErrorKind::kernel, "write output", passthrough->error(), {}};
    return fail(exit_own_failure, error.message());
  }
  if (result->status == runtime::Status::error) tell_refused(passthrough->error_tail(), request);
  if (reporting.shows_usage) tell_usage(*result);
  return report_run(with_place(*result, reporting.places), json, directories);
}

}  // namespace

int exec(ExecOptions options, runtime::Environment environment) {
  if (options.has_terminal) {
    if (::isatty(STDIN_FILENO) != 1) {
      return fail(exit_usage, "-t: standard input is no terminal; exec without -t needs none");
    }
    pass_terminal_name(options, environment);
  }
  if (const auto missing = pass_variables(options, environment)) {
    return fail(exit_usage,
                "--env " + *missing + ": it is not set here; write " + *missing + "=VALUE");
  }
  auto program = read_program(options);
  if (!program) return fail(exit_usage, with_hint(options, program.error()));
  const auto language = language_of(options, program->code);
  if (!language) {
    return fail(exit_usage,
                "the language of " + options.file +
                    " is told neither by its name nor by its first line; say --language");
  }
  auto files = read_input_files(options.program.files);
  if (!files) return fail(exit_usage, files.error().message());
  leave_out_program(options, *language, program->code, *files);
  const auto jail_file = read_jail_file(options);
  if (!jail_file) return fail(exit_usage, "--jail: " + jail_file.error().message());
  auto directories = ArtifactDirectories::open(options.artifacts);
  if (!directories) return fail(exit_usage, directories.error().message());
  if (!options.server.empty()) {
    return exec_on_server(options,
                          {.code = std::move(program->code),
                           .input_fd = program->input_fd,
                           .language = *language,
                           .files = std::move(*files)},
                          *directories, environment);
  }
  const auto started =
      start({.host = options.host,
             .environment = std::move(environment),
             .before_root_ends = [&directories] { return directories->remember_caller(); },
             .reads_all_of_dotenv = false,
             .versions = runtime::Versions::unread,
             .may_have_own_users = !shows_files_of_host(*jail_file)});
  if (!started) return fail_to_start(started.error().message());
  auto templates = templates_for(options, started->config);
  if (!templates) return fail(exit_usage, templates.error().message());
  const runtime::RequestRules rules = rules_for(*started, std::move(*templates));
  const ExecOptions::Mode mode = options.mode;
  const bool shows_usage = options.shows_usage;
  const std::string jail_path = options.jail_file;
  const bool has_own_timeout = options.program.timeout.has_value() || options.has_terminal;
  const bool has_own_memory = options.program.memory_limit_mb.has_value();
  auto request = request_of(std::move(options), *language, std::move(program->code),
                            std::move(*files), *jail_file, rules);
  if (const auto refusal = runtime::check_program(request, rules)) {
    return fail(exit_usage, in_options(refusal->detail));
  }
  asio::thread_pool pool(0);  // this thread works for it, see run_once()
  runtime::RunnerOptions limits = runner_options(*started);
  limits.max_timeout = rules.ceilings.timeout;
  limits.max_memory_mb = rules.ceilings.memory_limit_mb;
  if (const auto* named = runtime::find_template(rules.templates, request.template_name)) {
    limits.templates = {*named};
  }
  if (request.network.kind == jail::Network::Kind::egress) {
    limits.egress = runtime::Egress::by_request;
  }
  limits.jail_file = *jail_file;
  const auto runner = runtime::Runner::create(pool.get_executor(), std::move(limits));
  if (!runner) {
    const jail::Error error = in_typed_option(runner.error(), jail_path, request.disk_limit_mb);
    return fail_to_start(in_template_option(error, request.template_name));
  }
  if (mode == ExecOptions::Mode::explain) {
    const auto plan = (*runner)->explain(request);
    if (!plan) {
      return fail_to_start(
          in_typed_option(plan.error(), jail_path, request.disk_limit_mb).message());
    }
    return print(*plan);
  }
  const Reporting reporting = {
      .places = {.time = has_own_timeout ? std::string() : started->config.sandbox_timeout_place,
                 .memory = has_own_memory ? std::string() : started->config.sandbox_memory_place},
      .shows_usage = shows_usage};
  return run(**runner, pool, *program, std::move(request), *directories, reporting, jail_path,
             mode);
}

}  // namespace server
