#include "runtime/sandbox/living_spec.h"

#include <algorithm>

namespace runtime {
namespace {

void add_volume(jail::JailSpec& spec, const LivingVolume& volume) {
  using jail::VolumeAccess;
  // The kernel has one bound for the files of all disks; what a volume has in all is counted.
  spec.limits.file_bytes = std::max(spec.limits.file_bytes, volume.max_bytes);
  spec.volumes.push_back(
      {.source = volume.source,
       .target = volume.target,
       .why = "a volume of the sandbox's owner",
       .programs = jail::Programs::allowed,
       .access = volume.is_read_only ? VolumeAccess::read_only : VolumeAccess::read_write});
}

}  // namespace

std::chrono::milliseconds cpu_within(std::chrono::milliseconds wall, std::uint32_t cpu_percent) {
  return wall * cpu_percent / 100;
}

void add_jail_file(jail::JailSpec& spec, const JailFile& file) {
  spec.binds = file.binds;
  spec.volumes = file.volumes;
  spec.devices = file.devices;
  if (!file.hostname.empty()) spec.hostname = file.hostname;
}

jail::JailSpec living_spec(const LivingRequest& request, const OperatorLimits& most,
                           const JailFile* file) {
  jail::JailSpec spec;
  spec.life = jail::Life::until_ended;
  spec.limits.wall = request.max_lifetime;
  spec.limits.cpu = cpu_within(request.max_lifetime, most.cpu_percent);
  spec.limits.cpu_percent = request.cpu_percent == 0 ? most.cpu_percent : request.cpu_percent;
  spec.limits.memory_bytes = std::uint64_t{request.memory_limit_mb} << 20;
  spec.limits.processes = request.processes;
  // No watchdog sees files that the owner writes while no process runs.
  limit_disk(spec.limits, std::min(request.disk_limit_mb, request.memory_limit_mb));
  if (file != nullptr) add_jail_file(spec, *file);
  if (!request.workspace.empty()) {
    spec.limits.file_bytes = std::uint64_t{request.disk_limit_mb} << 20;
    spec.volumes.push_back({.source = request.workspace,
                            .target = "/workspace",
                            .why = "a disk of the sandbox's own",
                            .programs = jail::Programs::allowed});
  }
  for (const LivingVolume& volume : request.volumes) add_volume(spec, volume);
  spec.max_limits = max_limits_of(request, spec.limits, most);
  return spec;
}

}  // namespace runtime
