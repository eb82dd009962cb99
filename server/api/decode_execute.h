// The body of POST /execute into a RunRequest or a TaskRequest, with every rule that the interface
// documents.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/agent/task.h"
#include "runtime/config/config.h"
#include "runtime/sandbox/run_request.h"
#include "runtime/sandbox/template.h"
#include "server/http/message.h"

namespace server {

inline constexpr std::size_t max_code_bytes = 1u << 20;
inline constexpr std::size_t max_args = 256;
inline constexpr std::size_t max_env = 256;
inline constexpr std::size_t max_artifact_globs = 64;
inline constexpr std::size_t max_destinations = 64;
// The kernel takes no single argument beyond this, and starts a program with a few times as much.
inline constexpr std::size_t max_args_env_bytes = 128u << 10;

struct TaskRules {
  std::uint32_t default_max_attempts = 3;
  // By the name of each provider that there is: why it cannot be used; empty: it can.
  std::map<std::string, std::string, std::less<>> providers;
};

struct ExecuteRules {
  std::chrono::milliseconds default_timeout{5000};
  std::uint32_t default_memory_limit_mb = 256;
  runtime::Ceilings ceilings;
  std::vector<std::string> network = {};  // what egress a request may name; empty: none
  // Why programs of a language cannot run here; the others can.
  std::map<runtime::Language, std::string> why_no_language;
  std::vector<runtime::Template> templates;  // what a request may name
  std::string why_no_task;  // what a request with `task` is answered with, 424; empty: it is taken
  TaskRules tasks = {};
  std::vector<std::string> suites = {};  // that POST /benchmark may name
};

// The Response is a problem for the client, 400 or 424. Nothing in the body is ever ignored.
using Decoded = std::variant<runtime::RunRequest, runtime::agent::TaskRequest, Response>;
Decoded decode_execute(std::string_view body, const ExecuteRules& rules);

// Whether a request with `code` may have it.
bool is_code_field(std::string_view name);

}  // namespace server
