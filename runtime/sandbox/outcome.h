// Why a program came to its end, for callers that want to do something about it.
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

// A limit that a request sets.
enum class RequestLimit : std::uint8_t { time, memory, idle };

struct Outcome {
  // success, exit_status, wall_time, cpu_time, out_of_memory, signal, system_call, killed or
  // cancelled.
  std::string code = "killed";
  std::string cause;  // a sentence about "the program", without its full stop
  // The limit of the request that was met; where there is none, the numbers mean nothing. They are
  // seconds or MB. Processor time is a share of the time that the request asked for, so `limit` may
  // differ from `asked`.
  std::optional<RequestLimit> met;
  double limit = 0;
  double used = 0;
  double asked = 0;
  double ceiling = 0;  // the most that a request may ask for
};

// What `report` says of the program of `request`, which may use `cpu` of processor time. `ceilings`
// are the most that any request may ask for.
Outcome outcome_of(const RunRequest& request, const jail::ExitReport& report,
                   std::chrono::milliseconds cpu, const Ceilings& ceilings);

// The outcome of a run that was cancelled, whether or not its program had started.
Outcome cancelled_outcome();

// What a sentence about memory ends with: ", in 3 processes". Empty where there are 0, which is
// where their number is not known.
std::string held_by(std::uint32_t processes);

// "SIGSEGV"
std::string signal_name(int signal);

// How the limits of a request are called where it was made.
struct LimitNames {
  std::string_view time = "timeout_seconds";
  std::string_view memory = "memory_limit_mb";
  std::string_view idle = "idle_seconds";
};

// What the caller can do, a sentence without its full stop: "raise memory_limit_mb, up to 2048".
// Empty where nothing can be said.
std::string remedy_of(const Outcome& outcome, const LimitNames& names = {});

}  // namespace runtime
