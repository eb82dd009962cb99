#include "server/cli/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "jail/collect.h"
#include "runtime/sandbox/language.h"
#include "server/cli/exit_codes.h"

namespace server {
namespace {

using Parsed = std::variant<ExecOptions, ServeOptions, DoctorOptions, Finished>;

// As CLI11 hands them over; checked and turned into options afterwards.
struct Raw {
  std::string code;
  std::string file;
  std::string language;
  double timeout = 0;
  std::uint32_t memory = 0;
  std::vector<std::string> env;
  std::vector<std::string> files;
  std::vector<std::string> artifacts;
  bool json = false;
  bool explain = false;
  std::string user;
  std::string config;
  std::string host;
  std::string port;
  std::string log_level;
  std::string log_format;
  std::string rootfs;
  std::string cgroup;
  bool require_cgroup = false;
};

struct Commands {
  CLI::App app{"Runs programs that nobody has read in jails of the Linux kernel's own making."};
  CLI::App* exec = nullptr;
  CLI::App* serve = nullptr;
  CLI::App* doctor = nullptr;
  Raw raw;
};

void add_user(CLI::App& command, Raw& raw) {
  command.add_option("--user", raw.user, "Run as this user or uid when started as root")
      ->type_name("NAME");
}

void add_rootfs(CLI::App& command, Raw& raw) {
  command
      .add_option("--rootfs", raw.rootfs,
                  "What programs see: a directory made by rootfs/build, or host [the built one "
                  "where there is one]")
      ->type_name("DIR");
}

void add_rootfs_flag(const CLI::App& command, const Raw& raw,
                     std::vector<runtime::FlagSetting>& flags) {
  if (command.count("--rootfs") > 0) flags.push_back({"SANDBOX_ROOTFS", raw.rootfs, "--rootfs"});
}

void add_cgroup(CLI::App& command, Raw& raw) {
  command.add_option("--cgroup", raw.cgroup, "auto, own, none or a cgroup v2 directory [auto]")
      ->type_name("DIR");
  command.add_flag("--require-cgroup", raw.require_cgroup, "Refuse to run without a cgroup");
}

void add_cgroup_flags(const CLI::App& command, const Raw& raw,
                      std::vector<runtime::FlagSetting>& flags) {
  if (command.count("--cgroup") > 0) flags.push_back({"SANDBOX_CGROUP", raw.cgroup, "--cgroup"});
  if (raw.require_cgroup) flags.push_back({"SANDBOX_REQUIRE_CGROUP", "true", "--require-cgroup"});
}

void define_exec(Commands& commands) {
  CLI::App& exec = *commands.app.add_subcommand("exec", "Run one program in a jail");
  Raw& raw = commands.raw;
  auto* code = exec.add_option("-c", raw.code, "The program itself")->type_name("CODE");
  exec.add_option("program", raw.file, "The program's file; - reads it from standard input")
      ->type_name("FILE")
      ->excludes(code);
  exec.add_option("--language", raw.language,
                  "python, bash, javascript or typescript; by default as the file's name says")
      ->type_name("L")
      ->check(CLI::IsMember({"python", "bash", "javascript", "typescript"}));
  exec.add_option("--timeout", raw.timeout, "Seconds until it is ended")->type_name("S");
  exec.add_option("--memory", raw.memory, "Memory limit in MB")->type_name("MB");
  exec.add_option("--env", raw.env, "A variable for the program; may repeat")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);  // one a time: the next word may be the file
  exec.add_option("--file", raw.files, "A file for its working directory, DEST there; may repeat")
      ->type_name("SRC[:DEST]")
      ->allow_extra_args(false);
  exec.add_option("--artifact", raw.artifacts,
                  "Copy what the glob names in its working directory to DIR afterwards; may repeat")
      ->type_name("GLOB:DIR")
      ->allow_extra_args(false);
  auto* json = exec.add_flag("--json", raw.json, "Print the result as POST /execute returns it");
  exec.add_flag("--explain", raw.explain, "Print the steps that make the jail; run nothing")
      ->excludes(json);
  add_rootfs(exec, raw);
  add_cgroup(exec, raw);
  add_user(exec, raw);
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
      ->type_name("H");
  serve.add_option("--port", raw.port, "Port to listen on; 0 for any [8000]")->type_name("P");
  serve.add_option("--config", raw.config, "Configuration file [agent-sandbox.json]")
      ->type_name("FILE");
  serve.add_option("--log-level", raw.log_level, "debug, info, warning or error [info]")
      ->type_name("LEVEL");
  serve.add_option("--log-format", raw.log_format, "text or json [text]")->type_name("FORMAT");
  add_rootfs(serve, raw);
  add_cgroup(serve, raw);
  add_user(serve, raw);
  commands.serve = &serve;
}

void define_doctor(Commands& commands) {
  CLI::App& doctor = *commands.app.add_subcommand(
      "doctor", "Say what this host can enforce, what is missing, how to get it");
  doctor.add_flag("--json", commands.raw.json, "For machines");
  add_rootfs(doctor, commands.raw);
  add_user(doctor, commands.raw);
  commands.doctor = &doctor;
}

Finished usage(const std::string& text) {
  return {.exit_code = exit_usage,
          .output = {},
          .error = "agent-sandbox: " + text + "\nagent-sandbox --help says more.\n"};
}

template <class T>
std::optional<T> given(const CLI::App& command, const char* name, T value) {
  if (command.count(name) == 0) return std::nullopt;
  return value;
}

// The last colon parts the two, so that a source with a colon in it needs its destination said.
std::optional<ExecOptions::File> file_option(const std::string& entry) {
  const std::size_t colon = entry.rfind(':');
  ExecOptions::File file;
  file.source = entry.substr(0, colon);
  file.destination = colon == entry.npos ? file.source.substr(file.source.rfind('/') + 1)
                                         : entry.substr(colon + 1);
  if (file.source.empty() || file.destination.empty()) return std::nullopt;
  return file;
}

Parsed exec_options(const Commands& commands, std::vector<std::string> args) {
  const Raw& raw = commands.raw;
  const CLI::App& exec = *commands.exec;
  ExecOptions options;
  options.code = given(exec, "-c", raw.code);
  options.file = raw.file;
  if (!options.code && raw.file.empty()) return usage("exec: expected -c CODE, FILE or -");
  options.language = runtime::language_named(raw.language);
  if (exec.count("--timeout") > 0) {
    // The operator's ceilings are for clients; who types this is the operator.
    if (!(raw.timeout >= 0.05 && raw.timeout <= 86400)) {
      return usage("--timeout: expected a number 0.05 .. 86400");
    }
    options.timeout = std::chrono::milliseconds(std::llround(raw.timeout * 1000));
  }
  if (exec.count("--memory") > 0) {
    if (raw.memory < runtime::min_memory_limit_mb || raw.memory > 1u << 20) {
      return usage("--memory: expected an integer 32 .. 1048576");
    }
    options.memory_limit_mb = raw.memory;
  }
  for (const std::string& entry : raw.env) {
    const std::size_t equals = entry.find('=');
    if (equals == 0 || equals == entry.npos) return usage("--env: expected NAME=VALUE");
    options.env.emplace_back(entry.substr(0, equals), entry.substr(equals + 1));
  }
  for (const std::string& entry : raw.files) {
    auto file = file_option(entry);
    if (!file) return usage("--file " + entry + ": expected SRC or SRC:DEST");
    options.files.push_back(std::move(*file));
  }
  for (const std::string& entry : raw.artifacts) {
    const std::size_t colon = entry.rfind(':');
    if (colon == entry.npos || colon + 1 == entry.size()) {
      return usage("--artifact " + entry + ": expected GLOB:DIR");
    }
    const std::string glob = entry.substr(0, colon);
    if (const auto checked = jail::check_glob(glob); !checked) {
      return usage("--artifact " + entry + ": " + checked.error().doing);
    }
    options.artifacts.push_back({glob, entry.substr(colon + 1)});
  }
  options.args = std::move(args);
  options.user = given(exec, "--user", raw.user);
  add_rootfs_flag(exec, raw, options.flags);
  add_cgroup_flags(exec, raw, options.flags);
  if (raw.json) options.mode = ExecOptions::Mode::json;
  if (raw.explain) options.mode = ExecOptions::Mode::explain;
  return options;
}

ServeOptions serve_options(const Commands& commands) {
  const Raw& raw = commands.raw;
  const CLI::App& serve = *commands.serve;
  ServeOptions options;
  options.config_path = given(serve, "--config", raw.config);
  options.user = given(serve, "--user", raw.user);
  add_rootfs_flag(serve, raw, options.flags);
  const auto add = [&](const char* name, const std::string& value, const char* flag) {
    if (serve.count(flag) > 0) options.flags.push_back({name, value, flag});
  };
  add("API_HOST", raw.host, "--host");
  add("API_PORT", raw.port, "--port");
  add("LOG_LEVEL", raw.log_level, "--log-level");
  add("LOG_FORMAT", raw.log_format, "--log-format");
  add_cgroup_flags(serve, raw, options.flags);
  return options;
}

// Everything after the first -- is the guest's, whatever it looks like.
std::vector<std::string> take_guest_args(std::vector<std::string>& args) {
  const auto dashes = std::find(args.begin(), args.end(), "--");
  if (args.empty() || args.front() != "exec" || dashes == args.end()) return {};
  std::vector<std::string> guest(dashes + 1, args.end());
  args.erase(dashes, args.end());
  return guest;
}

}  // namespace

std::variant<ExecOptions, ServeOptions, DoctorOptions, Finished> parse_arguments(
    std::vector<std::string> args, const std::string& version) {
  Commands commands;
  commands.app.name("agent-sandbox");
  commands.app.set_version_flag("--version", "agent-sandbox " + version);
  commands.app.require_subcommand(1);
  define_exec(commands);
  define_serve(commands);
  define_doctor(commands);
  std::vector<std::string> guest_args = take_guest_args(args);
  const std::string command = args.empty() ? "" : args.front();
  std::reverse(args.begin(), args.end());  // CLI11 takes them from the back
  try {
    commands.app.parse(std::move(args));
  } catch (const CLI::ParseError& error) {
    std::ostringstream output;
    std::ostringstream errors;
    if (commands.app.exit(error, output, errors) == 0) {
      return Finished{.exit_code = 0, .output = output.str(), .error = {}};
    }
    if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
      return usage("expected a subcommand: exec, serve or doctor; not \"" + command + "\"");
    }
    return usage(error.what());
  }
  if (commands.exec->parsed()) return exec_options(commands, std::move(guest_args));
  if (commands.serve->parsed()) return serve_options(commands);
  DoctorOptions options;
  options.user = given(*commands.doctor, "--user", commands.raw.user);
  add_rootfs_flag(*commands.doctor, commands.raw, options.flags);
  if (commands.raw.json) options.format = DoctorOptions::Format::json;
  return options;
}

}  // namespace server
