#include "server/cli/common_arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>

#include "jail/collect.h"
#include "jail/egress.h"
#include "runtime/json/writer.h"
#include "runtime/service/request_fields.h"
#include "server/cli/exit_codes.h"

namespace server {
namespace {

// A directory may be typed with a slash at its end.
std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

std::string own_name(const std::string& source) {
  const std::string path = without_slashes(source);
  return path.substr(path.rfind('/') + 1);
}

// The last colon parts the two, so that a source with a colon in it needs its destination said.
std::optional<FileOption> file_option(const std::string& entry) {
  const std::size_t colon = entry.rfind(':');
  FileOption file;
  file.source = entry.substr(0, colon);
  file.destination =
      colon == entry.npos ? own_name(file.source) : without_slashes(entry.substr(colon + 1));
  if (file.source.empty() || file.destination.empty()) return std::nullopt;
  return file;
}

const runtime::Field& program_field(std::string_view name) {
  return *runtime::find_field(runtime::program_fields(), name);
}

const runtime::RequestRules& typed_rules() {
  static const runtime::RequestRules rules = [] {
    runtime::RequestRules widest;
    widest.ceilings = typed_ceilings;
    return widest;
  }();
  return rules;
}

// How many of what the number means `suffix` is; nothing for a suffix that is no unit.
std::optional<double> factor_of(std::string_view suffix, Unit unit) {
  struct Row {
    Unit unit;
    std::string_view suffix;
    double factor;
  };
  constexpr Row rows[] = {
      {Unit::time, "ms", 0.001},  {Unit::time, "s", 1},        {Unit::time, "m", 60},
      {Unit::time, "min", 60},    {Unit::time, "h", 3600},     {Unit::time, "d", 86'400},
      {Unit::memory, "m", 1},     {Unit::memory, "mi", 1},     {Unit::memory, "mb", 1},
      {Unit::memory, "mib", 1},   {Unit::memory, "g", 1024},   {Unit::memory, "gi", 1024},
      {Unit::memory, "gb", 1024}, {Unit::memory, "gib", 1024},
  };
  if (suffix.empty()) return 1;
  const Unit of = unit == Unit::whole_time ? Unit::time : unit;
  for (const Row& row : rows) {
    if (row.unit == of && row.suffix == suffix) return row.factor;
  }
  return std::nullopt;
}

// "2g" as 2048. Nothing for what is no number with a unit of that kind.
std::optional<double> typed_number(std::string word, Unit unit) {
  const auto is_upper = [](char letter) { return letter >= 'A' && letter <= 'Z'; };
  if (unit == Unit::memory) {
    for (char& letter : word) letter = is_upper(letter) ? static_cast<char>(letter + 32) : letter;
  }
  double number = 0;
  const char* const end = word.data() + word.size();
  const auto [rest, error] = std::from_chars(word.data(), end, number);
  const auto factor = factor_of({rest, end}, unit);
  if (error != std::errc() || !factor || !std::isfinite(number)) return std::nullopt;
  return number * *factor;
}

std::string units_text(Unit unit) {
  if (unit == Unit::time || unit == Unit::whole_time)
    return " in seconds, or with a unit: 90s, 2m, 1h, 1d";
  return unit == Unit::memory ? " in MB, or with a unit: 512m, 2g" : "";
}

// An empty value could not be seen.
std::string shown_value(const std::string& value) { return value.empty() ? "\"\"" : value; }

}  // namespace

CLI::Validator number_of(const runtime::Field& field, const runtime::RequestRules& rules,
                         Unit unit) {
  const auto read = [&field, rules, unit](std::string& word) -> std::string {
    const auto number = typed_number(word, unit);
    const bool is_integer = field.type == runtime::Field::Type::integer || unit == Unit::whole_time;
    // 0.001 * 2000 may be a little beside 2.
    const double whole = std::round(number.value_or(0));
    const bool is_whole = std::abs(number.value_or(0.5) - whole) < 1e-9;
    if (!number || (is_integer && !is_whole) || !runtime::is_within(field, *number, rules)) {
      // The field of a request may be no number, since it may also be left out by a null.
      const std::string expected = unit == Unit::whole_time
                                       ? "expected an integer " + runtime::range_of(field, rules)
                                       : runtime::expectation(field, rules);
      return expected + units_text(unit);
    }
    word = runtime::json::number_text(is_integer ? whole : *number);
    return {};
  };
  return CLI::Validator(read, "");
}

CLI::Validator word_of(const runtime::Field& field, const runtime::RequestRules& rules) {
  const auto read = [&field, rules](std::string& word) -> std::string {
    const auto words = field.words(rules);
    if (std::ranges::find(words, word) != words.end()) return {};
    return runtime::expectation(field, rules) + ", not " + runtime::json::quoted(word, 64);
  };
  return CLI::Validator(read, "");
}

Finished usage(const std::string& text) {
  return {.exit_code = exit_usage, .output = {}, .error = "agent-sandbox: " + text + "\n"};
}

bool is_variable_name(std::string_view name) {
  const auto is_blank = [](char byte) { return (byte >= 0 && byte <= ' ') || byte == '\x7f'; };
  return !name.empty() && name.front() != '-' && std::ranges::none_of(name, is_blank);
}

void add_program_arguments(CLI::App& command, ProgramArguments& raw) {
  command
      .add_option("--timeout", raw.timeout,
                  "Seconds until a program is ended; or 500ms, 2m, 1h, 1d")
      ->type_name("SECONDS")
      ->transform(number_of(program_field("timeout_seconds"), typed_rules(), Unit::time));
  command.add_option("--memory", raw.memory, "Memory limit in MB; or 512m, 2g")
      ->type_name("MB")
      ->transform(number_of(program_field("memory_limit_mb"), typed_rules(), Unit::memory));
  command
      .add_option(
          "--file", raw.files,
          "A file for its working directory, or a directory with all files in it, DEST there; may\n"
          "repeat")
      ->type_name("SRC[:DEST]")
      ->allow_extra_args(false);  // one a time: the next word may be something else
}

std::optional<Finished> read_program_arguments(const CLI::App& command, const ProgramArguments& raw,
                                               ProgramOptions& options) {
  if (command.count("--timeout") > 0) {
    options.timeout = std::chrono::milliseconds(std::llround(raw.timeout * 1000));
  }
  if (command.count("--memory") > 0) options.memory_limit_mb = raw.memory;
  for (const std::string& entry : raw.files) {
    auto file = file_option(entry);
    if (!file) return usage("--file " + shown_value(entry) + ": expected SRC or SRC:DEST");
    options.files.push_back(std::move(*file));
  }
  return std::nullopt;
}

std::optional<Finished> check_count(const std::string& option, std::string_view field,
                                    std::size_t count) {
  const runtime::Field& bounds = program_field(field);
  if (runtime::is_within(bounds, static_cast<double>(count), {})) return std::nullopt;
  return usage(option + ": " + runtime::expectation(bounds, {}));
}

void add_artifact_arguments(CLI::App& command, ArtifactArguments& raw) {
  command
      .add_option("--artifact", raw.artifacts,
                  "Copy what the glob names in its working directory to DIR afterwards, or with "
                  "--json and without DIR into the result; may repeat")
      ->type_name("GLOB[:DIR]")
      ->allow_extra_args(false);
  command.add_flag("--overwrite", raw.overwrite, "Let artifacts replace files that are there");
}

std::optional<Finished> read_artifact_arguments(const ArtifactArguments& raw, bool is_json,
                                                ArtifactOptions& options) {
  if (auto mistake = check_count("--artifact", "artifacts", raw.artifacts.size())) return mistake;
  for (const std::string& entry : raw.artifacts) {
    const std::size_t colon = entry.rfind(':');
    if (colon == entry.npos ? !is_json : colon + 1 == entry.size()) {
      return usage("--artifact " + entry + ": expected GLOB:DIR, or with --json GLOB alone");
    }
    const std::string glob = entry.substr(0, colon);
    const std::string directory = colon == entry.npos ? std::string() : entry.substr(colon + 1);
    if (directory.starts_with('-')) {
      return usage("--artifact " + entry + ": expected a directory, which ./" + directory +
                   " would name");
    }
    if (const auto checked = jail::check_glob(glob); !checked) {
      return usage("--artifact " + entry + ": " + checked.error().doing);
    }
    options.wanted.push_back({glob, directory});
  }
  options.overwrite = raw.overwrite;
  return std::nullopt;
}

std::optional<Finished> check_allow(const std::vector<std::string>& rules) {
  for (const std::string& rule : rules) {
    const auto checked = jail::check_egress_rule(rule);
    if (checked) continue;
    // The rule stands behind the option already.
    const std::string& doing = checked.error().doing;
    const std::size_t end = doing.find("\": ");
    return usage("--allow " + shown_value(rule) + ": " +
                 (end == doing.npos ? doing : doing.substr(end + 3)));
  }
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
  constexpr const char* usual = ": the server makes a jail of its own";
  constexpr std::pair<const char*, const char*> ways_out[] = {
      {"--jail", usual},
      {"--explain", usual},
      {"--tty", "; use `sandbox shell`"},
      {"--processes", "; `sandbox create` has it"},
      {"--disk", "; `sandbox create` has it"},
      {"--cgroup", usual},
      {"--require-cgroup", usual},
      {"--rootfs", usual},
      {"--user", usual}};
  for (const auto& [option, way_out] : ways_out) {
    if (command.get_option_no_throw(option) == nullptr || command.count(option) == 0) continue;
    return usage(std::string(option) + " cannot be used with --server" + way_out);
  }
  return std::nullopt;
}

void add_json(CLI::App& command, bool& json) {
  command.add_flag("--json", json, "Print what the server answers");
}

bool are_ids(const std::vector<std::string>& ids) {
  return !ids.empty() && std::ranges::find(ids, "") == ids.end();
}

const char* const help_about_servers =
    "AGENT_SANDBOX_URL says where the server is [http://127.0.0.1:8000], AGENT_SANDBOX_KEY is\n"
    "the key to show. The exit status is 1 where the server says no, 125: our own failure,\n"
    "2: usage.";

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
