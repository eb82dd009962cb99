// What init reports of an end, as the public report says it.
#pragma once

#include <chrono>

#include "child/wire.h"
#include "jail/exit_report.h"

namespace jail {

// Everything but the enforcement. `cpu_limit` is what tells a kill by RLIMIT_CPU from another one.
void fill_report(const wire::Message& message, std::chrono::milliseconds cpu_limit,
                 ExitReport& report);

}  // namespace jail
