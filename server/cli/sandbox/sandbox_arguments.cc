#include "server/cli/sandbox/sandbox_arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>

#include "runtime/json/writer.h"
#include "runtime/service/list_queries.h"
#include "runtime/service/sandbox_queries.h"
#include "runtime/service/sandbox_requests.h"
#include "server/cli/common_arguments.h"
#include "server/cli/exit_codes.h"
#include "server/cli/sandbox/file_arguments.h"
#include "server/cli/sandbox/limit_arguments.h"
#include "server/cli/sandbox/listen_address.h"
#include "server/cli/sandbox/option_values.h"
#include "server/cli/sandbox/raw_arguments.h"

namespace server::client {
namespace {

// One `sandbox` subcommand: how it is written, and how it becomes values.
struct Row {
  const char* name;
  const char* description;
  void (*define)(CLI::App& command, RawSandboxArguments& raw);
  Parsed (*parsed)(const CLI::App& command, const RawSandboxArguments& raw);
};

const runtime::Field& member_of(std::string_view name) {
  return *runtime::find_field(runtime::sandbox_fields(), name);
}

CLI::Validator one_of(const runtime::Field& field) { return word_of(field, rules_of_any_server()); }

constexpr runtime::Field ports = {
    .name = "port", .type = runtime::Field::Type::integer, .min = 1, .max = 65'535};

void define_create(CLI::App& command, RawSandboxArguments& raw) {
  command.add_option("--name", raw.name, "A name to use in place of its id")->type_name("NAME");
  command.add_option("--template", raw.template_name, "Its root and policy [none]")
      ->type_name("NAME");
  add_many(command, "-e,--env", raw.env, "NAME=VALUE", "A variable for every process; may repeat");
  command.add_option("--workdir", raw.working_directory, "Where processes start [/workspace]")
      ->type_name("DIR");
  add_many(command, "--metadata", raw.metadata, "NAME=VALUE", "A note to find it by; may repeat");
  add_limits(command, raw);
  command
      .add_option("--disk-kind", raw.disk_kind,
                  "What /workspace is: memory, or a directory on the host's disk [memory]")
      ->type_name("KIND")
      ->check(one_of(member_of("disk_kind")));
  add_number(command, "--timeout", raw.lifetime, "SECONDS", member_of("timeout_seconds"),
             "Seconds that it lives [3600]");
  add_number(command, "--idle", raw.idle, "SECONDS", member_of("idle_seconds"),
             "End it after so many seconds without a process or a request");
  command.add_option("--on-timeout", raw.on_timeout, "delete, or pause it in place of ending it")
      ->type_name("WHAT")
      ->check(one_of(member_of("on_timeout")));
  command.add_flag("--no-auto-resume", raw.no_auto_resume,
                   "Let nothing but resume wake it from a pause");
  add_many(command, "--allow", raw.allow, "HOST:PORT",
           "Let it reach HOST:PORT through a proxy; may repeat [no network]");
  add_secret(command, raw);
  add_many(command, "--volume", raw.volumes, "NAME:PATH[:ro]",
           "Let it have a volume at PATH, alone unless all only read (ro); may repeat");
  command.add_flag("--warm", raw.warm, "Let exec -c begin with all modules of its template");
  command.add_option("--port", raw.ports, "Where a server in it will listen; may repeat")
      ->type_name("PORT")
      ->transform(number_of(ports))
      ->allow_extra_args(false);
  add_json(command, raw.json);
}

Parsed parsed_create(const CLI::App& command, const RawSandboxArguments& raw) {
  if (command.count("--name") > 0 && raw.name.empty()) {
    return mistake(command, "--name: expected a name, which an empty one is not");
  }
  CreateOptions options;
  options.name = raw.name;
  options.template_name = raw.template_name;
  if (!raw.working_directory.empty()) options.working_directory = absolute(raw.working_directory);
  if (auto wrong = read_texts("--env", raw.env, options.env)) return *wrong;
  if (auto wrong = read_texts("--metadata", raw.metadata, options.metadata)) return *wrong;
  options.limits = limits_of(command, raw);
  options.timeout_seconds = given(command, "--timeout", raw.lifetime);
  options.idle_seconds = given(command, "--idle", raw.idle);
  options.disk_kind = raw.disk_kind;
  options.on_timeout = raw.on_timeout;
  options.auto_resume = !raw.no_auto_resume;
  if (auto wrong = check_allow(raw.allow)) return *wrong;
  options.allow = raw.allow;
  if (auto wrong = parse_secrets(raw, options.secrets)) return *wrong;
  if (auto wrong = parse_volumes(raw.volumes, options.volumes)) return *wrong;
  options.is_warm = raw.warm;
  options.ports = raw.ports;
  options.format = format_of(raw);
  return options;
}

void define_list(CLI::App& command, RawSandboxArguments& raw) {
  command.add_option("--state", raw.state, "Only those that are running, paused or ended")
      ->type_name("STATE")
      ->check(one_of(*runtime::find_field(runtime::sandbox_query_fields(), "state")));
  command.add_option("--metadata", raw.one_metadata, "Only those that have this note")
      ->type_name("NAME=VALUE");
  add_json(command, raw.json);
}

Parsed parsed_list(const CLI::App& command, const RawSandboxArguments& raw) {
  ListOptions options;
  options.state = raw.state;
  if (command.count("--metadata") > 0) {
    options.metadata = parted(raw.one_metadata);
    if (!options.metadata) return usage("--metadata: expected NAME=VALUE");
  }
  options.format = format_of(raw);
  return options;
}

void define_get(CLI::App& command, RawSandboxArguments& raw) {
  add_id(command, raw);
  add_json(command, raw.json);
}

Parsed parsed_get(const CLI::App& /*command*/, const RawSandboxArguments& raw) {
  return GetOptions{.id = raw.id, .format = format_of(raw)};
}

void define_exec(CLI::App& command, RawSandboxArguments& raw) {
  add_id(command, raw);
  command.add_option("-c", raw.code, "A program in place of a command")->type_name("CODE");
  const runtime::Field& language = *runtime::find_field(runtime::process_fields(), "language");
  command
      .add_option("--language", raw.language,
                  "Of CODE: " + std::string(language.expected) + " [its template's]")
      ->type_name("LANGUAGE")
      ->check(one_of(language));
  add_env_and_directory(command, raw);
  command.add_option("--timeout", raw.timeout, "Seconds until it is ended [the sandbox's end]")
      ->type_name("SECONDS")
      ->transform(number_of(*runtime::find_field(runtime::process_fields(), "timeout_seconds"), {},
                            Unit::time));
  command.add_flag("--background", raw.background, "Print its pid and leave it running");
  auto* interactive = command.add_flag("-i,--interactive", raw.interactive,
                                       "Pass standard input on, as is always done");
  command
      .add_flag("-n,--no-stdin", raw.no_stdin, "Leave standard input alone; the command has none")
      ->excludes(interactive);
  command.add_flag("--json", raw.json, "Print how it ended, and its output, as JSON");
  command.footer(
      "The command, or the arguments of CODE, follow after --. Standard input, output and error\n"
      "are passed through. The exit status is the command's; 124: timeout, 137: out of memory,\n"
      "128+n: signal n, 127: not found, 125: our own failure, 2: usage.");
}

Parsed parsed_exec(const CLI::App& command, const RawSandboxArguments& raw) {
  ExecOptions options;
  options.id = raw.id;
  if (auto wrong = read_texts("--env", raw.env, options.env)) return *wrong;
  options.working_directory = raw.working_directory;
  if (command.count("--timeout") > 0) options.timeout_seconds = raw.timeout;
  if (command.count("-c") > 0) options.code = raw.code;
  if (!options.code && !raw.language.empty()) return mistake(command, "--language: expected -c");
  if (!runtime::json::is_utf8(raw.code)) return usage("-c" + std::string(not_utf8));
  options.language = raw.language;
  options.background = raw.background;
  options.reads_input = !raw.no_stdin;
  options.format = format_of(raw);
  return options;
}

void define_shell(CLI::App& command, RawSandboxArguments& raw) {
  add_id(command, raw);
  add_env_and_directory(command, raw);
  command.footer(
      "Another command than bash may follow after --. The exit status is the shell's, or as of\n"
      "exec.");
}

Parsed parsed_shell(const CLI::App& /*command*/, const RawSandboxArguments& raw) {
  ShellOptions options;
  options.id = raw.id;
  if (auto wrong = read_texts("--env", raw.env, options.env)) return *wrong;
  options.working_directory = raw.working_directory;
  return options;
}

Parsed parsed_token(const CLI::App& /*command*/, const RawSandboxArguments& raw) {
  return TokenOptions{.id = raw.id};
}

void define_events(CLI::App& command, RawSandboxArguments& raw) {
  add_id(command, raw);
  command.add_flag("-f,--follow", raw.follow, "Go on until the sandbox ends");
  add_json(command, raw.json);
}

Parsed parsed_events(const CLI::App& /*command*/, const RawSandboxArguments& raw) {
  return EventsOptions{.id = raw.id, .follow = raw.follow, .format = format_of(raw)};
}

Parsed parsed_metrics(const CLI::App& /*command*/, const RawSandboxArguments& raw) {
  return MetricsOptions{.id = raw.id, .format = format_of(raw)};
}

Parsed parsed_ps(const CLI::App& /*command*/, const RawSandboxArguments& raw) {
  return ProcessesOptions{.id = raw.id, .format = format_of(raw)};
}

void define_logs(CLI::App& command, RawSandboxArguments& raw) {
  add_id(command, raw);
  add_pid(command, raw);
  command.add_flag("-f,--follow", raw.follow, "Go on until it ends");
  add_number(command, "--tail", raw.tail, "N",
             *runtime::find_field(runtime::log_query_fields(), "tail"),
             "Begin with the latest N lines");
  command.footer(
      "Without a PID, of all processes of the sandbox, in the order in which they wrote.");
}

Parsed parsed_logs(const CLI::App& command, const RawSandboxArguments& raw) {
  const auto tail = given(command, "--tail", raw.tail);
  if (raw.pid != 0 && tail && raw.follow) {
    return mistake(command, "expected no PID where --tail and --follow are given together");
  }
  return LogsOptions{.id = raw.id, .pid = raw.pid, .tail = tail, .follow = raw.follow};
}

void define_kill(CLI::App& command, RawSandboxArguments& raw) {
  add_id(command, raw);
  add_pid(command, raw);
  command.add_option("--signal", raw.signal, "By name or number [TERM]")->type_name("SIGNAL");
  command.add_flag("--group", raw.group, "All processes of its group");
}

// 0: there is none of that name.
int signal_of(const std::string& word) {
  if (const int number = signal_number(word); number != 0) return number;
  if (const int number = signal_number("SIG" + word); number != 0) return number;
  int number = 0;
  return CLI::detail::lexical_cast(word, number) && number >= 1 && number <= SIGRTMAX ? number : 0;
}

Parsed parsed_kill(const CLI::App& command, const RawSandboxArguments& raw) {
  if (raw.pid == 0) {
    return mistake(command,
                   "expected the PID of a process; pause stops what runs in a sandbox and keeps "
                   "it, delete ends it with all that is in it");
  }
  const int signal = signal_of(raw.signal);
  if (signal == 0)
    return usage("--signal " + raw.signal + ": expected a name as TERM, or a number");
  return KillOptions{.id = raw.id, .pid = raw.pid, .signal = signal, .group = raw.group};
}

void define_port(CLI::App& command, RawSandboxArguments& raw) {
  add_id(command, raw);
  command.add_option("port", raw.port, "That a server in it listens on")
      ->type_name("PORT")
      ->transform(number_of(ports));
  command
      .add_option(
          "--listen", raw.listen,
          "Lead a port of this host to it, for any protocol of TCP [127.0.0.1]; 0: a free one")
      ->type_name("[ADDRESS:]PORT");
  command.footer(
      "Whoever has the address can use the port: the sandbox's access token is in it. With "
      "--listen\n"
      "the port of this host is printed, and serves programs until Ctrl-C or the sandbox's end.");
}

Parsed parsed_port(const CLI::App& command, const RawSandboxArguments& raw) {
  if (raw.port == 0) return mistake(command, "expected the PORT of a server in it");
  PortOptions options{.id = raw.id, .port = raw.port, .listen = std::nullopt};
  if (command.count("--listen") == 0) return options;
  options.listen = listen_address_of(raw.listen);
  if (options.listen) return options;
  return usage("--listen " + runtime::json::quoted(raw.listen, 64) +
               ": expected [ADDRESS:]PORT with an IP address, an IPv6 address in brackets");
}

void define_renew(CLI::App& command, RawSandboxArguments& raw) {
  add_id(command, raw);
  add_number(command, "seconds", raw.seconds, "SECONDS", member_of("timeout_seconds"),
             "How long it lives, from now on");
}

Parsed parsed_renew(const CLI::App& command, const RawSandboxArguments& raw) {
  if (raw.seconds == 0) return mistake(command, "expected SECONDS");
  return RenewOptions{.id = raw.id, .seconds = raw.seconds};
}

void define_change(CLI::App& command, RawSandboxArguments& raw) {
  add_id(command, raw);
  add_many(command, "--allow", raw.allow, "HOST:PORT",
           "Let it reach HOST:PORT in place of what it may now; may repeat");
  add_secret(command, raw);
  command.add_flag("--no-network", raw.no_network, "Let it reach nothing");
  add_number(command, "--timeout", raw.lifetime, "SECONDS", member_of("timeout_seconds"),
             "Seconds that it lives, from now on");
  add_number(command, "--idle", raw.idle, "SECONDS", member_of("idle_seconds"),
             "End it after so many seconds without a process or a request");
  add_limits(command, raw);
  add_json(command, raw.json);
}

void define_resize(CLI::App& command, RawSandboxArguments& raw) {
  add_id(command, raw);
  add_limits(command, raw);
  add_json(command, raw.json);
}

Parsed parsed_resize(const CLI::App& command, const RawSandboxArguments& raw) {
  ChangeOptions options;
  options.id = raw.id;
  options.limits = limits_of(command, raw);
  if (options.limits == LimitOptions()) {
    return mistake(command, "expected a limit: --memory, --processes, --disk or --cpu");
  }
  options.format = format_of(raw);
  return options;
}

Parsed parsed_change(const CLI::App& command, const RawSandboxArguments& raw) {
  if (raw.no_network && !raw.allow.empty()) {
    return mistake(command, "expected one of --allow and --no-network");
  }
  if (auto wrong = check_allow(raw.allow)) return *wrong;
  ChangeOptions options;
  options.id = raw.id;
  if (raw.no_network || !raw.allow.empty()) options.allow = raw.allow;
  if (auto wrong = parse_secrets(raw, options.secrets)) return *wrong;
  options.timeout_seconds = given(command, "--timeout", raw.lifetime);
  options.idle_seconds = given(command, "--idle", raw.idle);
  options.limits = limits_of(command, raw);
  if (!options.allow && !options.timeout_seconds && !options.idle_seconds &&
      options.limits == LimitOptions()) {
    return mistake(command,
                   "expected what to change: --allow, with it --secret, --no-network, --timeout, "
                   "--idle or a limit (--memory, --processes, --disk, --cpu)");
  }
  options.format = format_of(raw);
  return options;
}

void define_ids(CLI::App& command, RawSandboxArguments& raw) {
  command.add_option("ids", raw.ids, "Ids or names of sandboxes")->type_name("ID");
}

template <class OptionsOfIds>
Parsed parsed_ids(const CLI::App& command, const RawSandboxArguments& raw) {
  if (!are_ids(raw.ids)) {
    return mistake(command, "expected the ID of a sandbox, or of several");
  }
  return OptionsOfIds{.ids = raw.ids};
}

constexpr Row rows[] = {
    {"create", "Make a sandbox, print its id", define_create, parsed_create},
    {"list", "Show those that live and those that ended lately", define_list, parsed_list},
    {"get", "Show one", define_get, parsed_get},
    {"exec", "Run a command in one", define_exec, parsed_exec},
    {"shell", "Work in one at a terminal", define_shell, parsed_shell},
    {"cp", "Copy files into one or out of it", define_cp, parsed_cp},
    {"ls", "Show the files of a directory", define_ls, parsed_ls},
    {"rm", "Remove a file", define_rm, parsed_rm},
    {"url", "Print a URL that opens a file without a key", define_url, parsed_url},
    {"watch", "Show what happens to files, as it happens", define_watch, parsed_watch},
    {"ps", "Show its processes", define_get, parsed_ps},
    {"logs", "Show what its processes wrote", define_logs, parsed_logs},
    {"kill", "Send a process a signal", define_kill, parsed_kill},
    {"port", "Print the address of a server in it, or lead a port to it", define_port, parsed_port},
    {"token", "Give it another access token, print it", add_id, parsed_token},
    {"events", "Show what happened in one", define_events, parsed_events},
    {"metrics", "Show what one uses", define_get, parsed_metrics},
    {"renew", "Let it live longer, or shorter", define_renew, parsed_renew},
    {"change", "Change what it may reach, its times or limits", define_change, parsed_change},
    {"resize", "Change what it may use, while it runs", define_resize, parsed_resize},
    {"pause", "Stop all that runs in some", define_ids, parsed_ids<PauseOptions>},
    {"resume", "Let some go on that are paused", define_ids, parsed_ids<ResumeOptions>},
    {"delete", "End some, with all that is in them", define_ids, parsed_ids<DeleteOptions>},
};

}  // namespace

struct SandboxCommands::State {
  RawSandboxArguments raw;
  CLI::App* whole = nullptr;
  std::vector<std::pair<const Row*, CLI::App*>> commands;
};

SandboxCommands::SandboxCommands() : state_(std::make_unique<State>()) {}
SandboxCommands::~SandboxCommands() = default;

void SandboxCommands::define(CLI::App& app) {
  state_->whole = app.add_subcommand("sandbox", "Sandboxes that live on a server");
  state_->whole->require_subcommand(0, 1);  // a word behind it may be called as another is
  for (const Row& row : rows) {
    CLI::App* const command = state_->whole->add_subcommand(row.name, row.description);
    row.define(*command, state_->raw);
    state_->commands.emplace_back(&row, command);
  }
  state_->whole->footer(help_about_servers);
}

std::optional<Command> SandboxCommands::parsed(std::vector<std::string> command) const {
  if (!state_->whole->parsed()) return std::nullopt;
  for (const auto& [row, app] : state_->commands) {
    if (!app->parsed()) continue;
    const bool names_one = app->get_option_no_throw("id") != nullptr;
    if (names_one && state_->raw.id.empty()) {
      return mistake(*app, "expected the ID of a sandbox");
    }
    if (!std::all_of(command.begin(), command.end(), runtime::json::is_utf8)) {
      return mistake(*app, std::string("COMMAND") + not_utf8);
    }
    Parsed parsed = row->parsed(*app, state_->raw);
    if (auto* const wrong = std::get_if<Finished>(&parsed)) return std::move(*wrong);
    Options& options = std::get<Options>(parsed);
    if (auto* const exec = std::get_if<ExecOptions>(&options)) {
      if (command.empty() && !exec->code) return mistake(*app, "expected -- COMMAND, or -c CODE");
      exec->command = std::move(command);
    } else if (auto* const shell = std::get_if<ShellOptions>(&options)) {
      shell->command = command.empty() ? std::vector<std::string>{"bash"} : std::move(command);
    }
    return std::move(options);
  }
  std::string names;
  for (const Row& row : rows) {
    if (!names.empty()) names += &row == std::end(rows) - 1 ? " or " : ", ";
    names += row.name;
  }
  return usage("sandbox: expected " + names);
}

bool SandboxCommands::takes_command(const std::vector<std::string>& args) {
  return args.size() > 1 && args[0] == "sandbox" && (args[1] == "exec" || args[1] == "shell");
}

}  // namespace server::client
