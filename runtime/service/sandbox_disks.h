// The disks of sandboxes: directories of the host with a bound that a watch holds, since a user
// without privileges can set no quota. What that means is in policies/THREAT_MODEL.md.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "jail/result.h"
#include "runtime/living/disk_count.h"
#include "runtime/living/disk_store.h"
#include "runtime/living/living_sandbox.h"
#include "runtime/living/sandbox_disk.h"
#include "runtime/observe/logger.h"

namespace runtime {

// Thread-safe. A thread of its own looks at the disks, ends sandboxes that have more than they may,
// and removes what ended ones have left. It sees each disk the more often the closer that is to its
// limit, and spends a fifth of its time on it at most.
class SandboxDisks {
 public:
  struct Options {
    std::string path;                 // absolute
    std::uint64_t reserve_bytes = 0;  // of the host's disk, which sandboxes leave free
  };
  // The most files that a disk may have, with directories and links.
  static constexpr std::uint64_t max_files = 65'536;

  // Errors: as DiskStore::open().
  static jail::Result<std::shared_ptr<SandboxDisks>> open(Options options, Logger& logger);
  SandboxDisks(std::shared_ptr<DiskStore> store, Options options, Logger& logger);
  ~SandboxDisks();  // removes what can be removed within a moment

  // Errors: exhausted where the host's disk has no room for this one beside the reserve and what
  // the other ones may still take; kernel.
  jail::Result<std::shared_ptr<SandboxDisk>> make(std::uint64_t bytes);
  // From now on the sandbox is ended when it takes more than it may.
  void watch(const std::shared_ptr<SandboxDisk>& disk,
             const std::shared_ptr<LivingSandbox>& living);
  // To be called once something was given up.
  void remove_soon();

 private:
  using Clock = std::chrono::steady_clock;

  struct Watched {
    std::shared_ptr<SandboxDisk> disk;
    std::weak_ptr<LivingSandbox> living;
    DiskCount count;
    Clock::time_point next{};     // when it is to be looked at
    Clock::time_point counted{};  // when it was counted last
    DiskStore::Room room{};       // as it was then
    bool is_counted = false;
  };

  void run();
  void look_at_all(Clock::time_point now, Clock::time_point& next);
  bool look(Watched& watched, const DiskStore::Room& room);
  static bool count(Watched& watched, const DiskStore::Room& room, Clock::time_point now);
  bool may_have_grown(const Watched& watched, const DiskStore::Room& room,
                      Clock::time_point now) const;
  void keep_reserve(const DiskStore::Room& room, Clock::time_point now);
  void note_removal(TreeRemoval::State state);

  const std::shared_ptr<DiskStore> store_;
  const Options options_;
  Logger& logger_;

  std::mutex mutex_;
  std::condition_variable is_new_;
  std::vector<std::weak_ptr<SandboxDisk>> made_;
  std::list<Watched> to_watch_;  // which the thread takes
  bool has_trash_ = true;
  bool is_over_ = false;

  // The thread's own.
  std::list<Watched> watched_;
  Clock::time_point reserve_kept_{};  // when a sandbox was ended for it
  Clock::time_point stuck_until_{};   // no removal is tried before

  std::thread thread_;
};

}  // namespace runtime
