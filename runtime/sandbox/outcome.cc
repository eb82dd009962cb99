#include "runtime/sandbox/outcome.h"

#include <signal.h>
#include <string.h>

#include <cmath>
#include <utility>

#include "runtime/json/writer.h"
#include "runtime/sandbox/run_request.h"

namespace runtime {
namespace {

using std::chrono::duration;
using std::chrono::milliseconds;

double seconds(milliseconds time) { return duration<double>(time).count(); }

Outcome of_time(const RunRequest& request, const jail::ExitReport& report, milliseconds cpu,
                const Ceilings& ceilings) {
  Outcome outcome;
  const auto used = report.usage.cpu_user + report.usage.cpu_system;
  // Where one core was busy all the time both limits are met at about the same moment; the deadline
  // is named.
  const bool by_cpu = used >= cpu && report.phases.ran < request.timeout * 9 / 10;
  outcome.code = by_cpu ? "timeout_cpu" : "timeout_wall";
  outcome.met = RequestLimit::time;
  outcome.limit = seconds(by_cpu ? cpu : request.timeout);
  outcome.used = duration<double>(by_cpu ? used : report.phases.ran).count();
  outcome.asked = seconds(request.timeout);
  outcome.ceiling = seconds(ceilings.timeout);
  outcome.cause = "the program " +
                  std::string(by_cpu ? "used up the " : "did not end within the ") +
                  json::number_text(outcome.limit) + " s " + (by_cpu ? "of processor time " : "") +
                  "that it may " + (by_cpu ? "use" : "run");
  return outcome;
}

Outcome of_memory(const RunRequest& request, const jail::ExitReport& report,
                  const Ceilings& ceilings) {
  Outcome outcome;
  outcome.code = "out_of_memory";
  outcome.met = RequestLimit::memory;
  outcome.limit = request.memory_limit_mb;
  const double peak_mb = static_cast<double>(report.usage.memory_peak_bytes) / (1u << 20);
  outcome.used = std::round(peak_mb * 100) / 100;
  outcome.asked = outcome.limit;
  outcome.ceiling = ceilings.memory_limit_mb;
  outcome.cause = "the program, its processes and its files needed more than the " +
                  json::number_text(outcome.limit) + " MB of memory that they may have" +
                  held_by(report.usage.processes_at_memory_limit);
  return outcome;
}

Outcome plain(std::string_view code, std::string cause) {
  Outcome outcome;
  outcome.code = code;
  outcome.cause = std::move(cause);
  return outcome;
}

}  // namespace

std::string signal_name(int signal) {
  const char* abbreviation = ::sigabbrev_np(signal);
  return abbreviation == nullptr ? "SIGRTMIN+" + std::to_string(signal - SIGRTMIN)
                                 : std::string("SIG") + abbreviation;
}

Outcome outcome_of(const RunRequest& request, const jail::ExitReport& report, milliseconds cpu,
                   const Ceilings& ceilings) {
  switch (report.ended) {
    case jail::Ended::exited:
      return plain(report.exit_code == 0 ? "success" : "exit_status",
                   "the program ended with exit status " + std::to_string(report.exit_code));
    case jail::Ended::signaled:
      return plain("signal", "the program died of " + signal_name(report.signal));
    case jail::Ended::timed_out:
      return of_time(request, report, cpu, ceilings);
    case jail::Ended::out_of_memory:
      return of_memory(request, report, ceilings);
    case jail::Ended::violation:
      return plain("policy_violation", "the program made a system call that is forbidden here");
    case jail::Ended::cancelled:
      return cancelled_outcome();
    case jail::Ended::killed:
      break;
  }
  return plain("killed", "the program was killed from outside of its jail");
}

std::string code_of_today(const std::string& code) {
  if (code == "wall_time") return "timeout_wall";
  if (code == "cpu_time") return "timeout_cpu";
  if (code == "system_call") return "policy_violation";
  return code;
}

std::string held_by(std::uint32_t processes) {
  if (processes == 0) return {};
  return ", in " + std::to_string(processes) + (processes == 1 ? " process" : " processes");
}

Outcome cancelled_outcome() { return plain("cancelled", "the program was cancelled"); }

std::string remedy_of(const Outcome& outcome, const LimitNames& names) {
  if (!outcome.met) return {};
  std::string name(names.idle);
  if (*outcome.met == RequestLimit::time) name = names.time;
  if (*outcome.met == RequestLimit::memory) name = names.memory;
  if (*outcome.met == RequestLimit::disk) name = names.disk;
  if (outcome.asked >= outcome.ceiling) return name + " is at its maximum: let the program do less";
  return "raise " + name + ", up to " + json::number_text(outcome.ceiling);
}

}  // namespace runtime
