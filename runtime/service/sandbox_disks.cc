#include "runtime/service/sandbox_disks.h"

#include <algorithm>
#include <utility>

namespace runtime {
namespace {

using jail::Error;
using jail::ErrorKind;
using jail::Result;
using Pause = std::chrono::milliseconds;

// Between two looks a guest can write this much, and make so many files.
constexpr std::uint64_t bytes_of_a_second = 2ull << 30;
constexpr std::uint64_t files_of_a_second = 200'000;
constexpr Pause shortest_pause{20};
constexpr Pause longest_pause{500};
// Counting takes a fifth of the thread's time at most.
constexpr int rest_for_each_look = 4;
// A disk is counted this often, whatever the file system says that it has grown by: what others
// remove there meanwhile makes it grow less.
constexpr std::chrono::seconds longest_without_count{5};
constexpr std::size_t names_of_a_turn = 2048;
constexpr std::chrono::seconds patience_at_the_end{2};
// The space of a sandbox that was ended is free some time later.
constexpr Pause pause_of_the_reserve{200};
constexpr std::chrono::seconds pause_when_stuck{60};

Pause pause_for(std::uint64_t room, std::uint64_t of_a_second) {
  return std::clamp(Pause(room * 1000 / of_a_second), shortest_pause, longest_pause);
}

std::uint64_t left(std::uint64_t limit, std::uint64_t used) {
  return limit > used ? limit - used : 0;
}

}  // namespace

Result<std::shared_ptr<SandboxDisks>> SandboxDisks::open(Options options, Logger& logger) {
  auto store = DiskStore::open(options.path);
  if (!store) return store.error();
  return std::make_shared<SandboxDisks>(std::move(*store), std::move(options), logger);
}

SandboxDisks::SandboxDisks(std::shared_ptr<DiskStore> store, Options options, Logger& logger)
    : store_(std::move(store)),
      options_(std::move(options)),
      logger_(logger),
      thread_([this] { run(); }) {}

SandboxDisks::~SandboxDisks() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  is_new_.notify_one();
  thread_.join();
  const auto deadline = Clock::now() + patience_at_the_end;
  while (store_->remove_some(names_of_a_turn) == TreeRemoval::State::more &&
         Clock::now() < deadline) {
  }
}

Result<std::shared_ptr<SandboxDisk>> SandboxDisks::make(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto room = store_->room();
  if (!room) return room.error();
  std::uint64_t promised = options_.reserve_bytes + bytes;
  std::erase_if(made_, [](const auto& disk) { return disk.expired(); });
  for (const auto& weak : made_) {
    const auto disk = weak.lock();
    const bool may_grow = disk != nullptr && disk->is_there();
    if (may_grow) promised += left(disk->limits().bytes, disk->use().bytes);
  }
  if (promised > room->available_bytes) {
    return Error{ErrorKind::exhausted, "the host's disk has no room for another sandbox", 0, {}};
  }
  auto directory = store_->make();
  if (!directory) return directory.error();
  const SandboxDisk::Limits limits{.bytes = bytes, .files = max_files};
  auto disk = std::make_shared<SandboxDisk>(std::move(*directory), limits);
  made_.push_back(disk);
  return disk;
}

void SandboxDisks::watch(const std::shared_ptr<SandboxDisk>& disk,
                         const std::shared_ptr<LivingSandbox>& living) {
  Watched watched{.disk = disk,
                  .living = living,
                  .count = DiskCount(disk->open()),
                  .next = {},
                  .counted = {},
                  .room = {},
                  .is_counted = false};
  {
    const std::lock_guard lock(mutex_);
    to_watch_.push_back(std::move(watched));
  }
  is_new_.notify_one();
}

void SandboxDisks::remove_soon() {
  {
    const std::lock_guard lock(mutex_);
    has_trash_ = true;
  }
  is_new_.notify_one();
}

void SandboxDisks::run() {
  std::unique_lock lock(mutex_);
  while (!is_over_) {
    watched_.splice(watched_.end(), to_watch_);
    const auto now = Clock::now();
    const bool removes = now >= stuck_until_ && std::exchange(has_trash_, false);
    lock.unlock();
    auto next = now + pause_when_stuck;
    look_at_all(now, next);
    const auto state = removes ? store_->remove_some(names_of_a_turn) : TreeRemoval::State::done;
    note_removal(state);
    lock.lock();
    if (state != TreeRemoval::State::done) has_trash_ = true;
    is_new_.wait_until(lock, next, [this] {
      const bool may_remove = has_trash_ && Clock::now() >= stuck_until_;
      return is_over_ || may_remove || !to_watch_.empty();
    });
  }
}

void SandboxDisks::note_removal(TreeRemoval::State state) {
  if (state != TreeRemoval::State::stuck) return;
  logger_.error("files that sandboxes have left cannot be removed", {{"path", options_.path}});
  stuck_until_ = Clock::now() + pause_when_stuck;
}

void SandboxDisks::look_at_all(Clock::time_point now, Clock::time_point& next) {
  if (watched_.empty()) return;
  const auto room = store_->room();
  if (!room) {
    // Nothing can be said about any of them.
    logger_.error("the disk of sandboxes cannot be read", {{"error", room.error().message()}});
    for (const Watched& each : watched_) {
      if (const auto living = each.living.lock()) living->end(LivingSandbox::Cause::disk);
    }
    watched_.clear();
    return;
  }
  for (auto each = watched_.begin(); each != watched_.end();) {
    if (now >= each->next && !look(*each, *room)) {
      each = watched_.erase(each);
      continue;
    }
    next = std::min(next, each->next);
    ++each;
  }
  keep_reserve(*room, now);
  const std::uint64_t beside = left(room->available_bytes, options_.reserve_bytes);
  next = std::min<Clock::time_point>(next, now + pause_for(beside, bytes_of_a_second));
}

// Returns false where the sandbox ends, or has ended.
bool SandboxDisks::look(Watched& watched, const DiskStore::Room& room) {
  const auto began = Clock::now();
  const auto living = watched.living.lock();
  if (living == nullptr || !living->lives()) return false;
  const SandboxDisk::Limits& limits = watched.disk->limits();
  if (may_have_grown(watched, room, began)) {
    if (!count(watched, room, began)) return false;
    if (watched.disk->is_beyond()) {
      living->end(LivingSandbox::Cause::disk);
      return false;
    }
  }
  const DiskUse use = watched.disk->use();
  const auto took = Clock::now() - began;
  const Pause pause = std::min(pause_for(left(limits.bytes, use.bytes), bytes_of_a_second),
                               pause_for(left(limits.files, use.files), files_of_a_second));
  watched.next = began + std::max<Clock::duration>(pause, rest_for_each_look * took);
  return true;
}

// Returns false where the sandbox has ended.
bool SandboxDisks::count(Watched& watched, const DiskStore::Room& room, Clock::time_point now) {
  const auto living = watched.living.lock();
  if (living == nullptr) return false;
  const auto target = living->usage_target();
  if (!target) return false;
  const SandboxDisk::Limits& limits = watched.disk->limits();
  watched.room = room;
  watched.disk->begin_count();
  watched.disk->note(watched.count.look(target->init, limits.bytes, limits.files));
  watched.counted = now;
  watched.is_counted = true;
  return true;
}

// A disk that has half of its room left cannot be full before the whole file system has grown by
// that half.
bool SandboxDisks::may_have_grown(const Watched& watched, const DiskStore::Room& room,
                                  Clock::time_point now) const {
  if (!watched.is_counted || !room.counts_files) return true;
  if (now >= watched.counted + longest_without_count) return true;
  const DiskUse use = watched.disk->use();
  const SandboxDisk::Limits& limits = watched.disk->limits();
  return left(room.used_bytes, watched.room.used_bytes) >= left(limits.bytes, use.bytes) / 2 ||
         left(room.used_files, watched.room.used_files) >= left(limits.files, use.files) / 2;
}

// Where the host's disk is about to be full, ends the sandbox that has the most descriptors on
// their way, since files that are in no count may be among them, and else the one that takes the
// most.
void SandboxDisks::keep_reserve(const DiskStore::Room& room, Clock::time_point now) {
  if (room.available_bytes >= options_.reserve_bytes) return;
  if (now < reserve_kept_ + pause_of_the_reserve || watched_.empty()) return;
  for (Watched& each : watched_) count(each, room, now);
  const auto largest = std::max_element(
      watched_.begin(), watched_.end(), [](const Watched& one, const Watched& other) {
        const DiskUse ours = one.disk->use();
        const DiskUse theirs = other.disk->use();
        return std::pair(ours.in_flight, ours.bytes) < std::pair(theirs.in_flight, theirs.bytes);
      });
  reserve_kept_ = now;
  logger_.warning("the disk of sandboxes is about to be full",
                  {{"available_mb", static_cast<std::int64_t>(room.available_bytes >> 20)}});
  largest->disk->note_full_host();
  if (const auto living = largest->living.lock()) living->end(LivingSandbox::Cause::disk);
  watched_.erase(largest);
}

}  // namespace runtime
