// The disks of sandboxes: directories of the host with a bound that a watch holds, since a user
// without privileges can set no quota. What that means is in policies/THREAT_MODEL.md.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "jail/result.h"
#include "runtime/living/disk_count.h"
#include "runtime/living/disk_store.h"
#include "runtime/living/living_sandbox.h"
#include "runtime/living/sandbox_disk.h"
#include "runtime/observe/logger.h"
#include "runtime/service/disk_lane.h"

namespace runtime {

// Thread-safe. Two lanes look at the disks and end sandboxes that have more than they may. A thread
// of its own keeps the reserve and removes what ended ones have left: neither waits for a count.
class SandboxDisks : public std::enable_shared_from_this<SandboxDisks> {
 public:
  struct Options {
    std::string path;                 // absolute
    std::uint64_t reserve_bytes = 0;  // of the host's disk, which sandboxes leave free
    DiskReturn return_of_server = {};
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
  // Room on the host's disk that a disk needs anew, or that it had with an earlier server.
  enum class Room : std::uint8_t { anew, as_before };
  // The same for a directory that is there already and outlives the sandbox, with what it takes.
  jail::Result<std::shared_ptr<SandboxDisk>> adopt(std::shared_ptr<SandboxDirectory> directory,
                                                   std::uint64_t bytes, const DiskUse& use,
                                                   Room room);
  // Changes how much may be in it; a lower limit waits for a count. Errors: refused (there is more
  // in it); timed_out (it was not counted in time); exhausted, as make().
  jail::Result<void> resize(SandboxDisk& disk, std::uint64_t bytes);
  DiskStore& store() const noexcept { return *store_; }
  // As DiskStore::is_kept().
  bool are_kept() const noexcept { return store_->is_kept(); }
  // The disk of that name which this server had before its last end; it has its room already.
  // Errors: as DiskStore::take().
  jail::Result<std::shared_ptr<SandboxDisk>> take(const std::string& name, std::uint64_t bytes);
  // As DiskStore::give_up_others(); they are removed soon.
  void give_up_others(const std::set<std::string, std::less<>>& kept);
  // From now on the sandbox is ended when it takes more than it may.
  // `mount`: as of DiskCount.
  void watch(const std::shared_ptr<SandboxDisk>& disk, const std::shared_ptr<LivingSandbox>& living,
             std::optional<std::uint64_t> mount = std::nullopt);
  // To be called once something was given up.
  void remove_soon();
  // Why sandboxes would be ended for the reserve now; std::nullopt: they would not.
  std::optional<std::string> shortage() const;

 private:
  using Clock = std::chrono::steady_clock;

  struct Made {
    std::weak_ptr<SandboxDisk> disk;
    std::weak_ptr<LivingSandbox> living;  // once it is watched
  };
  struct Known {
    std::shared_ptr<SandboxDisk> disk;
    std::shared_ptr<LivingSandbox> living;
  };

  jail::Result<void> promise_locked(std::uint64_t bytes);
  void run();
  std::vector<Known> all_that_live();
  Clock::time_point keep_reserve(Clock::time_point now);
  void end_one(const DiskStore::Room& room, bool lacks_files);
  void note_removal(TreeRemoval::State state);

  const std::shared_ptr<DiskStore> store_;
  const Options options_;
  Logger& logger_;
  DiskLane fast_;
  DiskLane slow_;

  std::mutex mutex_;
  std::condition_variable is_new_;
  std::vector<Made> made_;
  bool has_new_ = false;
  bool has_trash_ = true;
  bool is_over_ = false;

  // The thread's own.
  Clock::time_point reserve_kept_{};  // when a sandbox was ended for it
  Clock::time_point stuck_until_{};   // no removal is tried before

  std::thread thread_;
};

}  // namespace runtime
