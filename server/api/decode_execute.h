// The body of POST /execute into a RunRequest, with every rule that the interface documents.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/config/config.h"
#include "runtime/sandbox/run_request.h"
#include "runtime/sandbox/template.h"
#include "server/http/message.h"

namespace server {

inline constexpr std::size_t max_code_bytes = 1u << 20;
inline constexpr std::size_t max_args = 256;
inline constexpr std::size_t max_env = 256;
inline constexpr std::size_t max_artifact_globs = 64;
// The kernel takes no single argument beyond this, and starts a program with a few times as much.
inline constexpr std::size_t max_args_env_bytes = 128u << 10;

struct ExecuteRules {
  std::chrono::milliseconds default_timeout{5000};
  std::uint32_t default_memory_limit_mb = 256;
  runtime::Ceilings ceilings;
  // Why programs of a language cannot run here; the others can.
  std::map<runtime::Language, std::string> why_no_language;
  std::vector<runtime::Template> templates;  // what a request may name
  std::string why_no_task;                   // what a request with `task` is answered with, 424
};

// The Response is a problem for the client, 400 or 424. Nothing in the body is ever ignored.
std::variant<runtime::RunRequest, Response> decode_execute(std::string_view body,
                                                           const ExecuteRules& rules);

}  // namespace server
