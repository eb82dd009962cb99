// jail::ExitReport for C.
#pragma once

#include "jail/exit_report.h"
#include "jail_c/jail.h"

namespace jail::c {

jail_report report_of(const ExitReport& report);

}  // namespace jail::c
