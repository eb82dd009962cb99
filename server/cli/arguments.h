// The command line into values.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/agent/task.h"
#include "runtime/config/config.h"
#include "runtime/sandbox/run_request.h"
#include "server/cli/jobs/jobs_options.h"
#include "server/cli/sandbox/known_names.h"
#include "server/cli/sandbox/sandbox_options.h"
#include "server/cli/volumes/volumes_options.h"
#include "server/cli/webhooks/webhooks_options.h"

namespace server {

struct FileOption {
  std::string source;       // on the host
  std::string destination;  // below the working directory
};

// Where files of the working directory go afterwards.
struct ArtifactOptions {
  struct Artifact {
    std::string glob;
    std::string directory;  // on the host; empty: they are in the JSON result alone
  };
  std::vector<Artifact> wanted;
  bool overwrite = false;  // they may replace files that are there
};

// What programs get.
struct ProgramOptions {
  std::optional<std::chrono::milliseconds> timeout;
  std::optional<std::uint32_t> memory_limit_mb;
  std::vector<FileOption> files;
};

// Where and as whom they run.
struct HostOptions {
  std::optional<std::string> user;
  std::vector<runtime::FlagSetting> flags;
};

struct ExecOptions {
  std::optional<std::string> code;  // -c
  std::string file;                 // or this; "-" is standard input
  std::optional<runtime::Language> language;
  ProgramOptions program;
  std::vector<std::pair<std::string, std::string>> env;
  std::vector<std::string> passed_env;  // variables with the values that they have here
  ArtifactOptions artifacts;
  std::vector<std::string> allow;  // egress rules
  std::vector<std::string> args;   // after --
  std::string jail_file;           // empty: none
  std::string template_name;       // empty: none
  std::string server;              // the URL of the one that runs it; empty: it runs here
  // Whether the program has a terminal of its own. Without code and file an interpreter runs then.
  bool has_terminal = false;
  bool reads_input = true;   // standard input, which is passed on
  bool shows_usage = false;  // on standard error, when the program has ended
  std::optional<std::uint32_t> max_processes;
  std::optional<std::uint32_t> disk_limit_mb;
  HostOptions host;
  enum class Mode { stream, json, explain } mode = Mode::stream;
};

struct RunTaskOptions {
  std::string task;  // "-" is standard input
  std::optional<std::uint32_t> max_attempts;
  std::uint32_t candidates = 1;
  std::string tests_file;  // empty: none
  ProgramOptions program;
  ArtifactOptions artifacts;
  runtime::agent::Team team = runtime::agent::Team::coder;
  runtime::agent::TestsByModel tests_by_model = runtime::agent::TestsByModel::none;
  runtime::agent::Lessons lessons = runtime::agent::Lessons::used;
  std::string provider;
  std::string model;
  std::string trace_file;  // empty: none
  std::string server;      // the URL of the one that solves it; empty: it is solved here
  enum class Output { text, json } output = Output::text;
  enum class Detail { usual, all } detail = Detail::usual;
  HostOptions host;
};

struct BenchmarkOptions {
  std::string suite = "quick";  // or a file
  std::optional<std::uint32_t> max_problems;
  std::optional<std::uint32_t> max_attempts;
  std::string provider;
  std::string model;
  enum class Format { table, json, markdown } format = Format::table;
  HostOptions host;
};

struct LessonsOptions {
  enum class Action { list, erase } action = Action::list;
  std::string id;  // of the one to erase; empty: all
  enum class Format { text, json } format = Format::text;
  std::optional<std::string> user;
};

struct ServeOptions {
  std::optional<std::string> config_path;
  HostOptions host;
};

struct McpOptions {
  std::optional<std::string> config_path;
  HostOptions host;
};

struct DoctorOptions {
  HostOptions host;
  enum class Format { text, json } format = Format::text;
  enum class Extent { everything, speed } extent = Extent::everything;
};

// Nothing to run: help, version, or a mistake.
struct Finished {
  int exit_code = 0;
  std::string output;
  std::string error;
};

using Command = std::variant<ExecOptions, RunTaskOptions, BenchmarkOptions, LessonsOptions,
                             ServeOptions, McpOptions, DoctorOptions, client::Options,
                             client::JobsOptions, client::VolumesOptions, client::WebhooksOptions,
                             client::KnownNamesOptions, Finished>;

// `args` without the program's name.
bool names_exec(const std::vector<std::string>& args);

// `args` without the program's name.
Command parse_arguments(std::vector<std::string> args, const std::string& version);

}  // namespace server
