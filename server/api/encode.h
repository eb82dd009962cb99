// The health of the server, as JSON text.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/sandbox/program_root.h"
#include "runtime/sandbox/runner.h"

namespace server {

struct HealthDetails {
  std::string version;
  std::chrono::duration<double> uptime;
  runtime::RunnerState runner;
  runtime::ProgramRoot root;
};

// Without details for clients that show no key where one is configured.
std::string encode_health(std::string_view status, const std::optional<HealthDetails>& details);

}  // namespace server
