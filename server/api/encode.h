// What the API answers with, as JSON text.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/sandbox/program_root.h"
#include "runtime/sandbox/run_request.h"
#include "runtime/sandbox/run_result.h"
#include "runtime/sandbox/runner.h"
#include "server/http/utc_text.h"

namespace server {

struct Job {
  std::string id;  // a UUID
  std::chrono::system_clock::time_point created;
};

Job make_job();

double milliseconds(std::chrono::microseconds duration);

std::string encode_result(const runtime::RunResult& result, const Job& job,
                          runtime::OutputEncoding encoding);

struct HealthDetails {
  std::string version;
  std::chrono::duration<double> uptime;
  runtime::RunnerState runner;
  runtime::ProgramRoot root;
};

// Without details for those who show no key where one is configured.
std::string encode_health(std::string_view status, const std::optional<HealthDetails>& details);

}  // namespace server
