#include "runtime/service/volumes.h"

#include <errno.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <functional>
#include <utility>

#include "runtime/living/disk_count.h"
#include "runtime/living/tree_copy.h"
#include "runtime/observe/uuid.h"
#include "runtime/sandbox/elsewhere.h"
#include "runtime/store/stored_time.h"

namespace runtime {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using jail::Error;
using jail::ErrorKind;
using jail::Result;
using State = VolumeRow::State;

Refusal no_such_volume(const std::string& field = {}) {
  return {.code = RefusalCode::no_such_volume, .detail = field + "no such volume"};
}

Refusal in_use(const std::string& detail) {
  return {.code = RefusalCode::volume_in_use, .detail = detail};
}

std::uint64_t bytes_of(std::uint32_t megabytes) { return std::uint64_t{megabytes} << 20; }

std::string quoted(const VolumeRow& row) { return "volume " + row.name; }

Refusal of_caller(std::string detail, std::uint64_t limit, std::uint64_t used) {
  return {.code = RefusalCode::caller_limit,
          .detail = std::move(detail),
          .limit = static_cast<double>(limit),
          .used = static_cast<double>(used)};
}

Refusal as_many_as_allowed() {
  return {.code = RefusalCode::busy,
          .detail =
              "there are as many volumes as the operator allows "
              "(SANDBOX_MAX_VOLUMES, SANDBOX_MAX_VOLUMES_MB)"};
}

}  // namespace

Refusal Volumes::off() {
  return {.code = RefusalCode::volumes_off,
          .detail =
              "volumes are off: the operator sets a directory of the host aside for them in "
              "SANDBOX_DISK_PATH, and keeps records in a file (JOBS_PATH)"};
}

Volumes::Volumes(Jobs& jobs, std::shared_ptr<SandboxDisks> disks, Logger& logger, Options options)
    : jobs_(jobs),
      disks_(std::move(disks)),
      logger_(logger),
      options_(options),
      table_(jobs.database()) {
  restore();
}

Volumes::~Volumes() {
  draining_.request();
  copiers_.join();
  counters_.join();
  // Pending work of the writer uses this object.
  jobs_.writer().wait_until_done();
}

void Volumes::restore() {
  const auto done = jobs_.writer().do_now([this]() -> Result<void> {
    auto rows = table_.all();
    if (!rows) return rows.error();
    for (VolumeRow& row : *rows) {
      if (row.state == State::ready) {
        volumes_.push_back(std::make_shared<Volume>());
        volumes_.back()->row = std::move(row);
        continue;
      }
      if (auto removed = disks_->store().remove_volume(row.id); !removed) {
        // The next server tries again.
        logger_.error("what is left of a volume cannot be removed",
                      {{"volume_id", row.id}, {"error", removed.error().message()}});
        continue;
      }
      if (auto removed = table_.remove(row.id); !removed) return removed.error();
    }
    return {};
  });
  if (!done) {
    logger_.error("what was kept of volumes cannot be read", {{"error", done.error().message()}});
  }
  disks_->remove_soon();
  // A server that was killed has not noted what its sandboxes wrote.
  const std::lock_guard lock(mutex_);
  for (const Found& volume : volumes_) recount_later_locked(volume);
}

bool Volumes::sees(const Principal& principal, const Volume& volume) {
  const auto owner = principal.sees();
  return !owner || *owner == volume.row.owner;
}

Volumes::Found Volumes::find_locked(const Principal& principal, std::string_view id_or_name) const {
  for (const Found& volume : volumes_) {
    if (!sees(principal, *volume) || volume->row.state != State::ready || volume->is_leaving) {
      continue;
    }
    if (volume->row.id == id_or_name || volume->row.name == id_or_name) return volume;
  }
  return nullptr;
}

Volumes::View Volumes::view_of(const Volume& volume) {
  View view{.row = volume.row, .users = volume.users};
  if (volume.written != nullptr) {
    const DiskUse use = volume.written->use();
    view.row.used_bytes = use.bytes;
    view.row.files = use.files;
  }
  return view;
}

Refusal Volumes::failed(const Caller& caller, const Error& error) const {
  logger_.error("a volume cannot be made or changed",
                {{"request_id", caller.request_id}, {"error", error.message()}});
  if (error.kind == ErrorKind::exhausted) {
    return {.code = RefusalCode::host_exhausted,
            .detail = "the host has no room for the volume; try again"};
  }
  return {.code = RefusalCode::internal_server_error,
          .detail =
              "the volume cannot be made or changed; the server's log has the reason under this "
              "request's id"};
}

std::optional<Refusal> Volumes::why_no_room_locked(const std::string& owner,
                                                   std::uint32_t size_mb) const {
  const auto own = static_cast<std::uint64_t>(std::ranges::count_if(
      volumes_, [&](const Found& volume) { return volume->row.owner == owner; }));
  if (own >= options_.max_per_owner) {
    return of_caller("too many volumes of this caller; delete one", options_.max_per_owner, own);
  }
  if (volumes_.size() >= options_.most) return as_many_as_allowed();
  return why_too_large_locked(owner, size_mb);
}

std::optional<Refusal> Volumes::why_too_large_locked(const std::string& owner,
                                                     std::uint32_t more_mb) const {
  std::uint64_t all_mb = more_mb;
  std::uint64_t own_mb = more_mb;
  for (const Found& volume : volumes_) {
    const std::uint32_t next_mb = volume->next ? volume->next->size_mb : 0;
    const std::uint32_t size_mb = std::max(volume->row.size_mb, next_mb);
    all_mb += size_mb;
    if (volume->row.owner == owner) own_mb += size_mb;
  }
  if (own_mb > options_.max_mb_per_owner) {
    return of_caller("size_mb: with it the volumes of this caller would have too many MB together",
                     options_.max_mb_per_owner, own_mb - more_mb);
  }
  if (all_mb > options_.max_total_mb) return as_many_as_allowed();
  return std::nullopt;
}

bool Volumes::is_taken_locked(const std::string& owner, const std::string& name) const {
  return std::ranges::any_of(volumes_, [&](const Found& volume) {
    const bool is_to_have = volume->next && volume->next->name == name;
    return volume->row.owner == owner && (volume->row.name == name || is_to_have);
  });
}

// Reserves the name and the place of a new volume, and the original of a copy.
Volumes::Or<Volumes::Found> Volumes::begin(const Principal& principal, const VolumeRequest& request,
                                           Found& original) {
  const std::lock_guard lock(mutex_);
  if (draining_.requested()) {
    return Refusal{.code = RefusalCode::stopping, .detail = "the server is stopping"};
  }
  const std::string& owner = principal.tenant;
  if (is_taken_locked(owner, request.name)) {
    return Refusal{.code = RefusalCode::name_taken,
                   .detail = "name: " + request.name + " is the name of another volume"};
  }
  for (const Found& other : volumes_) {
    if (other->row.owner == owner && !request.copy_of.empty() && other->is_copy) {
      return Refusal{.code = RefusalCode::caller_limit,
                     .detail = "a copy of a volume of this caller is being made; wait for it",
                     .limit = 1,
                     .used = 1};
    }
  }
  std::uint32_t size_mb = request.size_mb.value_or(usual_volume_mb(options_.max_mb));
  if (!request.copy_of.empty()) {
    const Found found = find_locked(principal, request.copy_of);
    if (found == nullptr) return no_such_volume("copy_of: ");
    if (found->written != nullptr) {
      return in_use("copy_of: sandbox " + found->users.front().sandbox + " writes to " +
                    quoted(found->row));
    }
    size_mb = request.size_mb.value_or(found->row.size_mb);
    if (found->row.used_bytes > bytes_of(size_mb)) {
      return Refusal{.code = RefusalCode::volume_full,
                     .detail = "size_mb: the files of " + quoted(found->row) + " take more"};
    }
    if (auto refusal = why_no_room_locked(owner, size_mb)) return std::move(*refusal);
    ++found->copies;
    original = found;
  } else if (auto refusal = why_no_room_locked(owner, size_mb)) {
    return std::move(*refusal);
  }
  const auto volume = std::make_shared<Volume>();
  VolumeRow& row = volume->row;
  row.id = random_text();
  row.owner = owner;
  // Pages are told apart by these times.
  row.created = std::chrono::system_clock::now();
  if (!volumes_.empty() && row.created <= volumes_.back()->row.created) {
    row.created = volumes_.back()->row.created + std::chrono::microseconds(1);
  }
  row.name = request.name;
  row.size_mb = size_mb;
  volume->is_copy = original != nullptr;
  volumes_.push_back(volume);
  return volume;
}

void Volumes::give_up(const Found& volume, const Found& original) {
  const std::lock_guard lock(mutex_);
  std::erase(volumes_, volume);
  if (original != nullptr) --original->copies;
}

awaitable<Result<bool>> Volumes::write(Result<void> (VolumeTable::*how)(const VolumeRow&),
                                       VolumeRow row) {
  std::function<Result<bool>()> work = [this, how, row = std::move(row)]() -> Result<bool> {
    if (auto done = (table_.*how)(row); !done) return done.error();
    return true;
  };
  co_return co_await jobs_.writer().ask<bool>(std::move(work));
}

awaitable<Result<bool>> Volumes::forget(std::string id) {
  std::function<Result<bool>()> work = [this, id = std::move(id)]() -> Result<bool> {
    if (auto done = table_.remove(id); !done) return done.error();
    return true;
  };
  co_return co_await jobs_.writer().ask<bool>(std::move(work));
}

// Runs on a worker. What is copied lies in the server's own directory until it is whole, which a
// later server removes where this one dies.
Result<DiskUse> Volumes::fill(const std::string& id, SandboxDisk& disk, const Volume* original,
                              const Cancel& cancel) {
  DiskUse use;
  if (original != nullptr) {
    const auto from = disks_->store().open_volume(original->row.id);
    if (!from) return from.error();
    TreeCopy copy((*from)->open(), disk.open(),
                  {.bytes = disk.limits().bytes, .files = disk.limits().files}, cancel);
    if (auto done = copy.run(); !done) return done.error();
    use.bytes = copy.bytes();
    use.files = copy.files();
  }
  if (auto named = disks_->store().make_volume(disk.directory(), id); !named) return named.error();
  return use;
}

awaitable<Result<void>> Volumes::make(Found volume, Found original, Cancel cancel) {
  VolumeRow row = volume->row;
  std::uint64_t size = 0;
  if (original != nullptr) size = bytes_of(row.size_mb);
  auto disk = disks_->make(size);
  if (!disk) co_return disk.error();
  const auto added = co_await write(&VolumeTable::add, row);
  if (!added) {
    (*disk)->give_up();
    disks_->remove_soon();
    co_return added.error();
  }
  auto filling = [this, id = row.id, disk = *disk, original, cancel] {
    return fill(id, *disk, original.get(), cancel);
  };
  std::optional<Result<DiskUse>> filled;
  if (original == nullptr) {
    filled = filling();
  } else {
    filled = co_await do_elsewhere(copiers_.get_executor(), std::move(filling));
  }
  Result<DiskUse>& use = *filled;
  if (use) {
    row.state = State::ready;
    row.used_bytes = use->bytes;
    row.files = use->files;
    const auto stored = co_await write(&VolumeTable::put, row);
    if (stored) {
      const std::lock_guard lock(mutex_);
      volume->row = row;
      volume->is_copy = false;
      co_return Result<void>();
    }
    use = stored.error();
    (void)disks_->store().remove_volume(row.id);
  }
  (*disk)->give_up();
  disks_->remove_soon();
  (void)co_await forget(row.id);
  co_return use.error();
}

awaitable<Volumes::Or<Volumes::View>> Volumes::create(Caller caller, VolumeRequest request,
                                                      Cancel gone) {
  Found original;
  auto begun = begin(caller.principal, request, original);
  if (auto* const refusal = std::get_if<Refusal>(&begun)) co_return std::move(*refusal);
  const Found volume = std::get<Found>(begun);
  const Cancel cancel = draining_.child();
  const Cancel::Listener on_gone(std::move(gone), [cancel] { cancel.request(); });
  const auto made = co_await make(volume, original, cancel);
  if (!made) {
    give_up(volume, original);
    const Error& error = made.error();
    if (error.kind == ErrorKind::closed) {
      co_return Refusal{.code = RefusalCode::stopping,
                        .detail = "the server is stopping, or nobody waits for the copy"};
    }
    if (error.sys_errno == EFBIG) {
      co_return Refusal{.code = RefusalCode::volume_full,
                        .detail = "size_mb: the files of the original take more, are more than " +
                                  std::to_string(SandboxDisks::max_files) + ", or lie too deep"};
    }
    co_return failed(caller, error);
  }
  const std::lock_guard lock(mutex_);
  if (original != nullptr) --original->copies;
  co_return view_of(*volume);
}

Volumes::Page Volumes::list(const Principal& principal, const VolumeQuery& query) const {
  const std::lock_guard lock(mutex_);
  Page page;
  for (std::size_t left = volumes_.size(); left > 0; --left) {
    const Volume& volume = *volumes_[left - 1];
    const auto created = static_cast<std::uint64_t>(to_microseconds(volume.row.created));
    if (query.before != 0 && created >= query.before) continue;
    if (!sees(principal, volume) || volume.row.state != State::ready || volume.is_leaving) continue;
    if (page.volumes.size() == query.limit) {
      page.has_more = true;
      break;
    }
    page.volumes.push_back(view_of(volume));
  }
  return page;
}

Volumes::Or<Volumes::View> Volumes::find(const Principal& principal,
                                         std::string_view id_or_name) const {
  const std::lock_guard lock(mutex_);
  const Found found = find_locked(principal, id_or_name);
  if (found == nullptr) return no_such_volume();
  return view_of(*found);
}

awaitable<std::optional<Refusal>> Volumes::remove(Caller caller, std::string id_or_name) {
  Found volume;
  VolumeRow row;
  {
    const std::lock_guard lock(mutex_);
    volume = find_locked(caller.principal, id_or_name);
    if (volume == nullptr) co_return no_such_volume();
    if (!volume->users.empty()) {
      co_return in_use("sandbox " + volume->users.front().sandbox + " has " + quoted(volume->row));
    }
    if (volume->copies > 0) co_return in_use(quoted(volume->row) + " is being copied");
    if (volume->next) co_return in_use(quoted(volume->row) + " is being changed");
    volume->is_leaving = true;
    row = volume->row;
  }
  row.state = State::removing;
  // Whenever this server dies, the next one goes on with it.
  const auto noted = co_await write(&VolumeTable::put, row);
  const auto removed = noted ? disks_->store().remove_volume(row.id) : Result<bool>(noted.error());
  if (!removed) {
    row.state = State::ready;
    (void)co_await write(&VolumeTable::put, row);
    const std::lock_guard lock(mutex_);
    volume->is_leaving = false;
    co_return failed(caller, removed.error());
  }
  disks_->remove_soon();
  const auto forgotten = co_await forget(row.id);
  {
    const std::lock_guard lock(mutex_);
    std::erase(volumes_, volume);
  }
  if (!forgotten) co_return failed(caller, forgotten.error());
  co_return std::nullopt;
}

}  // namespace runtime
