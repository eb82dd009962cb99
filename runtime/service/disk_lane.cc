#include "runtime/service/disk_lane.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/service/disk_pause.h"

namespace runtime {
namespace {

using disk_pause::room_of;

// Counting one disk takes a fifth of a thread's time at most.
constexpr int rest_for_each_look = 4;
// A disk is counted this often, whatever the file system says that it has grown by: what others
// remove there meanwhile makes it grow less.
constexpr std::chrono::seconds longest_without_count{5};
// What was not seen is looked for again after this.
constexpr auto pause_in_doubt = DiskCount::patience_with_unreadable + std::chrono::milliseconds(10);
constexpr std::chrono::seconds pause_without_disks{60};
constexpr std::chrono::seconds pause_between_complaints{10};

// A count that somebody waits for comes sooner, unless the one before it left doubts, whose pauses
// have a reason.
WatchedDisk::Clock::time_point due(const WatchedDisk& watched) {
  const bool is_sooner = watched.is_counted && watched.disk->is_count_wanted();
  return is_sooner ? std::min(watched.next, watched.rested) : watched.next;
}

// A disk that has half of its room left cannot be full before the whole file system has grown by
// that half.
bool may_have_grown(const WatchedDisk& watched, const DiskStore::Room& room,
                    WatchedDisk::Clock::time_point now) {
  if (!watched.is_counted || !room.counts_files) return true;
  if (now >= watched.counted + longest_without_count) return true;
  const DiskUse use = watched.disk->use();
  const SandboxDisk::Limits limits = watched.disk->allowed();
  return room_of(room.used_bytes, watched.room.used_bytes) >=
             room_of(limits.bytes, use.bytes) / 2 ||
         room_of(room.used_files, watched.room.used_files) >= room_of(limits.files, use.files) / 2;
}

}  // namespace

void DiskLane::start(DiskLane& fast, DiskLane& slow) {
  fast.other_ = &slow;
  slow.other_ = &fast;
  fast.is_fast_ = true;
  fast.thread_ = std::thread([&fast] { fast.run(); });
  slow.thread_ = std::thread([&slow] { slow.run(); });
}

void DiskLane::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  is_new_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void DiskLane::add(WatchedDisk watched) {
  Watched one;
  one.push_back(std::move(watched));
  take(one, one.begin());
}

void DiskLane::take(Watched& from, Watched::iterator one) {
  {
    const std::lock_guard lock(mutex_);
    added_.splice(added_.end(), from, one);
  }
  is_new_.notify_one();
}

void DiskLane::wake() {
  {
    const std::lock_guard lock(mutex_);
    is_awaited_ = true;
  }
  is_new_.notify_one();
}

void DiskLane::run() {
  std::unique_lock lock(mutex_);
  while (!is_over_) {
    is_awaited_ = false;
    watched_.splice(watched_.end(), added_);
    lock.unlock();
    const auto next = look_at_all();
    lock.lock();
    is_new_.wait_until(lock, next, [this] { return is_over_ || is_awaited_ || !added_.empty(); });
  }
}

// Returns when this is to be called again.
DiskLane::Clock::time_point DiskLane::look_at_all() {
  auto next = Clock::now() + pause_without_disks;
  for (auto each = watched_.begin(); each != watched_.end();) {
    const auto one = each++;
    const After after = Clock::now() >= due(*one) ? look(*one) : After::keep;
    if (after == After::drop) watched_.erase(one);
    if (after == After::pass) other_->take(watched_, one);
    if (after == After::keep) next = std::min(next, due(*one));
  }
  return next;
}

DiskLane::After DiskLane::look(WatchedDisk& watched) {
  const auto began = Clock::now();
  const auto living = watched.living.lock();
  if (living == nullptr || !living->lives()) return After::drop;
  const auto room = store_->room();
  if (!room) {
    // Without the size of the file system no disk on it can be judged.
    logger_.error("the disk of sandboxes cannot be read", {{"error", room.error().message()}});
    living->end(LivingSandbox::Cause::disk);
    return After::drop;
  }
  After after = After::keep;
  watched.next = began;
  if (watched.disk->is_count_wanted() || may_have_grown(watched, *room, began)) {
    after = count(watched, *living, *room);
    watched.rested = began + (1 + rest_for_each_look) * (Clock::now() - began);
  }
  if (after != After::keep || watched.next > began) return after;
  const DiskUse use = watched.disk->use();
  const SandboxDisk::Limits limits = watched.disk->allowed();
  const auto pause = std::min(
      disk_pause::until_used(room_of(limits.bytes, use.bytes), disk_pause::bytes_of_a_second),
      disk_pause::until_used(room_of(limits.files, use.files), disk_pause::files_of_a_second));
  watched.next = std::max<Clock::time_point>(began + pause, watched.rested);
  return after;
}

DiskLane::After DiskLane::count(WatchedDisk& watched, LivingSandbox& living,
                                const DiskStore::Room& room) {
  using Seen = DiskUse::Seen;
  const auto began = Clock::now();
  const auto target = living.usage_target();
  if (!target) {
    if (!living.lives()) return After::drop;
    note_shortage(watched, began);
    return After::keep;
  }
  SandboxDisk& disk = *watched.disk;
  const SandboxDisk::Limits limits = disk.allowed();
  disk.begin_count();
  DiskUse use = watched.count.look(target->init, limits.bytes, limits.files, budget_);
  if (use.seen == Seen::short_of_the_host) {
    note_shortage(watched, began);
    return After::keep;
  }
  const auto took = Clock::now() - began;
  // The other lane spends more on it.
  const bool is_too_much = is_fast_ && use.seen == Seen::beyond_budget;
  if (!is_too_much && watched.doubts.are_certain(use)) use.is_countable = false;
  if (use.seen == Seen::all || disk.is_beyond(use)) {
    disk.note(use);
  } else {
    disk.note_doubt();
  }
  if (disk.is_beyond(use)) {
    living.end(LivingSandbox::Cause::disk);
    return After::drop;
  }
  watched.is_counted = use.seen == Seen::all;
  if (is_too_much) return After::pass;
  if (use.seen != Seen::all) {
    watched.next = std::max(Clock::now(), began + pause_in_doubt);
    return After::keep;
  }
  watched.counted = began;
  watched.room = room;
  const bool is_quick = !is_fast_ && took < budget_.processor_time / 50;
  return is_quick ? After::pass : After::keep;
}

// What the host lacks is no fault of the sandbox, which stays watched.
void DiskLane::note_shortage(WatchedDisk& watched, Clock::time_point now) {
  watched.is_counted = false;
  watched.next = now + disk_pause::longest;
  if (now < shortage_told_ + pause_between_complaints) return;
  shortage_told_ = now;
  logger_.error("the server lacks descriptors or memory to look at the disks of sandboxes", {});
}

}  // namespace runtime
