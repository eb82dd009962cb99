// A task for the agent, what became of it, and everything in between, as values.
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

inline constexpr std::size_t max_task_bytes = 40'000;  // of 10,000 characters
inline constexpr std::uint32_t max_allowed_attempts = 10;
inline constexpr std::uint32_t max_candidates = 8;

enum class Team : std::uint8_t { coder, swarm };
// Whether a model writes tests before anything is solved, where the caller sent none.
enum class TestsByModel : std::uint8_t { none, first };
enum class Lessons : std::uint8_t { used, off };

// What a task may cost; the first that is used up ends it.
struct TaskBudget {
  std::uint64_t tokens = 400'000;           // in and out, of all calls
  std::chrono::milliseconds time{600'000};  // by the wall clock
  std::uint64_t prompt_tokens = 24'000;     // of one prompt; older attempts are shortened first
};

struct TaskRequest {
  std::string task;
  std::uint32_t max_attempts = 3;      // executions; of `candidates` at once each counts one round
  std::string tests;                   // Python appended to each program: it must exit 0
  std::vector<InputFile> files;        // there before each program starts
  std::vector<std::string> artifacts;  // globs of what is wanted of the program that solves it
  std::chrono::milliseconds timeout{5000};  // of each program
  std::uint32_t memory_limit_mb = 256;      // of each program
  Team team = Team::coder;
  std::uint32_t candidates = 1;
  TestsByModel tests_by_model = TestsByModel::none;
  Lessons lessons = Lessons::used;
  std::string provider;  // empty: the configured one
  std::string model;     // empty: the provider's
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

// Of the best of several candidates that have passed: it is run once more.
enum class Verification : std::uint8_t { needless, lacking, passed };

struct Attempt {
  std::uint32_t number = 1;  // from 1
  std::string code;
  std::string reasoning;
  std::vector<std::string> dependencies;
  std::optional<RunResult> result;   // nothing: it was not run
  std::optional<Critique> critique;  // nothing: it passed, or nobody was asked
  std::vector<Vote> votes;           // of a swarm
  llm::Usage usage;                  // of the calls that made and judged it
  std::uint32_t candidate = 0;       // which of the candidates this is, from 0
  Verification verification = Verification::needless;

  // As the jail reported it, and as often as had to be.
  bool solved() const noexcept {
    return result && result->status == Status::success && verification != Verification::lacking;
  }
};

enum class TaskStatus : std::uint8_t { completed, failed, cancelled };
std::string_view to_string(TaskStatus status) noexcept;

struct TaskResult {
  TaskStatus status = TaskStatus::failed;
  std::string output;  // what the program that solved it, else the last one, wrote
  std::string code;
  std::vector<std::string> dependencies;
  std::string reasoning;
  std::vector<Attempt> history;
  jail::Collection artifacts;  // of the program that solved it; those in the history have none
  std::uint32_t attempts = 0;  // executions
  std::map<std::string, llm::Usage> usage;  // by provider
  std::chrono::milliseconds execution_time{0};
  std::string error;  // why it is not solved; empty when it is
  // What this host would not do, where that ended it; else empty. For its owner: may name its
  // paths.
  std::string host_error;
  int provider_status = 0;  // of HTTP, where a provider's failure ended it; else 0

  bool success() const noexcept { return status == TaskStatus::completed; }
};

}  // namespace runtime::agent
