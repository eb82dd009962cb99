// The requests about living sandboxes, and their fields.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "jail/network.h"
#include "jail/process.h"
#include "runtime/sandbox/run_request.h"
#include "runtime/service/field.h"
#include "runtime/service/network_secrets.h"
#include "runtime/service/volume_requests.h"

namespace runtime {

inline constexpr std::size_t max_path_bytes = 4096;
inline constexpr std::uint32_t max_list_depth = 16;  // levels of directories
inline constexpr std::uint32_t max_terminal_side = 1000;

using Metadata = std::map<std::string, std::string, std::less<>>;

// The limits of a sandbox that can be changed while it lives.
struct SandboxLimits {
  std::uint32_t memory_mb = 256;
  std::uint32_t processes = 128;
  std::uint32_t disk_mb = 64;
  std::uint32_t cpu_percent = 0;  // of one processor; 0: as the operator has it for each jail
};

// New limits; one that is not set stays.
struct SandboxLimitChange {
  std::optional<std::uint32_t> memory_mb;
  std::optional<std::uint32_t> processes;
  std::optional<std::uint32_t> disk_mb;
  std::optional<std::uint32_t> cpu_percent;
};

inline constexpr std::uint32_t max_sandbox_processes = 1024;

struct SandboxRequest {
  std::string template_name;  // empty: none
  std::string name;           // empty: none
  std::vector<std::pair<std::string, std::string>> env;
  std::string working_directory = "/workspace";
  Metadata metadata;
  std::uint32_t memory_mb = 256;
  std::uint32_t processes = 128;
  std::uint32_t disk_mb = 64;
  std::uint32_t cpu_percent = 0;  // as in SandboxLimits
  bool is_on_disk = false;        // /workspace is a directory of the host, and no memory
  std::chrono::milliseconds timeout{std::chrono::hours(1)};
  std::optional<std::chrono::milliseconds> idle;
  bool pauses_at_its_end = false;  // when its lifetime is over, or it is idle
  bool resumes_on_demand = true;
  SandboxNetwork network;
  std::vector<VolumeMount> volumes;
  bool is_warm = false;              // the zygote of its template forks programs into it
  std::vector<std::uint32_t> ports;  // where servers in it will listen
};

// Fields that are not set keep their values.
struct SandboxChange {
  std::optional<std::chrono::milliseconds> timeout;  // from now on
  std::optional<std::optional<std::chrono::milliseconds>> idle;
  std::optional<Metadata> metadata;
  std::optional<SandboxNetwork> network;  // the rules of it, and its secrets
  std::optional<SandboxLimitChange> limits;
};

struct ProcessRequest {
  std::vector<std::string> argv;     // of a command; empty: it is code
  std::string code;                  // empty: it is a command
  std::optional<Language> language;  // of code; nullopt: the template's
  std::vector<std::string> args;     // of code
  std::vector<std::pair<std::string, std::string>> env;
  std::string working_directory;  // empty: that of the sandbox
  std::string standard_input;
  bool keep_stdin_open = false;
  std::optional<jail::TerminalSize> terminal;
  std::optional<std::chrono::milliseconds> timeout;
  bool background = false;
  OutputEncoding output_encoding = OutputEncoding::utf8;
};

struct InputRequest {
  std::string data;  // encoded as `encoding` says
  OutputEncoding encoding = OutputEncoding::utf8;
  bool close = false;
};

struct SignalRequest {
  int number = 0;
  bool group = false;
};

struct ResizeRequest {
  std::uint32_t columns = 0;
  std::uint32_t rows = 0;
};

struct FileRequest {
  std::string move_to;  // empty: the file is not moved
  bool make_directory = false;
};

std::span<const RequestField<SandboxRequest>> sandbox_fields() noexcept;
// Where what is meant by a field that sandbox_fields() lacks is found; for read_fields().
Complaint elsewhere_than_in_sandbox(std::string_view name);
// The fields in the member `limits` of sandbox_fields().
std::span<const RequestField<SandboxRequest>> sandbox_limit_fields() noexcept;
std::span<const RequestField<SandboxChange>> sandbox_change_fields() noexcept;
// The fields in the member `limits` of sandbox_change_fields().
std::span<const RequestField<SandboxLimitChange>> sandbox_limit_change_fields() noexcept;
std::span<const RequestField<ProcessRequest>> process_fields() noexcept;
std::span<const RequestField<InputRequest>> process_input_fields() noexcept;
std::span<const RequestField<SignalRequest>> process_signal_fields() noexcept;
// The program of a job has one group alone, which is always meant.
std::span<const RequestField<SignalRequest>> job_signal_fields() noexcept;
std::span<const RequestField<ResizeRequest>> process_resize_fields() noexcept;
std::span<const RequestField<FileRequest>> file_action_fields() noexcept;

SandboxLimits limits_of(const SandboxRequest& request);

SandboxRequest default_sandbox(const RequestRules& rules);

// Check the relations between fields, and that required ones are set. A complaint begins with the
// field's name.
std::optional<Refusal> check_sandbox(const SandboxRequest& request);
// Checks the limit on processes of a warm sandbox, whether new or changed.
std::optional<Refusal> check_warm_processes(std::uint32_t processes);
// The most that disk_mb may be where the disk is memory.
inline constexpr std::uint32_t max_memory_disk_mb = 1024;
std::optional<Refusal> check_process(const ProcessRequest& request);
std::optional<Refusal> check_input(InputRequest& request);  // also decodes base64 in `data`
std::optional<Refusal> check_file_action(const FileRequest& request);

// The number of columns or rows of a terminal. An empty `default_json` means that it must be given.
constexpr Field side_field(std::string_view name, std::string_view default_json = {}) {
  return {.name = name,
          .type = Field::Type::integer,
          .min = 1,
          .max = max_terminal_side,
          .default_json = default_json};
}

bool is_absolute_path(std::string_view text);

// Accepts 26 characters: 128 bits in lower-case base 32.
bool is_sandbox_id(std::string_view text) noexcept;

}  // namespace runtime
