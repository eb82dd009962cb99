// A task for the agent, its outcome and all attempts, as values.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jail/collect.h"
#include "runtime/llm/chat.h"
#include "runtime/sandbox/run_request.h"
#include "runtime/sandbox/run_result.h"

namespace runtime::agent {

inline constexpr std::size_t max_task_bytes = 40'000;  // enough for 10,000 characters
inline constexpr std::uint32_t max_allowed_attempts = 10;
inline constexpr std::uint32_t max_candidates = 8;

enum class Team : std::uint8_t { coder, swarm };
// Whether a model writes tests before the first program, where the caller sent none.
enum class TestsByModel : std::uint8_t { none, first };
enum class Lessons : std::uint8_t { used, off };

// The budget of a task; the first part that is used up ends it.
struct TaskBudget {
  std::uint64_t tokens = 400'000;           // input and output of all calls
  std::chrono::milliseconds time{600'000};  // wall-clock time
  std::uint64_t prompt_tokens = 24'000;     // of one prompt; older attempts are shortened first
};

struct TaskRequest {
  std::string task;
  std::uint32_t max_attempts = 3;           // rounds; the `candidates` of one count as one
  std::string tests;                        // Python appended to each program: it must exit with 0
  std::vector<InputFile> files;             // present before each program starts
  std::vector<std::string> artifacts;       // globs of the files to return
  std::chrono::milliseconds timeout{5000};  // of each program
  std::uint32_t memory_limit_mb = 256;      // for each program
  Team team = Team::coder;
  std::uint32_t candidates = 1;
  TestsByModel tests_by_model = TestsByModel::none;
  Lessons lessons = Lessons::used;
  std::string provider;  // empty: the configured provider
  std::string model;     // empty: the provider's default
  TaskBudget budget;
};

struct Critique {
  std::string diagnosis;
  std::string fix;
  bool should_retry = true;
  double confidence = 0;  // 0 .. 1
};

struct Vote {
  std::string role;  // "critic"
  bool approves = false;
  double confidence = 0;
  std::vector<std::string> findings;
};

// Whether the best of several candidates that passed has been run once more.
enum class Verification : std::uint8_t { needless, lacking, passed };

struct Attempt {
  std::uint32_t number = 1;  // from 1
  std::string code;
  std::string reasoning;
  std::vector<std::string> dependencies;
  std::optional<RunResult> result;   // nullopt: it was not run
  std::optional<Critique> critique;  // nullopt: it passed, or no critic was asked
  std::vector<Vote> votes;           // the votes of a swarm
  llm::Usage usage;                  // usage of the calls that made and judged it
  std::uint32_t candidate = 0;       // number of the candidate, from 0
  Verification verification = Verification::needless;

  // True only if the jail reported success for as many runs as were required.
  bool solved() const noexcept {
    return result && result->status == Status::success && verification != Verification::lacking;
  }
};

enum class TaskStatus : std::uint8_t { completed, failed, cancelled };
std::string_view to_string(TaskStatus status) noexcept;

struct TaskResult {
  TaskStatus status = TaskStatus::failed;
  std::string output;  // output of the program that solved it, else of the last one
  std::string code;
  std::vector<std::string> dependencies;
  std::string reasoning;
  std::vector<Attempt> history;
  jail::Collection artifacts;  // of the program that solved it; those in the history have none
  std::uint32_t attempts = 0;  // number of executions
  std::map<std::string, llm::Usage> usage;  // by provider
  std::chrono::milliseconds execution_time{0};
  std::string error;  // why the task is not solved; empty if it is
  // The failure of this host that ended the task; else empty. For the operator only: it may name
  // paths of the host.
  std::string host_error;
  int provider_status = 0;  // HTTP status, where a provider's failure ended the task; else 0

  bool success() const noexcept { return status == TaskStatus::completed; }
};

}  // namespace runtime::agent
