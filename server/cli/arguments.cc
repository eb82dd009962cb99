#include "server/cli/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <utility>

#include "runtime/json/writer.h"
#include "runtime/sandbox/language.h"
#include "runtime/service/request_fields.h"
#include "runtime/service/sandbox_requests.h"
#include "server/cli/agent_arguments.h"
#include "server/cli/common_arguments.h"
#include "server/cli/habits.h"
#include "server/cli/jobs/jobs_arguments.h"
#include "server/cli/sandbox/sandbox_arguments.h"
#include "server/cli/suggestion.h"
#include "server/cli/volumes/volumes_arguments.h"
#include "server/cli/webhooks/webhooks_arguments.h"

namespace server {
namespace {

// As CLI11 hands them over; checked and turned into options afterwards.
struct Raw {
  std::string code;
  std::string file;
  std::string language;
  std::vector<std::string> env;
  ArtifactArguments artifacts;
  std::vector<std::string> allow;
  std::string jail_file;
  std::string template_name;
  std::string server;
  bool json = false;
  bool explain = false;
  bool stats = false;
  bool interactive = false;
  bool tty = false;
  bool no_stdin = false;
  std::uint32_t processes = 0;
  std::uint32_t disk = 0;
  bool speed = false;
  HostArguments host_arguments;
  ProgramArguments program;
  std::string config;
  std::string host;
  std::string port;
  std::string log_level;
  std::string log_format;
};

struct Commands {
  CLI::App app{"Runs untrusted code in sandboxes made straight from the Linux kernel."};
  CLI::App* exec = nullptr;
  CLI::App* serve = nullptr;
  CLI::App* mcp = nullptr;
  CLI::App* doctor = nullptr;
  Raw raw;
};

const runtime::Field& limit_of(std::string_view name) {
  return *runtime::find_field(runtime::sandbox_limit_fields(), name);
}

void define_exec(Commands& commands) {
  CLI::App& exec = *commands.app.add_subcommand("exec", "Run one program in a jail");
  Raw& raw = commands.raw;
  auto* code = exec.add_option("-c", raw.code, "The program itself")->type_name("CODE");
  exec.add_option("program", raw.file, "The program's file; - reads it from standard input")
      ->type_name("FILE")
      ->excludes(code);
  const runtime::Field& language = *runtime::find_field(runtime::program_fields(), "language");
  exec.add_option(
          "--language", raw.language,
          std::string(language.expected) + "; by default as the file's name or its first line says")
      ->type_name("LANGUAGE");
  add_program_arguments(exec, raw.program);
  exec.add_option("--processes", raw.processes, "Processes and threads at once [128]")
      ->type_name("N")
      ->transform(number_of(limit_of("processes")));
  exec.add_option("--disk", raw.disk, "For /workspace and /tmp, each, in MB or 512m, 1g [64]")
      ->type_name("MB")
      ->transform(number_of(limit_of("disk_mb"), {}, Unit::memory));
  exec.add_option("-e,--env", raw.env,
                  "A variable for the program, NAME alone with the value that it has here; may "
                  "repeat")
      ->type_name("NAME[=VALUE]")
      ->allow_extra_args(false);  // one a time: the next word may be the file
  add_artifact_arguments(exec, raw.artifacts);
  exec.add_option("--allow", raw.allow,
                  "Let the program reach HOST:PORT through a proxy; may repeat [no network]")
      ->type_name("HOST:PORT")
      ->allow_extra_args(false);
  auto* jail_file =
      exec.add_option(
              "--jail", raw.jail_file,
              "What the jail has beside the usual: policy, volumes, devices (policies/README.md)")
          ->type_name("FILE");
  exec.add_option("--template", raw.template_name,
                  "Its root and policy, of the shipped ones and those in SANDBOX_TEMPLATES_DIR")
      ->type_name("NAME")
      ->excludes(jail_file);
  add_server(exec, raw.server);
  auto* json = exec.add_flag("--json", raw.json, "Print the result as POST /execute returns it");
  auto* explain =
      exec.add_flag("--explain", raw.explain, "Print the steps that make the jail; run nothing")
          ->excludes(json);
  exec.add_flag("--stats", raw.stats,
                "Say on standard error what the program used, when it has ended")
      ->excludes(json)
      ->excludes(explain);
  auto* tty =
      exec.add_flag("-t,--tty", raw.tty,
                    "Give the program a terminal, which is shown at this one; without a program, "
                    "an\ninterpreter of the language. ~. at the beginning of a line ends it")
          ->excludes(json)
          ->excludes(explain);
  auto* interactive = exec.add_flag("-i,--interactive", raw.interactive,
                                    "Pass standard input on, as is always done; for -it");
  exec.add_flag("-n,--no-stdin", raw.no_stdin,
                "Leave standard input alone; the program has none, as in a loop over its lines")
      ->excludes(tty)
      ->excludes(interactive);
  add_host_arguments(exec, raw.host_arguments);
  exec.footer(
      "Arguments for the program follow after --. Standard input, output and error are passed\n"
      "through. The exit status is the program's; 124: timeout, 137: out of memory, 128+n: signal "
      "n,\n"
      "125: our own failure, 2: usage.");
  commands.exec = &exec;
}

void define_serve(Commands& commands) {
  CLI::App& serve = *commands.app.add_subcommand("serve", "Answer POST /execute over HTTP");
  Raw& raw = commands.raw;
  serve.add_option("--host", raw.host, "Address to listen on, or unix:/path [127.0.0.1]")
      ->type_name("HOST");
  serve.add_option("--port", raw.port, "Port to listen on; 0 for any [8000]")->type_name("PORT");
  serve.add_option("--config", raw.config, "Configuration file [agent-sandbox.json]")
      ->type_name("FILE");
  serve.add_option("--log-level", raw.log_level, "debug, info, warning or error [info]")
      ->type_name("LEVEL");
  serve.add_option("--log-format", raw.log_format, "text or json [text]")->type_name("FORMAT");
  add_host_arguments(serve, raw.host_arguments);
  commands.serve = &serve;
}

void define_mcp(Commands& commands) {
  CLI::App& mcp = *commands.app.add_subcommand(
      "mcp", "Give a language model's program tools, by MCP on standard input and output");
  mcp.add_option("--config", commands.raw.config, "Configuration file [agent-sandbox.json]")
      ->type_name("FILE");
  add_host_arguments(mcp, commands.raw.host_arguments);
  mcp.footer(
      "A client starts this program and speaks JSON-RPC with it, a message a line. Its sandboxes "
      "end\n"
      "with it.");
  commands.mcp = &mcp;
}

void define_doctor(Commands& commands) {
  CLI::App& doctor = *commands.app.add_subcommand(
      "doctor", "Say what this host can enforce, what is missing, how to get it");
  doctor.add_flag("--json", commands.raw.json, "For machines");
  doctor.add_flag("--speed", commands.raw.speed,
                  "Only measure what the work that jails are made of costs here");
  add_root_and_user(doctor, commands.raw.host_arguments);
  commands.doctor = &doctor;
}

// The language that the user typed, in full or short. A word that names none gives nothing.
std::optional<runtime::Language> typed_language(std::string_view word) {
  constexpr std::pair<std::string_view, runtime::Language> short_words[] = {
      {"py", runtime::Language::python},       {"python3", runtime::Language::python},
      {"sh", runtime::Language::bash},         {"js", runtime::Language::javascript},
      {"node", runtime::Language::javascript}, {"ts", runtime::Language::typescript}};
  for (const auto& [name, language] : short_words) {
    if (word == name) return language;
  }
  return runtime::language_named(word);
}

template <class T>
std::optional<T> given(const CLI::App& command, const char* name, T value) {
  if (command.count(name) == 0) return std::nullopt;
  return value;
}

std::optional<Finished> check_counts(const Raw& raw, const std::vector<std::string>& args) {
  if (auto mistake = check_count("exec: arguments behind --", "args", args.size())) return mistake;
  return check_count("--env", "env", raw.env.size());
}

Command exec_options(const Commands& commands, std::vector<std::string> args) {
  const Raw& raw = commands.raw;
  const CLI::App& exec = *commands.exec;
  ExecOptions options;
  options.code = given(exec, "-c", raw.code);
  options.file = raw.file;
  options.has_terminal = raw.tty;
  if (raw.tty && raw.file == "-") return usage("-t: standard input is the terminal's, not -");
  if (raw.no_stdin && raw.file == "-") {
    return usage("--no-stdin: the program itself comes by standard input");
  }
  options.reads_input = !raw.no_stdin;
  if (!raw.tty && !options.code && raw.file.empty()) {
    return usage("exec: expected -c CODE, FILE or -");
  }
  if (exec.count("--language") > 0) {
    options.language = typed_language(raw.language);
    if (!options.language) {
      const runtime::Field& field = *runtime::find_field(runtime::program_fields(), "language");
      return usage("--language: expected " + std::string(field.expected) +
                   " (or py, sh, js, node, ts), not " + runtime::json::quoted(raw.language, 64));
    }
  }
  if (auto mistake = read_program_arguments(exec, raw.program, options.program)) return *mistake;
  options.max_processes = given(exec, "--processes", raw.processes);
  options.disk_limit_mb = given(exec, "--disk", raw.disk);
  if (auto mistake = check_counts(raw, args)) return *mistake;
  for (const std::string& entry : raw.env) {
    const std::size_t equals = entry.find('=');
    if (!is_variable_name(entry.substr(0, equals))) {
      return usage("--env " + runtime::json::quoted(entry, 64) +
                   ": expected NAME=VALUE, or NAME, without blanks in NAME");
    }
    if (equals == entry.npos) {
      options.passed_env.push_back(entry);
    } else {
      options.env.emplace_back(entry.substr(0, equals), entry.substr(equals + 1));
    }
  }
  if (auto mistake = read_artifact_arguments(raw.artifacts, raw.json, options.artifacts))
    return *mistake;
  if (auto mistake = check_allow(raw.allow)) return *mistake;
  options.allow = raw.allow;
  options.args = std::move(args);
  options.jail_file = raw.jail_file;
  options.template_name = raw.template_name;
  if (auto mistake = check_server(exec, raw.server)) return *mistake;
  options.server = raw.server;
  read_host_arguments(exec, raw.host_arguments, options.host);
  options.shows_usage = raw.stats;
  if (raw.json) options.mode = ExecOptions::Mode::json;
  if (raw.explain) options.mode = ExecOptions::Mode::explain;
  return options;
}

ServeOptions serve_options(const Commands& commands) {
  const Raw& raw = commands.raw;
  const CLI::App& serve = *commands.serve;
  ServeOptions options;
  options.config_path = given(serve, "--config", raw.config);
  read_host_arguments(serve, raw.host_arguments, options.host);
  const auto add = [&](const char* name, const std::string& value, const char* flag) {
    if (serve.count(flag) > 0) options.host.flags.push_back({name, value, flag});
  };
  add("API_HOST", raw.host, "--host");
  add("API_PORT", raw.port, "--port");
  add("LOG_LEVEL", raw.log_level, "--log-level");
  add("LOG_FORMAT", raw.log_format, "--log-format");
  return options;
}

McpOptions mcp_options(const Commands& commands) {
  McpOptions options;
  options.config_path = given(*commands.mcp, "--config", commands.raw.config);
  read_host_arguments(*commands.mcp, commands.raw.host_arguments, options.host);
  return options;
}

// Everything after the first -- is the guest's, whatever it looks like.
std::vector<std::string> take_guest_args(std::vector<std::string>& args) {
  const auto dashes = std::find(args.begin(), args.end(), "--");
  const bool has_guest = names_exec(args) || client::SandboxCommands::takes_command(args);
  if (!has_guest || dashes == args.end()) return {};
  std::vector<std::string> guest(dashes + 1, args.end());
  args.erase(dashes, args.end());
  return guest;
}

DoctorOptions doctor_options(const Commands& commands) {
  DoctorOptions options;
  read_host_arguments(*commands.doctor, commands.raw.host_arguments, options.host);
  if (commands.raw.json) options.format = DoctorOptions::Format::json;
  if (commands.raw.speed) options.extent = DoctorOptions::Extent::speed;
  return options;
}

Command parsed_command(const Commands& commands, const AgentCommands& agent_commands,
                       const client::SandboxCommands& sandbox_commands,
                       const client::JobsCommands& jobs_commands,
                       const client::VolumeCommands& volume_commands,
                       const client::WebhookCommands& webhook_commands,
                       std::vector<std::string> guest_args) {
  if (commands.exec->parsed()) return exec_options(commands, std::move(guest_args));
  if (commands.serve->parsed()) return serve_options(commands);
  if (commands.mcp->parsed()) return mcp_options(commands);
  if (auto parsed = agent_commands.parsed()) return std::move(*parsed);
  if (auto parsed = sandbox_commands.parsed(std::move(guest_args))) return std::move(*parsed);
  if (auto parsed = jobs_commands.parsed()) return std::move(*parsed);
  if (auto parsed = volume_commands.parsed()) return std::move(*parsed);
  if (auto parsed = webhook_commands.parsed()) return std::move(*parsed);
  return doctor_options(commands);
}

// "help exec" and "sandbox help" are "exec --help" and "sandbox --help", "version" is "--version".
void spell_out(std::vector<std::string>& args) {
  if (args.empty()) return;
  if (args.front() == "help") {
    args.erase(args.begin());
    args.emplace_back("--help");
  } else if (args.size() == 1 && args.front() == "version") {
    args.front() = "--version";
  } else if (args.size() == 2 && args.back() == "help" &&
             (args.front() == "sandbox" || args.front() == "lessons" || args.front() == "jobs" ||
              args.front() == "volume" || args.front() == "webhook")) {
    args.back() = "--help";
  }
}

// The last subcommand that the command line named, or the program itself.
const CLI::App& deepest_parsed(const CLI::App& app) {
  const auto commands = app.get_subcommands();
  return commands.empty() ? app : deepest_parsed(*commands.front());
}

Finished with_help(Finished finished, const CLI::App& command) {
  if (!finished.error.empty()) finished.error += full_name(command) + " --help says more.\n";
  return finished;
}

Finished unexpected_arguments(const CLI::App& command, const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : " ") + runtime::json::quoted(word, 256);
  }
  const std::string whole = full_name(command);
  const std::string name = whole.substr(whole.find(' ') + 1);
  const bool is_option = !words.empty() && words.front().starts_with('-');
  std::string hint =
      is_option ? habit_of_option(name, words.front()) : habit_of_word(name, std::string_view());
  if (hint.empty() && command.get_name() == "exec") {
    hint = "arguments of the program follow after --";
  }
  return usage("unexpected: " + text + (hint.empty() ? "" : "; " + hint));
}

// The option whose name begins a text of CLI11's; null where none does.
const CLI::Option* option_in(const CLI::App& command, const std::string& text) {
  return command.get_option_no_throw(text.substr(0, text.find(':')));
}

// Two options that cannot stand together.
Finished excluded(const CLI::App& command, const std::string& text) {
  if (command.get_name() == "exec" && command.count("-c") > 0 && command.count("program") > 0) {
    return usage("-c and the file " + command["program"]->as<std::string>() +
                 " exclude each other; arguments of the program follow after --");
  }
  constexpr std::string_view verb = " excludes ";
  const std::size_t at = text.find(verb);
  if (at == text.npos) return usage(text);
  return usage(text.substr(0, at) + " and " + text.substr(at + verb.size()) +
               " exclude each other");
}

// An option with a value too few or too many.
Finished wrong_count(const CLI::App& command, const std::string& text) {
  const CLI::Option* const option = option_in(command, text);
  if (option == nullptr) return usage(text);
  const std::string name = option->get_name();
  if (option->count() > 1) return usage(name + " is given more than once");
  return usage(name + ": expected " + option->get_type_name());
}

// A flag with a value, as --json=yes: all other values are read by functions of ours.
Finished value_of_flag(const CLI::App& command, const std::string& text) {
  for (const CLI::Option* option : command.get_options()) {
    const bool is_flag = option->get_items_expected_max() == 0;
    if (!is_flag || option->count() == 0 || text.find(option->get_name()) == text.npos) continue;
    return usage(option->get_name() + " takes no value");
  }
  return usage(text);
}

Finished mistake_of(const CLI::ParseError& error, const CLI::App& app) {
  const CLI::App& command = deepest_parsed(app);
  const bool is_required = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  if (is_required && !subcommand_names(command).empty()) {
    return usage(no_subcommand_text(command, {}));
  }
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    return unexpected_arguments(command, app.remaining(true));
  }
  const std::string text = error.what();
  if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr) {
    return excluded(command, text);
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    return wrong_count(command, text);
  }
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) {
    return value_of_flag(command, text);
  }
  return usage(text);
}

}  // namespace

bool names_exec(const std::vector<std::string>& args) {
  return !args.empty() && args.front() == "exec";
}

Command parse_arguments(std::vector<std::string> args, const std::string& version) {
  if (const auto names = client::known_names_of(args)) return *names;
  Commands commands;
  CLI::App& app = commands.app;
  app.name("agent-sandbox");
  app.set_version_flag("--version", "agent-sandbox " + version);
  app.require_subcommand(1);
  define_exec(commands);
  AgentCommands agent_commands;
  client::SandboxCommands sandbox_commands;
  client::JobsCommands jobs_commands;
  client::VolumeCommands volume_commands;
  client::WebhookCommands webhook_commands;
  // To describe the others takes as long as all else that `exec` does with its command line.
  if (!names_exec(args)) {
    define_serve(commands);
    agent_commands.define(app);
    sandbox_commands.define(app);
    jobs_commands.define(app);
    volume_commands.define(app);
    webhook_commands.define(app);
    define_mcp(commands);
    define_doctor(commands);
  }
  spell_out(args);
  std::vector<std::string> guest_args = take_guest_args(args);
  if (const auto unknown = unknown_word(app, args)) {
    return with_help(usage(unknown->text), *unknown->command);
  }
  std::reverse(args.begin(), args.end());  // CLI11 takes them from the back
  try {
    app.parse(std::move(args));
  } catch (const CLI::ParseError& error) {
    std::ostringstream output;
    std::ostringstream errors;
    if (app.exit(error, output, errors) == 0) {
      return Finished{.exit_code = 0, .output = output.str(), .error = {}};
    }
    return with_help(mistake_of(error, app), deepest_parsed(app));
  }
  Command parsed = parsed_command(commands, agent_commands, sandbox_commands, jobs_commands,
                                  volume_commands, webhook_commands, std::move(guest_args));
  if (auto* finished = std::get_if<Finished>(&parsed)) {
    return with_help(std::move(*finished), deepest_parsed(app));
  }
  return parsed;
}

}  // namespace server
