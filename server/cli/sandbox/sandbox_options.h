// What `agent-sandbox sandbox` was told to do, as values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/service/volume_requests.h"
#include "server/cli/sandbox/listen_address.h"
#include "server/cli/sandbox/secret_option.h"

namespace server::client {

using NamedTexts = std::vector<std::pair<std::string, std::string>>;

enum class Format : std::uint8_t { text, json };

// Below, `id` is the id or the name of a sandbox and not empty, and what is not there was not said.

struct LimitOptions {
  std::optional<std::uint32_t> memory_mb;
  std::optional<std::uint32_t> processes;
  std::optional<std::uint32_t> disk_mb;
  std::optional<double> cpu;

  bool operator==(const LimitOptions&) const = default;
};

struct CreateOptions {
  std::string name;
  std::string template_name;
  std::string working_directory;
  NamedTexts env;
  NamedTexts metadata;
  LimitOptions limits;
  std::string disk_kind;
  std::optional<std::uint32_t> timeout_seconds;
  std::optional<std::uint32_t> idle_seconds;
  std::string on_timeout;
  bool auto_resume = true;
  std::vector<std::string> allow;
  std::vector<SecretOption> secrets;
  std::vector<runtime::VolumeMount> volumes;
  bool is_warm = false;
  std::vector<std::uint32_t> ports;
  Format format = Format::text;
};

struct ListOptions {
  std::string state;
  std::optional<std::pair<std::string, std::string>> metadata;
  Format format = Format::text;
};

struct GetOptions {
  std::string id;
  Format format = Format::text;
};

struct ExecOptions {
  std::string id;
  std::vector<std::string> command;  // not empty; the arguments of `code` where that is there
  std::optional<std::string> code;
  std::string language;  // of code; empty: that of the sandbox's template
  NamedTexts env;
  std::string working_directory;
  std::optional<double> timeout_seconds;
  bool background = false;
  bool reads_input = true;  // standard input, which is passed on
  Format format = Format::text;
};

struct ShellOptions {
  std::string id;
  std::vector<std::string> command;  // not empty
  NamedTexts env;
  std::string working_directory;
};

struct CopyOptions {
  enum class Direction : std::uint8_t {
    into_sandbox,
    out_of_sandbox
  } direction = Direction::into_sandbox;
  std::string id;
  std::string inside;   // from the sandbox's working directory on, unless it is absolute
  std::string outside;  // "-": standard input or output
  bool recursive = false;
};

struct ListFilesOptions {
  std::string id;
  std::string path;  // absolute; empty: the sandbox's working directory
  Format format = Format::text;
};

struct RemoveFileOptions {
  std::string id;
  std::string path;  // absolute
  bool recursive = false;
};

struct FileUrlOptions {
  std::string id;
  std::string path;  // absolute
  bool writes = false;
  std::optional<std::uint32_t> expires_seconds;
  Format format = Format::text;
};

struct WatchOptions {
  std::string id;
  std::string path;  // absolute, of a directory; empty: the sandbox's working directory
  bool recursive = false;
  Format format = Format::text;
};

struct ProcessesOptions {
  std::string id;
  Format format = Format::text;
};

struct LogsOptions {
  std::string id;
  std::uint32_t pid = 0;                             // 0: of all processes
  std::optional<std::uint32_t> tail = std::nullopt;  // lines
  bool follow = false;
};

struct KillOptions {
  std::string id;
  std::uint32_t pid = 0;
  int signal = 0;  // a number
  bool group = false;
};

struct PortOptions {
  std::string id;
  std::uint32_t port = 0;
  std::optional<ListenAddress> listen;  // where programs of this host reach it
};

struct TokenOptions {
  std::string id;
};

struct EventsOptions {
  std::string id;
  bool follow = false;
  Format format = Format::text;
};

struct MetricsOptions {
  std::string id;
  Format format = Format::text;
};

struct RenewOptions {
  std::string id;
  std::uint32_t seconds = 0;
};

struct ChangeOptions {
  std::string id;
  std::optional<std::vector<std::string>> allow;  // empty: no network
  std::vector<SecretOption> secrets;
  LimitOptions limits;
  std::optional<std::uint32_t> timeout_seconds;
  std::optional<std::uint32_t> idle_seconds;
  Format format = Format::text;
};

struct PauseOptions {
  std::vector<std::string> ids;  // not empty
};

struct ResumeOptions {
  std::vector<std::string> ids;  // not empty
};

struct DeleteOptions {
  std::vector<std::string> ids;  // not empty
};

using Options = std::variant<CreateOptions, ListOptions, GetOptions, ExecOptions, ShellOptions,
                             CopyOptions, ListFilesOptions, RemoveFileOptions, FileUrlOptions,
                             WatchOptions, ProcessesOptions, LogsOptions, KillOptions, PortOptions,
                             TokenOptions, EventsOptions, MetricsOptions, RenewOptions,
                             ChangeOptions, PauseOptions, ResumeOptions, DeleteOptions>;

}  // namespace server::client
