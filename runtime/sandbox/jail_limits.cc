#include "runtime/sandbox/jail_limits.h"

#include <algorithm>

namespace runtime {

void limit_disk(jail::Limits& limits, std::uint32_t disk_limit_mb) {
  const std::uint64_t disk_bytes = std::uint64_t{disk_limit_mb} << 20;
  limits.workspace_bytes = disk_bytes;
  limits.tmp_bytes = disk_bytes;
  limits.file_bytes = disk_bytes;
}

jail::Limits max_limits_of(const LivingRequest& request, jail::Limits limits,
                           const OperatorLimits& most) {
  const std::uint32_t max_memory_mb = std::max(request.memory_limit_mb, most.memory_mb);
  const std::uint32_t max_disk_mb = std::max(request.disk_limit_mb, request.max_disk_limit_mb);
  limits.memory_bytes = std::uint64_t{max_memory_mb} << 20;
  limits.processes = std::max(limits.processes, request.max_processes);
  limits.cpu_percent = std::max(limits.cpu_percent, most.cpu_percent);
  limits.tmp_bytes = limits.workspace_bytes = bytes_of_tmpfs(max_disk_mb, max_memory_mb);
  limits.file_bytes = std::max(limits.file_bytes, std::uint64_t{max_disk_mb} << 20);
  return limits;
}

}  // namespace runtime
