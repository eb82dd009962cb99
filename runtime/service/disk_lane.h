// One of the threads that look at the disks of sandboxes.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "runtime/living/disk_count.h"
#include "runtime/living/disk_store.h"
#include "runtime/living/living_sandbox.h"
#include "runtime/living/sandbox_disk.h"
#include "runtime/observe/logger.h"

namespace runtime {

struct WatchedDisk {
  using Clock = DiskCount::Clock;

  std::shared_ptr<SandboxDisk> disk;
  std::weak_ptr<LivingSandbox> living;
  DiskCount count;
  Doubts doubts{};
  Clock::time_point next{};     // when it is to be looked at
  Clock::time_point rested{};   // when it may be counted again at the earliest
  Clock::time_point counted{};  // when all of it was counted last
  DiskStore::Room room{};       // as it was then
  bool is_counted = false;
};

// Thread-safe. Looks at disks one after another, at each the more often the closer it is to its
// limit, and ends sandboxes that have more than they may or that keep themselves from being
// counted. A look that is too much for a lane is the slower one's, so that a sandbox with much to
// read does not keep the watch from all others.
class DiskLane {
 public:
  DiskLane(std::shared_ptr<DiskStore> store, DiskCount::Budget budget, Logger& logger)
      : store_(std::move(store)), budget_(budget), logger_(logger) {}
  DiskLane(const DiskLane&) = delete;
  DiskLane& operator=(const DiskLane&) = delete;
  ~DiskLane() { stop(); }

  // To be called once, for the two lanes that pass disks to each other; each outlives the other's
  // thread.
  static void start(DiskLane& fast, DiskLane& slow);
  void stop();

  void add(WatchedDisk watched);
  // A count of one of them is wanted.
  void wake();

 private:
  using Clock = WatchedDisk::Clock;
  using Watched = std::list<WatchedDisk>;
  enum class After : std::uint8_t {
    keep,
    pass,  // to the other lane
    drop,  // the sandbox ends, or has ended
  };

  void take(Watched& from, Watched::iterator one);
  void run();
  Clock::time_point look_at_all();
  After look(WatchedDisk& watched);
  After count(WatchedDisk& watched, LivingSandbox& living, const DiskStore::Room& room);
  void note_shortage(WatchedDisk& watched, Clock::time_point now);

  const std::shared_ptr<DiskStore> store_;
  const DiskCount::Budget budget_;
  Logger& logger_;
  DiskLane* other_ = nullptr;
  bool is_fast_ = false;

  std::mutex mutex_;
  std::condition_variable is_new_;
  Watched added_;  // which the thread takes
  bool is_awaited_ = false;
  bool is_over_ = false;

  // The thread's own.
  Watched watched_;
  Clock::time_point shortage_told_{};

  std::thread thread_;
};

}  // namespace runtime
