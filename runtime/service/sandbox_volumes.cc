// The disks of a sandbox: its working directory where that is no memory, and its volumes.
#include <fcntl.h>

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/living/disk_count.h"
#include "runtime/service/sandboxes.h"

namespace runtime {
namespace {

// Identifies the place of a directory that the host gave a sandbox: several may be on one file
// system. No guest can change what is mounted where.
std::optional<std::uint64_t> mount_at(const LivingSandbox& living, std::string_view path) {
  const auto directory = living.open_file(path, O_PATH | O_DIRECTORY, 0);
  return directory ? DiskCount::mount_of(directory->get()) : std::nullopt;
}

}  // namespace

std::optional<Refusal> Sandboxes::mount_volumes(const Principal& principal, Sandbox& sandbox,
                                                SandboxRequest& request,
                                                SandboxDisks::Room room) const {
  if (request.volumes.empty()) return std::nullopt;
  if (options_.volumes == nullptr) {
    Refusal refusal = Volumes::off();
    refusal.detail = "volumes: " + refusal.detail;
    return refusal;
  }
  auto mounted = options_.volumes->mount(principal, sandbox.id(), request.volumes, room);
  if (auto* const refusal = std::get_if<Refusal>(&mounted)) return std::move(*refusal);
  sandbox.volumes_ = std::get<std::shared_ptr<VolumeMounts>>(std::move(mounted));
  for (std::size_t i = 0; i < request.volumes.size(); ++i) {
    request.volumes[i] = sandbox.volumes_->all()[i].mount;
  }
  return std::nullopt;
}

std::vector<LivingVolume> Sandboxes::living_volumes_of(const Sandbox& sandbox) {
  std::vector<LivingVolume> volumes;
  if (sandbox.volumes_ == nullptr) return volumes;
  for (const VolumeMounts::One& one : sandbox.volumes_->all()) {
    const bool is_read_only = one.mount.is_read_only;
    volumes.push_back({.source = one.directory->path(),
                       .target = one.mount.path,
                       .is_read_only = is_read_only,
                       .max_bytes = is_read_only ? 0 : one.disk->limits().bytes});
  }
  return volumes;
}

void Sandboxes::watch_disks(const Sandbox& sandbox) {
  const auto& living = sandbox.living_;
  if (sandbox.volumes_ == nullptr) {
    if (sandbox.disk_ != nullptr) options_.disks->watch(sandbox.disk_, living);
    return;
  }
  if (sandbox.disk_ != nullptr) {
    options_.disks->watch(sandbox.disk_, living, mount_at(*living, "/workspace"));
  }
  for (const VolumeMounts::One& one : sandbox.volumes_->all()) {
    if (one.disk == nullptr) continue;
    options_.disks->watch(one.disk, living, mount_at(*living, one.mount.path));
  }
}

void Sandboxes::release_volumes(const Sandbox& sandbox) {
  if (sandbox.volumes_ != nullptr) sandbox.volumes_->release();
}

void Sandboxes::give_up_disk(const Sandbox& sandbox) {
  if (sandbox.disk_ == nullptr) return;
  sandbox.disk_->give_up();
  options_.disks->remove_soon();
}

const VolumeMounts::One* Sandbox::full_volume() const {
  if (volumes_ == nullptr) return nullptr;
  for (const VolumeMounts::One& one : volumes_->all()) {
    if (one.disk == nullptr) continue;
    if (one.disk->is_beyond() || one.disk->is_host_full()) return &one;
  }
  return nullptr;
}

const VolumeMounts::One* Sandbox::volume_of(const jail::Error& error) const {
  if (volumes_ == nullptr) return nullptr;
  for (const VolumeMounts::One& one : volumes_->all()) {
    const bool is_meant = error.doing.find(" " + one.mount.path + "/") != std::string::npos;
    if (one.disk != nullptr && is_meant) return &one;
  }
  return nullptr;
}

std::shared_ptr<SandboxDisk> Sandbox::disk_of(int directory) const {
  const auto mount = volumes_ == nullptr ? std::nullopt : DiskCount::mount_of(directory);
  if (!mount) return disk_;
  for (const VolumeMounts::One& one : volumes_->all()) {
    if (one.disk != nullptr && mount_at(*living_, one.mount.path) == mount) return one.disk;
  }
  return disk_;
}

SandboxFiles Sandbox::files() const {
  SandboxFiles::Room room;
  if (disk_ != nullptr || volumes_ != nullptr) {
    room = [self = shared_from_this()](int directory) {
      auto disk = self->disk_of(directory);
      return disk == nullptr ? nullptr : SandboxDisk::reserve(std::move(disk));
    };
  }
  return SandboxFiles(
      [living = living_](std::string_view path, int flags, mode_t mode) {
        return living->open_file(path, flags, mode);
      },
      std::move(room));
}

}  // namespace runtime
