// Which sandbox has which volume, and what volumes take.
#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "runtime/living/disk_count.h"
#include "runtime/service/volumes.h"

namespace runtime {
namespace {

namespace asio = boost::asio;
using jail::Result;
using State = VolumeRow::State;

// What a count may take where no process can add to what it counts.
constexpr DiskCount::Budget budget{.processor_time = std::chrono::seconds(2),
                                   .time = std::chrono::seconds(30),
                                   .max_text_bytes = 64u << 20};

std::string field_of(std::size_t index) { return "volumes: [" + std::to_string(index) + "]: "; }

}  // namespace

void VolumeMounts::release() {
  std::shared_ptr<void> held;
  const std::lock_guard lock(mutex_);
  held.swap(held_);
}

std::shared_ptr<void> VolumeMounts::hold() const {
  const std::lock_guard lock(mutex_);
  return held_;
}

std::optional<Refusal> Volumes::why_not_mount_locked(const Volume& volume,
                                                     const VolumeMount& mount) const {
  const VolumeRow& row = volume.row;
  const auto in_use = [&row](const std::string& why) {
    return Refusal{.code = RefusalCode::volume_in_use, .detail = "volume: " + row.name + " " + why};
  };
  if (volume.written != nullptr) {
    return in_use("is written to by sandbox " + volume.users.front().sandbox);
  }
  // A sandbox finds its volumes by name when it comes back.
  if (volume.next && volume.next->name != row.name) return in_use("is being renamed");
  if (mount.is_read_only) return std::nullopt;
  if (!volume.users.empty()) {
    return in_use("is read by sandbox " + volume.users.front().sandbox +
                  ", and whoever writes to it must be alone");
  }
  if (volume.copies > 0) return in_use("is being copied");
  if (volume.next) return in_use("is being changed");
  const bool is_full =
      row.used_bytes > std::uint64_t{row.size_mb} << 20 || row.files > SandboxDisks::max_files;
  if (!is_full) return std::nullopt;
  return Refusal{.code = RefusalCode::volume_full,
                 .detail = "volume: " + row.name + " has more in it than its " +
                           std::to_string(row.size_mb) + " MB or its " +
                           std::to_string(SandboxDisks::max_files) + " files"};
}

Result<VolumeMounts::One> Volumes::open_locked(const Found& volume, const VolumeMount& mount,
                                               SandboxDisks::Room room) {
  auto directory = disks_->store().open_volume(volume->row.id);
  if (!directory) return directory.error();
  VolumeMounts::One one;
  one.id = volume->row.id;
  one.mount = mount;
  one.mount.volume = volume->row.name;
  one.directory = *directory;
  if (mount.is_read_only) return one;
  DiskUse use;
  use.bytes = volume->row.used_bytes;
  use.files = volume->row.files;
  const std::uint64_t bytes = std::uint64_t{volume->row.size_mb} << 20;
  auto disk = disks_->adopt(std::move(*directory), bytes, use, room);
  if (!disk) return disk.error();
  one.disk = std::move(*disk);
  return one;
}

Volumes::Or<std::shared_ptr<VolumeMounts>> Volumes::mount(const Principal& principal,
                                                          const std::string& sandbox,
                                                          const std::vector<VolumeMount>& wanted,
                                                          SandboxDisks::Room room) {
  const std::lock_guard lock(mutex_);
  std::vector<Found> found;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const Found volume = find_locked(principal, wanted[i].volume);
    if (volume == nullptr) {
      return Refusal{.code = RefusalCode::no_such_volume,
                     .detail = field_of(i) + "volume: no such volume"};
    }
    if (std::find(found.begin(), found.end(), volume) != found.end()) {
      return Refusal{.code = RefusalCode::bad_request,
                     .detail = field_of(i) + "volume: expected each volume once"};
    }
    if (auto refusal = why_not_mount_locked(*volume, wanted[i])) {
      refusal->detail = field_of(i) + refusal->detail;
      return std::move(*refusal);
    }
    found.push_back(volume);
  }
  std::vector<VolumeMounts::One> all;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    auto one = open_locked(found[i], wanted[i], room);
    if (one) {
      all.push_back(std::move(*one));
      continue;
    }
    logger_.error("a volume cannot be opened", {{"error", one.error().message()}});
    const bool is_short = one.error().kind == jail::ErrorKind::exhausted;
    return Refusal{
        .code = is_short ? RefusalCode::host_exhausted : RefusalCode::internal_server_error,
        .detail = field_of(i) + (is_short ? "the host's disk has no room for what the volume may "
                                            "still take; try again"
                                          : "the volume cannot be opened; the server's log has "
                                            "the reason")};
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    found[i]->users.push_back(
        {.sandbox = sandbox, .path = all[i].mount.path, .is_read_only = all[i].mount.is_read_only});
    found[i]->written = all[i].disk;
  }
  std::shared_ptr<VolumeMounts> mounts(new VolumeMounts(std::move(all)));
  auto give_back = [weak = weak_from_this(), sandbox, all = mounts->all_](const void*) {
    if (const auto volumes = weak.lock()) volumes->release(sandbox, all);
    for (const VolumeMounts::One& one : all) one.directory->give_up();
  };
  mounts->held_ = std::shared_ptr<void>(nullptr, std::move(give_back));
  return mounts;
}

void Volumes::release(const std::string& sandbox, const std::vector<VolumeMounts::One>& all) {
  const std::lock_guard lock(mutex_);
  for (const VolumeMounts::One& one : all) {
    const auto found = std::find_if(volumes_.begin(), volumes_.end(),
                                    [&](const Found& each) { return each->row.id == one.id; });
    if (found == volumes_.end()) continue;
    Volume& volume = **found;
    std::erase_if(volume.users, [&](const User& user) { return user.sandbox == sandbox; });
    if (one.disk == nullptr) continue;
    volume.written = nullptr;
    const DiskUse use = one.disk->use();
    volume.row.used_bytes = use.bytes;
    volume.row.files = use.files;
    jobs_.writer().add([this, row = volume.row] { return table_.put(row); });
    recount_later_locked(*found);
  }
}

void Volumes::recount_later_locked(const Found& volume) {
  if (std::exchange(volume->is_to_be_counted, true)) return;
  asio::post(counters_, [this, volume] { recount(volume); });
}

void Volumes::recount(const Found& volume) {
  // The next server counts all of them anyway.
  if (draining_.requested()) return;
  VolumeRow row;
  {
    const std::lock_guard lock(mutex_);
    volume->is_to_be_counted = false;
    row = volume->row;
  }
  const auto use = count(row);
  if (!use) {
    const std::lock_guard lock(mutex_);
    if (volume->is_leaving) return;
    logger_.error("the directory of a volume cannot be opened",
                  {{"volume_id", row.id}, {"error", use.error().message()}});
    return;
  }
  if (use->seen != DiskUse::Seen::all) return;
  const std::lock_guard lock(mutex_);
  // Whoever writes to it by now is counted.
  if (volume->written != nullptr || volume->is_leaving) return;
  note_use_locked(*volume, *use);
}

Result<DiskUse> Volumes::count(const VolumeRow& row) const {
  const auto directory = disks_->store().open_volume(row.id);
  if (!directory) return directory.error();
  DiskCount count((*directory)->open());
  // What is beyond the bound is counted no further, but it is known to be beyond.
  const jail::Fd nobody;
  return count.look(nobody, std::uint64_t{row.size_mb} << 20, SandboxDisks::max_files, budget);
}

void Volumes::note_use_locked(Volume& volume, const DiskUse& use) {
  volume.row.used_bytes = use.bytes;
  volume.row.files = use.is_countable ? use.files : SandboxDisks::max_files + 1;
  jobs_.writer().add([this, row = volume.row] { return table_.put(row); });
}

}  // namespace runtime
