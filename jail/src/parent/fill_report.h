// Translates init's report of an end into the public report.
#pragma once

#include <chrono>

#include "child/wire.h"
#include "jail/exit_report.h"

namespace jail {

// Fills in everything but the enforcement. `cpu_limit` serves to tell a kill by RLIMIT_CPU from
// another one.
void fill_report(const wire::Message& message, std::chrono::milliseconds cpu_limit,
                 ExitReport& report);

}  // namespace jail
