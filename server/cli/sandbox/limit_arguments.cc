#include "server/cli/sandbox/limit_arguments.h"

#include "runtime/service/sandbox_requests.h"
#include "server/cli/common_arguments.h"

namespace server::client {
namespace {

const runtime::Field& limit_of(std::string_view name) {
  return *runtime::find_field(runtime::sandbox_limit_fields(), name);
}

}  // namespace

void add_limits(CLI::App& command, RawSandboxArguments& raw) {
  add_number(command, "--memory", raw.memory, "MB", limit_of("memory_mb"), "Memory limit in MB");
  add_number(command, "--processes", raw.processes, "N", limit_of("processes"),
             "Processes and threads at once [128]");
  add_number(command, "--disk", raw.disk, "MB", limit_of("disk_mb"),
             "For /workspace and /tmp, each [64]");
  command
      .add_option("--cpu", raw.cpu, "Processors that it may use, such as 0.5 [the server's limit]")
      ->type_name("N")
      ->transform(number_of(limit_of("cpu"), rules_of_any_server()));
}

LimitOptions limits_of(const CLI::App& command, const RawSandboxArguments& raw) {
  LimitOptions limits;
  limits.memory_mb = given(command, "--memory", raw.memory);
  limits.processes = given(command, "--processes", raw.processes);
  limits.disk_mb = given(command, "--disk", raw.disk);
  if (command.count("--cpu") > 0) limits.cpu = raw.cpu;
  return limits;
}

}  // namespace server::client
