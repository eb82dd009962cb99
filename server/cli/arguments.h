// The command line into values; the only user of CLI11.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/config/config.h"
#include "runtime/sandbox/run_request.h"

namespace server {

struct ExecOptions {
  std::optional<std::string> code;  // -c
  std::string file;                 // or this; "-" is standard input
  std::optional<runtime::Language> language;
  std::optional<std::chrono::milliseconds> timeout;
  std::optional<std::uint32_t> memory_limit_mb;
  std::vector<std::pair<std::string, std::string>> env;
  struct File {
    std::string source;       // on the host
    std::string destination;  // below the working directory
  };
  std::vector<File> files;
  struct Artifact {
    std::string glob;
    std::string directory;  // on the host
  };
  std::vector<Artifact> artifacts;
  std::vector<std::string> args;  // after --
  std::optional<std::string> user;
  std::vector<runtime::FlagSetting> flags;
  enum class Mode { stream, json, explain } mode = Mode::stream;
};

struct ServeOptions {
  std::optional<std::string> config_path;
  std::optional<std::string> user;
  std::vector<runtime::FlagSetting> flags;
};

struct DoctorOptions {
  std::optional<std::string> user;
  std::vector<runtime::FlagSetting> flags;
  enum class Format { text, json } format = Format::text;
};

// Nothing to run: help, version, or a mistake.
struct Finished {
  int exit_code = 0;
  std::string output;
  std::string error;
};

// `args` without the program's name.
std::variant<ExecOptions, ServeOptions, DoctorOptions, Finished> parse_arguments(
    std::vector<std::string> args, const std::string& version);

}  // namespace server
