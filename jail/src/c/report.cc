#include "c/report.h"

#include "c/boundary.h"

namespace jail::c {
namespace {

jail_enforcer number(Enforcer enforcer) { return static_cast<jail_enforcer>(enforcer); }

}  // namespace

jail_report report_of(const ExitReport& report) {
  jail_report told{};
  told.ended = static_cast<jail_ended>(report.ended);
  told.exit_code = report.exit_code;
  told.signal = report.signal;
  told.memory_by = number(report.enforcement.memory);
  told.processes_by = number(report.enforcement.processes);
  told.cpu_by = number(report.enforcement.cpu);
  told.cpu_user_us = count_us(report.usage.cpu_user);
  told.cpu_system_us = count_us(report.usage.cpu_system);
  told.memory_peak_bytes = report.usage.memory_peak_bytes;
  told.processes_at_memory_limit = report.usage.processes_at_memory_limit;
  told.set_up_us = count_us(report.phases.set_up);
  told.started_us = count_us(report.phases.started);
  told.ran_us = count_us(report.phases.ran);
  told.ended_us = count_us(report.phases.ended);
  return told;
}

}  // namespace jail::c
