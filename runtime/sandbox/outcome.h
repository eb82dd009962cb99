// The reason for which a program ended, for callers that want to act on it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "jail/exit_report.h"
#include "runtime/config/config.h"

namespace runtime {

struct RunRequest;

// The limits that a request sets.
enum class RequestLimit : std::uint8_t { time, memory, idle, disk };

struct Outcome {
  // success, exit_status, timeout_wall, timeout_cpu, out_of_memory, signal, policy_violation,
  // killed or cancelled.
  std::string code = "killed";
  std::string cause;  // a sentence whose subject is "the program", without its full stop
  // The limit of the request that was met; where none was, the numbers mean nothing. They are
  // seconds or MB. Processor time is a share of the requested time, so `limit` may differ from
  // `asked`.
  std::optional<RequestLimit> met;
  double limit = 0;
  double used = 0;
  double asked = 0;
  double ceiling = 0;  // the most that a request may ask for
};

// Derives the outcome from `report` for the program of `request`, which may use `cpu` of processor
// time. `ceilings` are the most that any request may ask for.
Outcome outcome_of(const RunRequest& request, const jail::ExitReport& report,
                   std::chrono::milliseconds cpu, const Ceilings& ceilings);

// The outcome of a run that was cancelled, whether or not its program had started.
Outcome cancelled_outcome();

// The code of an outcome, as it is called now, for one that an earlier version kept or sent.
std::string code_of_today(const std::string& code);

// The end of a sentence about memory: ", in 3 processes". Empty for 0, which means that the number
// is not known.
std::string held_by(std::uint32_t processes);

// Returns a name such as "SIGSEGV".
std::string signal_name(int signal);

// The names of a request's limits at the front door that it came by.
struct LimitNames {
  std::string_view time = "timeout_seconds";
  std::string_view memory = "memory_limit_mb";
  std::string_view idle = "idle_seconds";
  std::string_view disk = "disk_mb";
};

// The remedy for the caller, a sentence without its full stop: "raise memory_limit_mb, up to 2048".
// Empty where there is none.
std::string remedy_of(const Outcome& outcome, const LimitNames& names = {});

}  // namespace runtime
