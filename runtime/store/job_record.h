// Jobs as values: what is known at the start of one, at its end, and what is shown about it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace runtime {

using JobTime = std::chrono::system_clock::time_point;

// The status of a job that waits or runs, and that of a job whose program could not be run to its
// end for a reason outside of the program. All other statuses are those of a RunResult or of a
// TaskResult.
inline constexpr const char* job_running = "running";
inline constexpr const char* job_failed = "failed";

// The kind of a job: one program, or a task for the agent.
inline constexpr const char* code_job = "code";
inline constexpr const char* task_job = "task";

struct JobStart {
  std::string id;
  std::string owner;  // Jobs::owner_of() the key that made the request; empty where no keys are
                      // configured
  std::string kind = code_job;
  std::string language;
  std::string code_sha256;  // of the program, or of the task's text
  JobTime created;
};

struct JobEnd {
  std::string status;
  std::optional<double> execution_time_ms;
  std::string record;  // the record of its result, any bytes; empty: there is none
  std::string error;   // the reason why there is none
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
  // The records given to Jobs::checkpoint(), in the order of their places, as long as the job has
  // no record.
  std::vector<std::string> checkpoints;
};

struct JobQuery {
  std::optional<std::string> owner;   // nullopt: jobs of all owners
  std::optional<std::string> status;  // nullopt: all
  std::uint32_t limit = 50;
  std::optional<std::string> cursor;  // JobPage::next_cursor of the previous page
};

struct JobPage {
  std::vector<JobSummary> jobs;            // newest first
  std::optional<std::string> next_cursor;  // nullopt: this was the last page
};

}  // namespace runtime
