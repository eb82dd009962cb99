// The result of one program: a value, also when the program crashed or was killed.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jail/collect.h"
#include "jail/exit_report.h"
#include "runtime/sandbox/outcome.h"

namespace runtime {

enum class Status : std::uint8_t {
  success,        // exit status 0
  error,          // another exit status
  timeout,        // wall clock or CPU time used up
  out_of_memory,  // killed at the memory limit
  killed,         // died of a signal
  violation,      // killed by the seccomp policy
  cancelled,
};

std::string_view to_string(Status status) noexcept;

struct Timings {
  std::chrono::microseconds queued{0};   // waiting for a place
  std::chrono::microseconds started{0};  // from its place to the guest's first instruction
  std::chrono::microseconds ran{0};      // from the guest's first instruction to its end
};

// The decision on connections that a program asked its proxy for.
struct NetworkDecision {
  enum class Kind : std::uint8_t {
    refused,
    failed,  // allowed, but no connection was made
    allowed,
  };

  Kind kind = Kind::refused;
  std::string destination;        // as the program named it, "pypi.org:443"; printable ASCII
  std::string reason;             // the rule that allows it, or why it came to nothing
  std::uint64_t connections = 1;  // number of connections that this entry stands for
};

std::string_view to_string(NetworkDecision::Kind kind) noexcept;

struct NetworkUse {
  std::vector<NetworkDecision> decisions;  // bounded, the oldest first
  std::uint64_t total = 0;                 // number of requested connections, listed or not
};

struct RunResult {
  Status status = Status::error;
  Outcome outcome;                    // the reason for the status
  std::optional<int> exit_code;       // set only when the program exited by itself
  std::optional<std::string> signal;  // "SIGSEGV"; set only with killed and violation
  std::string standard_output;        // raw bytes, at most the output cap
  std::string standard_error;
  bool stdout_truncated = false;
  bool stderr_truncated = false;
  bool warm = false;           // it ran in a jail that waited, or in a fork of a warm interpreter
  std::string template_name;   // the template of its jail, or of its root and policy; empty: none
  jail::Collection artifacts;  // empty when the run was cancelled
  Timings timings;
  jail::Usage usage;
  jail::Enforcement enforcement;
  NetworkUse network;  // empty where the program had no network
};

}  // namespace runtime
