// Jobs as values: what is known when one starts, when it ends, and what is shown of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace runtime {

using JobTime = std::chrono::system_clock::time_point;

// The status of a job that waits or runs, and that of one whose program could not be run to its
// end by a fault that was not its own. All others are those of a RunResult or of a TaskResult.
inline constexpr const char* job_running = "running";
inline constexpr const char* job_failed = "failed";

// What a job is: one program, or a task for the agent.
inline constexpr const char* code_job = "code";
inline constexpr const char* task_job = "task";

struct JobStart {
  std::string id;
  std::string owner;  // Jobs::owner_of() the key that asked; empty where no keys are configured
  std::string kind = code_job;
  std::string language;
  std::string code_sha256;  // of the program, or of the task
  JobTime created;
};

struct JobEnd {
  std::string status;
  std::optional<double> execution_time_ms;
  std::string record;  // what is kept of its result, any bytes; empty: there is none
  std::string error;   // why there is none
  JobTime finished;
};

struct JobSummary {
  std::string id;
  std::string kind;
  std::string status;
  std::string language;
  std::string code_sha256;
  JobTime created;
  std::optional<JobTime> finished;
  std::optional<double> execution_time_ms;
  std::string error;
};

struct JobRecord {
  JobSummary summary;
  std::string record;
  // What Jobs::checkpoint() was told, in order of the places, as long as there is no record.
  std::vector<std::string> checkpoints;
};

struct JobQuery {
  std::optional<std::string> owner;   // nothing: everybody's
  std::optional<std::string> status;  // nothing: all
  std::uint32_t limit = 50;
  std::optional<std::string> cursor;  // JobPage::next_cursor of the page before
};

struct JobPage {
  std::vector<JobSummary> jobs;            // newest first
  std::optional<std::string> next_cursor;  // nothing: this was the last page
};

}  // namespace runtime
