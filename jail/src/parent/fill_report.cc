#include "parent/fill_report.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdint>

namespace jail {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// A century, so that sums of what a report says stay numbers.
constexpr std::uint64_t longest_us = 100ull * 366 * 24 * 3600 * 1'000'000;

microseconds bounded(std::uint64_t us) { return microseconds(std::min(us, longest_us)); }
microseconds as_microseconds(std::uint64_t ns) { return bounded(ns / 1000); }

void judge_wait_status(const wire::Message& message, milliseconds cpu_limit, ExitReport& report) {
  if (message.wait_code == CLD_EXITED) {
    report.ended = Ended::exited;
    report.exit_code = message.wait_status;
    return;
  }
  report.signal = message.wait_status;
  const bool out_of_cpu = report.usage.cpu_user + report.usage.cpu_system >= cpu_limit;
  if ((report.signal == SIGXCPU || report.signal == SIGKILL) && out_of_cpu) {
    report.ended = Ended::timed_out;  // RLIMIT_CPU was quicker than init
  } else {
    report.ended = report.signal == SIGSYS ? Ended::violation : Ended::signaled;
  }
}

}  // namespace

void fill_report(const wire::Message& message, milliseconds cpu_limit, ExitReport& report) {
  report.usage.cpu_user = bounded(message.cpu_user_us);
  report.usage.cpu_system = bounded(message.cpu_system_us);
  report.usage.memory_peak_bytes = message.memory_peak_bytes;
  report.usage.processes_at_memory_limit = message.processes;
  report.phases.started = as_microseconds(message.started_ns);
  report.phases.ran = as_microseconds(message.ran_ns);
  report.phases.ended = as_microseconds(message.ended_ns);
  report.exit_code = -1;
  report.signal = 0;
  if (message.cause == wire::cause_none) {
    judge_wait_status(message, cpu_limit, report);
    return;
  }
  report.signal = SIGKILL;
  switch (message.cause) {
    case wire::cause_memory:
      report.ended = Ended::out_of_memory;
      break;
    case wire::cause_cancelled:
      report.ended = Ended::cancelled;
      break;
    default:
      report.ended = Ended::timed_out;
      break;
  }
}

}  // namespace jail
