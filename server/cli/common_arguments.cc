#include "server/cli/common_arguments.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <map>

#include "jail/collect.h"
#include "runtime/service/request_fields.h"
#include "server/cli/exit_codes.h"

namespace server {
namespace {

// The last colon parts the two, so that a source with a colon in it needs its destination said.
std::optional<FileOption> file_option(const std::string& entry) {
  const std::size_t colon = entry.rfind(':');
  FileOption file;
  file.source = entry.substr(0, colon);
  file.destination = colon == entry.npos ? file.source.substr(file.source.rfind('/') + 1)
                                         : entry.substr(colon + 1);
  if (file.source.empty() || file.destination.empty()) return std::nullopt;
  return file;
}

std::optional<Finished> read_limits(const CLI::App& command, const ProgramArguments& raw,
                                    ProgramOptions& options) {
  runtime::RequestRules rules;
  rules.ceilings = typed_ceilings;
  const auto field = [](std::string_view name) -> const runtime::Field& {
    return *runtime::find_field(runtime::program_fields(), name);
  };
  if (command.count("--timeout") > 0) {
    const runtime::Field& timeout = field("timeout_seconds");
    if (!runtime::is_within(timeout, raw.timeout, rules)) {
      return usage("--timeout: " + runtime::expectation(timeout, rules));
    }
    options.timeout = std::chrono::milliseconds(std::llround(raw.timeout * 1000));
  }
  if (command.count("--memory") > 0) {
    const runtime::Field& memory = field("memory_limit_mb");
    if (!runtime::is_within(memory, raw.memory, rules)) {
      return usage("--memory: " + runtime::expectation(memory, rules));
    }
    options.memory_limit_mb = raw.memory;
  }
  return std::nullopt;
}

}  // namespace

CLI::Validator in_seconds() {
  static const std::map<std::string, double> units = {
      {"ms", 0.001}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86'400}};
  return CLI::AsNumberWithUnit(units, CLI::AsNumberWithUnit::CASE_SENSITIVE);
}

CLI::Validator in_whole_seconds() {
  static const std::map<std::string, std::uint32_t> units = {
      {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86'400}};
  return CLI::AsNumberWithUnit(units, CLI::AsNumberWithUnit::CASE_SENSITIVE);
}

CLI::Validator in_megabytes() {
  static const std::map<std::string, std::uint32_t> units = {
      {"m", 1}, {"mb", 1}, {"mib", 1}, {"g", 1024}, {"gb", 1024}, {"gib", 1024}};
  return CLI::AsNumberWithUnit(units, CLI::AsNumberWithUnit::CASE_INSENSITIVE);
}

Finished usage(const std::string& text) {
  return {.exit_code = exit_usage, .output = {}, .error = "agent-sandbox: " + text + "\n"};
}

CLI::Range within(const runtime::Field& field, const runtime::RequestRules& rules) {
  const double max = runtime::max_of(field, rules);
  if (field.type == runtime::Field::Type::number) return {field.min, max};
  return {static_cast<std::uint32_t>(field.min), static_cast<std::uint32_t>(max)};
}

void add_program_arguments(CLI::App& command, ProgramArguments& raw) {
  command
      .add_option("--timeout", raw.timeout,
                  "Seconds until a program is ended; or 500ms, 2m, 1h, 1d")
      ->type_name("S")
      ->transform(in_seconds());
  command.add_option("--memory", raw.memory, "Memory limit in MB; or 512m, 2g")
      ->type_name("MB")
      ->transform(in_megabytes());
  command
      .add_option("--file", raw.files, "A file for its working directory, DEST there; may repeat")
      ->type_name("SRC[:DEST]")
      ->allow_extra_args(false);  // one a time: the next word may be something else
}

std::optional<Finished> read_program_arguments(const CLI::App& command, const ProgramArguments& raw,
                                               ProgramOptions& options) {
  if (auto mistake = read_limits(command, raw, options)) return mistake;
  for (const std::string& entry : raw.files) {
    auto file = file_option(entry);
    if (!file) return usage("--file " + entry + ": expected SRC or SRC:DEST");
    options.files.push_back(std::move(*file));
  }
  return std::nullopt;
}

std::optional<Finished> check_count(const std::string& option, std::string_view field,
                                    std::size_t count) {
  const runtime::Field& bounds = *runtime::find_field(runtime::program_fields(), field);
  if (runtime::is_within(bounds, static_cast<double>(count), {})) return std::nullopt;
  return usage(option + ": " + runtime::expectation(bounds, {}));
}

void add_artifact_arguments(CLI::App& command, ArtifactArguments& raw) {
  command
      .add_option("--artifact", raw.artifacts,
                  "Copy what the glob names in its working directory to DIR afterwards; may repeat")
      ->type_name("GLOB:DIR")
      ->allow_extra_args(false);
  command.add_flag("--overwrite", raw.overwrite, "Let artifacts replace files that are there");
}

std::optional<Finished> read_artifact_arguments(const ArtifactArguments& raw,
                                                ArtifactOptions& options) {
  if (auto mistake = check_count("--artifact", "artifacts", raw.artifacts.size())) return mistake;
  for (const std::string& entry : raw.artifacts) {
    const std::size_t colon = entry.rfind(':');
    if (colon == entry.npos || colon + 1 == entry.size()) {
      return usage("--artifact " + entry + ": expected GLOB:DIR");
    }
    const std::string glob = entry.substr(0, colon);
    if (const auto checked = jail::check_glob(glob); !checked) {
      return usage("--artifact " + entry + ": " + checked.error().doing);
    }
    options.wanted.push_back({glob, entry.substr(colon + 1)});
  }
  options.overwrite = raw.overwrite;
  return std::nullopt;
}

void add_server(CLI::App& command, std::string& url) {
  command
      .add_option("--server", url,
                  "Do it on this server: http://HOST:PORT, https:// or unix:/PATH; the key is\n"
                  "AGENT_SANDBOX_KEY")
      ->type_name("URL");
}

// What makes a jail on this host means nothing to a server.
std::optional<Finished> check_server(const CLI::App& command, const std::string& url) {
  if (command.count("--server") == 0) return std::nullopt;
  if (url.empty()) return usage("--server: expected a URL");
  for (const char* const option :
       {"--jail", "--explain", "--tty", "--cgroup", "--require-cgroup", "--rootfs", "--user"}) {
    if (command.get_option_no_throw(option) == nullptr || command.count(option) == 0) continue;
    return usage(std::string(option) + " cannot be used with --server: it is about a jail on this " +
                 "host, and the server makes its own");
  }
  return std::nullopt;
}

void add_root_and_user(CLI::App& command, HostArguments& raw) {
  command
      .add_option("--rootfs", raw.rootfs,
                  "What programs see: a directory made by rootfs/build, or host [the built one "
                  "where there is one]")
      ->type_name("DIR");
  command.add_option("--user", raw.user, "Run as this user or uid when started as root")
      ->type_name("NAME");
}

void add_host_arguments(CLI::App& command, HostArguments& raw) {
  command.add_option("--cgroup", raw.cgroup, "auto, own, none or a cgroup v2 directory [auto]")
      ->type_name("DIR");
  command.add_flag("--require-cgroup", raw.require_cgroup, "Refuse to run without a cgroup");
  add_root_and_user(command, raw);
}

void read_host_arguments(const CLI::App& command, const HostArguments& raw, HostOptions& options) {
  if (command.count("--user") > 0) options.user = raw.user;
  if (command.count("--rootfs") > 0) {
    options.flags.push_back({"SANDBOX_ROOTFS", raw.rootfs, "--rootfs"});
  }
  if (!raw.cgroup.empty()) options.flags.push_back({"SANDBOX_CGROUP", raw.cgroup, "--cgroup"});
  if (raw.require_cgroup) {
    options.flags.push_back({"SANDBOX_REQUIRE_CGROUP", "true", "--require-cgroup"});
  }
}

}  // namespace server
