// agent-sandbox doctor: can this host run jails, and what holds their limits.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jail/exit_report.h"
#include "runtime/config/environment.h"
#include "server/cli/arguments.h"
#include "server/cli/host_checks.h"
#include "server/cli/host_speed.h"
#include "server/cli/terminal.h"

namespace server {

struct Diagnosis {
  std::vector<Check> checks;
  Host host;
  std::optional<HostSpeed> speed;           // none where it could not be measured
  std::optional<jail::Enforcement> limits;  // as a run in a jail had them

  bool jails_run() const;
};

std::string describe(const Diagnosis& diagnosis, const std::string& version,
                     Colours colours = Colours::none);
std::string describe_json(const Diagnosis& diagnosis, const std::string& version);

// Returns the exit status: 0 where jails can run, or where the speed that was asked for alone was
// measured. To be called while there is only one thread.
int doctor(const DoctorOptions& options, runtime::Environment environment,
           const std::string& version);

}  // namespace server
