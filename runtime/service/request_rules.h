// What a request may ask for, whichever door it comes through.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/config/config.h"
#include "runtime/refusals/refusal.h"
#include "runtime/sandbox/input_files.h"
#include "runtime/sandbox/program_root.h"
#include "runtime/sandbox/run_request.h"
#include "runtime/sandbox/template.h"

namespace runtime {

inline constexpr std::size_t max_code_bytes = 1u << 20;
inline constexpr std::size_t max_args = 256;
inline constexpr std::size_t max_env = 256;
inline constexpr std::size_t max_artifact_globs = 64;
inline constexpr std::size_t max_destinations = 64;
// The kernel takes no single argument beyond this, and starts a program with a few times as much.
inline constexpr std::size_t max_args_env_bytes = 128u << 10;

inline constexpr std::size_t max_task_characters = 10'000;
inline constexpr std::size_t max_tests_bytes = 256u << 10;

struct TaskRules {
  std::uint32_t default_max_attempts = 3;
  // Maps the name of each known provider to the reason why it cannot be used, or to nothing.
  std::map<std::string, std::string, std::less<>> providers;
};

struct RequestRules {
  std::chrono::milliseconds default_timeout{5000};
  std::uint32_t default_memory_limit_mb = 256;
  Ceilings ceilings;
  // How long a sandbox may live.
  std::chrono::milliseconds max_lifetime{std::chrono::hours(24)};
  std::vector<std::string> network = {};  // what egress a request may name; empty: none
  // Why programs of a language cannot run here; the others can.
  std::map<Language, std::string> why_no_language;
  std::vector<Template> templates;  // what a request may name
  InputFileLimits files = {};       // of a program, together
  std::string why_no_task;          // why no task is taken; empty: tasks are
  TaskRules tasks = {};
  std::vector<std::string> suites = {};  // that a benchmark may name
};

// What `config` allows. `providers`: the names of those that tasks may use.
RequestRules rules_of(const Config& config, const ProgramRoot& root,
                      std::vector<Template> templates,
                      const std::vector<std::string>& providers = {});

// What is expected instead, for the caller; nothing: it is fine.
using Complaint = std::optional<std::string>;

// "none, data, python": the templates that a request may name, of all languages or of one.
std::string template_names(const RequestRules& rules, std::optional<Language> language);

// What the kernel counts of `args` and `env` together.
std::size_t bytes_of_arguments(const std::vector<std::string>& args,
                               const std::vector<std::pair<std::string, std::string>>& env);

// Refuses a request that breaks a rule. `complaint` begins with a field's name.
Refusal refuse_request(std::string complaint);

// Where those are too many bytes. `names`: of both fields.
std::optional<Refusal> check_arguments(std::string_view names, const std::vector<std::string>& args,
                                       const std::vector<std::pair<std::string, std::string>>& env);

// `rule`: a destination of egress. It has to be covered by what the operator allows, which a caller
// may know.
Complaint check_destination(const std::string& rule, const RequestRules& rules);

// What has to hold between the fields of a program. The detail begins with the field's name.
std::optional<Refusal> check_program(const RunRequest& request, const RequestRules& rules);

// Counts code points of UTF-8.
std::size_t characters_of(std::string_view text);

// 1 .. max_task_characters characters of UTF-8.
bool is_task_text(std::string_view text);

}  // namespace runtime
