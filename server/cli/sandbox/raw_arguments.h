// What the subcommands of `agent-sandbox sandbox` share while a command line becomes values.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/service/field.h"
#include "server/cli/arguments.h"

namespace server::client {

// As CLI11 hands them over.
struct RawSandboxArguments {
  std::string id;
  std::vector<std::string> ids;
  std::string name;
  std::string template_name;
  std::string working_directory;
  std::vector<std::string> env;
  std::vector<std::string> metadata;
  std::vector<std::string> allow;
  std::vector<std::string> secrets;
  std::vector<std::string> volumes;
  std::vector<std::uint32_t> ports;
  std::string one_metadata;
  std::string state;
  std::string on_timeout;
  std::string disk_kind;
  std::string code;
  std::string language;
  bool warm = false;
  std::uint32_t memory = 0;
  std::uint32_t processes = 0;
  std::uint32_t disk = 0;
  std::uint32_t lifetime = 0;
  std::uint32_t idle = 0;
  std::uint32_t pid = 0;
  std::uint32_t port = 0;
  std::uint32_t seconds = 0;
  std::uint32_t tail = 0;
  double timeout = 0;
  double cpu = 0;
  std::string source;
  std::string destination;
  std::string path;
  std::string listen;
  std::string signal = "TERM";
  bool json = false;
  bool background = false;
  bool no_stdin = false;
  bool interactive = false;
  bool recursive = false;
  bool writes = false;
  bool follow = false;
  bool group = false;
  bool no_auto_resume = false;
  bool no_network = false;
};

// The widest bounds that any server can have. The server itself refuses what its operator does not
// allow.
const runtime::RequestRules& rules_of_any_server();

using Parsed = std::variant<Options, Finished>;

// The options and arguments that several of them have.
void add_id(CLI::App& command, RawSandboxArguments& raw);
void add_pid(CLI::App& command, RawSandboxArguments& raw);
void add_many(CLI::App& command, const char* name, std::vector<std::string>& values,
              const char* type, const char* description);
void add_number(CLI::App& command, const char* name, std::uint32_t& value, const char* type,
                const runtime::Field& bounds, const char* description);
void add_env_and_directory(CLI::App& command, RawSandboxArguments& raw);

// Nothing where the command line does not name it.
std::optional<std::uint32_t> given(const CLI::App& command, const char* name, std::uint32_t value);
Format format_of(const RawSandboxArguments& raw);
// What is wrong with the arguments of `command`.
Finished mistake(const CLI::App& command, const std::string& text);

}  // namespace server::client
