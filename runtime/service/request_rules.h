// The rules for requests, whichever door they come through.
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
// The kernel accepts no single argument beyond this, and starts a program with a few times as much
// in all.
inline constexpr std::size_t max_args_env_bytes = 128u << 10;

inline constexpr std::size_t max_task_characters = 10'000;
inline constexpr std::size_t max_tests_bytes = 256u << 10;

struct TaskRules {
  std::uint32_t default_max_attempts = 3;
  // Maps the name of each known provider to the reason why it cannot be used, or to an empty text.
  std::map<std::string, std::string, std::less<>> providers;
};

struct RequestRules {
  std::chrono::milliseconds default_timeout{5000};
  std::uint32_t default_memory_limit_mb = 256;
  Ceilings ceilings;
  // The longest lifetime of a sandbox.
  std::chrono::milliseconds max_lifetime{std::chrono::hours(24)};
  double max_cpu = 1;  // the most processors that a sandbox may use
  // The largest disk of a sandbox that is a directory of the host; 0: there are none.
  std::uint32_t max_directory_mb = 0;
  std::vector<std::string> network = {};  // the egress rules that a request may name; empty: none
  // The reason why programs of a language cannot run here; languages without an entry can.
  std::map<Language, std::string> why_no_language;
  std::vector<Template> templates;  // the templates that a request may name
  InputFileLimits files = {};       // bounds on a program's files together
  std::string why_no_task;          // why no task is accepted; empty: tasks are
  TaskRules tasks = {};
  std::vector<std::string> suites = {};  // the suites that a benchmark may name
};

// The rules of `config`. `providers` are the names of those that tasks may use.
RequestRules rules_of(const Config& config, const ProgramRoot& root,
                      std::vector<Template> templates,
                      const std::vector<std::string>& providers = {});

// The expectation that a value does not meet, for the caller; std::nullopt: it is valid.
using Complaint = std::optional<std::string>;

// The names of the templates that a request may name, of all languages or of one: "none, data,
// python".
std::string template_names(const RequestRules& rules, std::optional<Language> language);

// The bytes of `args` and `env` together, as the kernel counts them.
std::size_t bytes_of_arguments(const std::vector<std::string>& args,
                               const std::vector<std::pair<std::string, std::string>>& env);

// The refusal of a request that breaks a rule. `complaint` begins with a field's name.
Refusal refuse_request(std::string complaint);

// Refuses arguments that have too many bytes. `names` are those of both fields.
std::optional<Refusal> check_arguments(std::string_view names, const std::vector<std::string>& args,
                                       const std::vector<std::pair<std::string, std::string>>& env);

// Checks a destination of egress. It must be covered by the operator's rules, which a caller may
// know.
Complaint check_destination(const std::string& rule, const RequestRules& rules);

// Checks the relations between the fields of a program. The detail begins with the field's name.
std::optional<Refusal> check_program(const RunRequest& request, const RequestRules& rules);

// Counts code points of UTF-8.
std::size_t characters_of(std::string_view text);

// Accepts 1 .. max_task_characters characters of UTF-8.
bool is_task_text(std::string_view text);

}  // namespace runtime
