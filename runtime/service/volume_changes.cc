// Other names and sizes of volumes that are there.
#include <algorithm>
#include <utility>

#include "runtime/sandbox/elsewhere.h"
#include "runtime/service/volumes.h"

namespace runtime {
namespace {

using boost::asio::awaitable;
using jail::Result;

Refusal taken_by_others(std::string detail) {
  return {.code = RefusalCode::volume_in_use, .detail = std::move(detail)};
}

std::uint64_t bytes_in(std::uint32_t megabytes) { return std::uint64_t{megabytes} << 20; }

Refusal too_small(const VolumeRow& row, std::uint32_t size_mb) {
  // Rounded up, so that what is shown would be enough.
  const std::uint64_t used_mb = (row.used_bytes + (1u << 20) - 1) >> 20;
  return {.code = RefusalCode::volume_full,
          .detail = "size_mb: the files of volume " + row.name + " take " +
                    std::to_string(used_mb) + " MB, more than " + std::to_string(size_mb),
          .limit = size_mb,
          .used = static_cast<double>(used_mb),
          .remedy = "remove some of its files first, or give it at least what they take"};
}

}  // namespace

std::optional<Refusal> Volumes::why_not_smaller_locked(const Volume& volume,
                                                       std::uint32_t size_mb) const {
  if (volume.written != nullptr) {
    return taken_by_others("size_mb: sandbox " + volume.users.front().sandbox +
                           " writes to volume " + volume.row.name +
                           ", so it can be made larger and not smaller");
  }
  if (volume.row.used_bytes > bytes_in(size_mb)) return too_small(volume.row, size_mb);
  return std::nullopt;
}

// Reserves the new name and the new size.
Volumes::Or<Volumes::Found> Volumes::begin_change(const Principal& principal,
                                                  std::string_view id_or_name,
                                                  const VolumeChange& change) {
  const std::lock_guard lock(mutex_);
  const Found volume = find_locked(principal, id_or_name);
  if (volume == nullptr) {
    return Refusal{.code = RefusalCode::no_such_volume, .detail = "no such volume"};
  }
  const VolumeRow& row = volume->row;
  if (volume->next) return taken_by_others("volume " + row.name + " is being changed");
  VolumeRow next = row;
  if (change.name && *change.name != row.name) {
    if (is_taken_locked(row.owner, *change.name)) {
      return Refusal{.code = RefusalCode::name_taken,
                     .detail = "name: " + *change.name + " is the name of another volume"};
    }
    if (!volume->users.empty()) {
      return taken_by_others("name: sandbox " + volume->users.front().sandbox + " has volume " +
                             row.name + " by this name");
    }
    next.name = *change.name;
  }
  next.size_mb = change.size_mb.value_or(row.size_mb);
  if (next.size_mb > row.size_mb) {
    auto refusal = why_too_large_locked(row.owner, next.size_mb - row.size_mb);
    if (refusal) return std::move(*refusal);
  } else if (next.size_mb < row.size_mb) {
    if (auto refusal = why_not_smaller_locked(*volume, next.size_mb)) return std::move(*refusal);
  }
  volume->next = std::move(next);
  return volume;
}

void Volumes::end_change_locked(Volume& volume, bool is_done) {
  if (is_done) {
    volume.row.name = volume.next->name;
    volume.row.size_mb = volume.next->size_mb;
  } else if (volume.written != nullptr) {
    volume.written->limit(bytes_in(volume.row.size_mb), SandboxDisk::Excess::may_stay);
  }
  volume.next.reset();
}

// What is known of its files may be a few seconds older than its latest writer. Nobody can write to
// it meanwhile.
awaitable<std::optional<Refusal>> Volumes::make_smaller(const Caller& caller, const Found& volume) {
  VolumeRow row;
  {
    const std::lock_guard lock(mutex_);
    row = volume->row;
  }
  auto counting = [this, row] { return count(row); };
  const Result<DiskUse> use = co_await do_elsewhere(counters_.get_executor(), std::move(counting));
  if (!use) co_return failed(caller, use.error());
  if (use->seen != DiskUse::Seen::all) {
    co_return Refusal{
        .code = RefusalCode::busy,
        .detail = "size_mb: the files of volume " + row.name + " could not be counted in time"};
  }
  const std::lock_guard lock(mutex_);
  note_use_locked(*volume, *use);
  co_return why_not_smaller_locked(*volume, volume->next->size_mb);
}

std::optional<Refusal> Volumes::make_larger(const Caller& caller, const Found& volume) {
  const std::lock_guard lock(mutex_);
  if (volume->written == nullptr) return std::nullopt;
  const auto done = disks_->resize(*volume->written, bytes_in(volume->next->size_mb));
  if (done) return std::nullopt;
  if (done.error().kind != jail::ErrorKind::exhausted) return failed(caller, done.error());
  return Refusal{
      .code = RefusalCode::host_exhausted,
      .detail = "size_mb: the host's disk has no room for what the volume may take more"};
}

awaitable<Volumes::Or<Volumes::View>> Volumes::change(Caller caller, std::string id_or_name,
                                                      VolumeChange change) {
  auto begun = begin_change(caller.principal, id_or_name, change);
  if (auto* const refusal = std::get_if<Refusal>(&begun)) co_return std::move(*refusal);
  const Found volume = std::get<Found>(begun);
  VolumeRow row;
  VolumeRow next;
  {
    const std::lock_guard lock(mutex_);
    row = volume->row;
    next = *volume->next;
  }
  std::optional<Refusal> refusal;
  if (next.size_mb < row.size_mb) refusal = co_await make_smaller(caller, volume);
  if (next.size_mb > row.size_mb) refusal = make_larger(caller, volume);
  if (!refusal) {
    const auto written = co_await write(&VolumeTable::change, next);
    if (!written) refusal = failed(caller, written.error());
  }
  const std::lock_guard lock(mutex_);
  end_change_locked(*volume, !refusal);
  if (refusal) co_return std::move(*refusal);
  co_return view_of(*volume);
}

}  // namespace runtime
