#include "runtime/service/sandbox_disks.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "runtime/service/disk_pause.h"

namespace runtime {
namespace {

using disk_pause::Pause;
using disk_pause::room_of;
using jail::Error;
using jail::ErrorKind;
using jail::Result;

// A look in the fast lane may take so much; what takes more is the slow lane's. There it may take
// what the most files that a disk may have take several times over.
constexpr DiskCount::Budget fast_budget{
    .processor_time = Pause(60), .time = Pause(300), .max_text_bytes = 64u << 20};
constexpr DiskCount::Budget slow_budget{
    .processor_time = Pause(1500), .time = std::chrono::seconds(10), .max_text_bytes = 64u << 20};
constexpr std::size_t names_of_a_turn = 2048;
constexpr std::chrono::seconds patience_at_the_end{2};
// The space of a sandbox that was ended is free some time later.
constexpr Pause pause_of_the_reserve{200};
constexpr std::chrono::seconds pause_when_stuck{60};
// One file in so many is left free.
constexpr std::uint64_t files_for_each_reserved = 100;

bool lacks_files(const DiskStore::Room& room) {
  return room.counts_files && room.available_files < room.all_files / files_for_each_reserved;
}

}  // namespace

Result<std::shared_ptr<SandboxDisks>> SandboxDisks::open(Options options, Logger& logger) {
  auto store = DiskStore::open(options.path, options.return_of_server);
  if (!store) return store.error();
  return std::make_shared<SandboxDisks>(std::move(*store), std::move(options), logger);
}

SandboxDisks::SandboxDisks(std::shared_ptr<DiskStore> store, Options options, Logger& logger)
    : store_(std::move(store)),
      options_(std::move(options)),
      logger_(logger),
      fast_(store_, fast_budget, logger),
      slow_(store_, slow_budget, logger),
      thread_([this] { run(); }) {
  DiskLane::start(fast_, slow_);
}

SandboxDisks::~SandboxDisks() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  is_new_.notify_one();
  thread_.join();
  fast_.stop();
  slow_.stop();
  const auto deadline = Clock::now() + patience_at_the_end;
  while (store_->remove_some(names_of_a_turn) == TreeRemoval::State::more &&
         Clock::now() < deadline) {
  }
}

// Refuses where the host's disk lacks room for so many bytes more.
Result<void> SandboxDisks::promise_locked(std::uint64_t bytes) {
  const auto room = store_->room();
  if (!room) return room.error();
  std::uint64_t promised = options_.reserve_bytes + bytes;
  std::erase_if(made_, [](const Made& made) { return made.disk.expired(); });
  for (const Made& made : made_) {
    const auto disk = made.disk.lock();
    const bool may_grow = disk != nullptr && disk->is_there();
    if (may_grow) promised += room_of(disk->limits().bytes, disk->use().bytes);
  }
  if (promised > room->available_bytes || lacks_files(*room)) {
    return Error{ErrorKind::exhausted, "the host's disk has no room for another sandbox", 0, {}};
  }
  return {};
}

Result<std::shared_ptr<SandboxDisk>> SandboxDisks::adopt(
    std::shared_ptr<SandboxDirectory> directory, std::uint64_t bytes, const DiskUse& use,
    Room room) {
  const std::lock_guard lock(mutex_);
  if (room == Room::anew) {
    auto promised = promise_locked(room_of(bytes, use.bytes));
    if (!promised) return promised.error();
  }
  const SandboxDisk::Limits limits{.bytes = bytes, .files = max_files};
  auto disk = std::make_shared<SandboxDisk>(std::move(directory), limits);
  disk->note(use);
  made_.push_back({.disk = disk, .living = {}});
  return disk;
}

Result<std::shared_ptr<SandboxDisk>> SandboxDisks::make(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (auto promised = promise_locked(bytes); !promised) return promised.error();
  auto directory = store_->make();
  if (!directory) return directory.error();
  const SandboxDisk::Limits limits{.bytes = bytes, .files = max_files};
  auto disk = std::make_shared<SandboxDisk>(std::move(*directory), limits);
  made_.push_back({.disk = disk, .living = {}});
  return disk;
}

Result<void> SandboxDisks::resize(SandboxDisk& disk, std::uint64_t bytes) {
  const std::uint64_t before = disk.limits().bytes;
  std::unique_lock<std::mutex> lock;
  if (bytes > before) {
    // The bytes that it may take already are promised.
    lock = std::unique_lock(mutex_);
    if (auto promised = promise_locked(bytes - before); !promised) return promised;
  }
  const SandboxDisk::Change change = disk.limit(bytes, SandboxDisk::Excess::is_refused);
  if (change == SandboxDisk::Change::made) return {};
  if (change == SandboxDisk::Change::not_counted) {
    return Error{ErrorKind::timed_out, "the directory of the sandbox was not counted", 0, {}};
  }
  return Error{ErrorKind::refused, "more is in the directory of the sandbox", 0, {}};
}

Result<std::shared_ptr<SandboxDisk>> SandboxDisks::take(const std::string& name,
                                                        std::uint64_t bytes) {
  auto directory = store_->take(name);
  if (!directory) return directory.error();
  const SandboxDisk::Limits limits{.bytes = bytes, .files = max_files};
  auto disk = std::make_shared<SandboxDisk>(std::move(*directory), limits,
                                            SandboxDisk::Content::of_an_earlier_server);
  const std::lock_guard lock(mutex_);
  made_.push_back({.disk = disk, .living = {}});
  return disk;
}

void SandboxDisks::give_up_others(const std::set<std::string, std::less<>>& kept) {
  store_->give_up_others(kept);
  remove_soon();
}

void SandboxDisks::watch(const std::shared_ptr<SandboxDisk>& disk,
                         const std::shared_ptr<LivingSandbox>& living,
                         std::optional<std::uint64_t> mount) {
  disk->count_by([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    self->fast_.wake();
    self->slow_.wake();
  });
  {
    const std::lock_guard lock(mutex_);
    for (Made& made : made_) {
      if (made.disk.lock() == disk) made.living = living;
    }
    has_new_ = true;
  }
  is_new_.notify_one();
  fast_.add({.disk = disk,
             .living = living,
             .count = DiskCount(disk->open(), mount),
             .doubts = {},
             .next = {},
             .rested = {},
             .counted = {},
             .room = {},
             .is_counted = false});
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
    const auto now = Clock::now();
    const bool removes = now >= stuck_until_ && std::exchange(has_trash_, false);
    has_new_ = false;
    lock.unlock();
    store_->show_life();
    const auto next = keep_reserve(now);
    const auto state = removes ? store_->remove_some(names_of_a_turn) : TreeRemoval::State::done;
    note_removal(state);
    lock.lock();
    if (state != TreeRemoval::State::done) has_trash_ = true;
    is_new_.wait_until(lock, next, [this] {
      const bool may_remove = has_trash_ && Clock::now() >= stuck_until_;
      return is_over_ || may_remove || has_new_;
    });
  }
}

void SandboxDisks::note_removal(TreeRemoval::State state) {
  if (state != TreeRemoval::State::stuck) return;
  logger_.error("files that sandboxes have left cannot be removed", {{"path", options_.path}});
  stuck_until_ = Clock::now() + pause_when_stuck;
}

std::vector<SandboxDisks::Known> SandboxDisks::all_that_live() {
  std::vector<Known> known;
  {
    const std::lock_guard lock(mutex_);
    for (const Made& made : made_) {
      Known one{.disk = made.disk.lock(), .living = made.living.lock()};
      if (one.disk != nullptr && one.living != nullptr) known.push_back(std::move(one));
    }
  }
  std::erase_if(known, [](const Known& one) { return !one.living->lives(); });
  return known;
}

// Returns when this is to be called again.
SandboxDisks::Clock::time_point SandboxDisks::keep_reserve(Clock::time_point now) {
  if (all_that_live().empty()) return now + pause_when_stuck;
  const auto room = store_->room();
  if (!room) return now + disk_pause::longest;
  const std::uint64_t beside = room_of(room->available_bytes, options_.reserve_bytes);
  if (beside > 0 && !lacks_files(*room)) {
    return now + disk_pause::until_used(beside, disk_pause::bytes_of_a_second);
  }
  if (now >= reserve_kept_ + pause_of_the_reserve) {
    reserve_kept_ = now;
    end_one(*room, lacks_files(*room));
  }
  return now + disk_pause::shortest;
}

// Where the host's disk is about to be full, ends a sandbox that could not be counted lately; else
// the one that has the most descriptors on their way, since files that are in no count may be among
// them; else the one that takes the most.
void SandboxDisks::end_one(const DiskStore::Room& room, bool lacks_files) {
  const auto known = all_that_live();
  if (known.empty()) return;
  const auto rank = [lacks_files](const Known& one) {
    const DiskUse use = one.disk->use();
    // The end of one that is as it came back would free nothing.
    return std::tuple(one.disk->is_in_doubt(), use.in_flight, !one.disk->is_as_it_came_back(),
                      lacks_files ? use.files : use.bytes);
  };
  const auto largest = std::max_element(
      known.begin(), known.end(),
      [&rank](const Known& one, const Known& other) { return rank(one) < rank(other); });
  logger_.warning("the disk of sandboxes is about to be full",
                  {{"available_mb", static_cast<std::int64_t>(room.available_bytes >> 20)},
                   {"available_files", static_cast<std::int64_t>(room.available_files)}});
  largest->disk->note_full_host();
  largest->living->end(LivingSandbox::Cause::disk);
}

std::optional<std::string> SandboxDisks::shortage() const {
  const auto room = store_->room();
  if (!room) return std::nullopt;
  if (room->available_bytes <= options_.reserve_bytes) {
    return "the host's disk has less free than SANDBOX_DISK_RESERVE_MB";
  }
  if (lacks_files(*room)) return "the host's disk has too few files (inodes) free";
  return std::nullopt;
}

}  // namespace runtime
