// Volumes: directories of the host that outlive the sandboxes which use them. Each belongs to one
// owner, has a name and a size, and is written to by one sandbox at a time.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/living/sandbox_disk.h"
#include "runtime/observe/logger.h"
#include "runtime/refusals/refusal.h"
#include "runtime/sandbox/cancel.h"
#include "runtime/sandbox/living_request.h"
#include "runtime/service/principal.h"
#include "runtime/service/sandbox_disks.h"
#include "runtime/service/volume_requests.h"
#include "runtime/store/jobs.h"
#include "runtime/store/volume_table.h"

namespace runtime {

class Volumes;

// The volumes of one sandbox, which nobody else may use otherwise until they are released.
// Thread-safe.
class VolumeMounts {
 public:
  struct One {
    std::string id;
    VolumeMount mount;
    std::shared_ptr<SandboxDirectory> directory;
    std::shared_ptr<SandboxDisk> disk;  // null where it is read-only
  };

  VolumeMounts(const VolumeMounts&) = delete;
  VolumeMounts& operator=(const VolumeMounts&) = delete;
  ~VolumeMounts() { release(); }

  const std::vector<One>& all() const noexcept { return all_; }
  // To be called once no process of the sandbox is left. Has an effect once.
  void release();
  // While this lives, nobody else gets the volumes: for work with their files that goes on when the
  // sandbox ends. Null once they are released.
  std::shared_ptr<void> hold() const;

 private:
  friend class Volumes;
  explicit VolumeMounts(std::vector<One> all) : all_(std::move(all)) {}

  const std::vector<One> all_;
  mutable std::mutex mutex_;
  std::shared_ptr<void> held_;  // its end releases them
};

// Thread-safe. The rows are in the database of the jobs, and the directories below that of the
// sandboxes' disks. Errors of the disk are refusals with RefusalCode::internal_server_error or
// host_exhausted, and logged.
class Volumes : public std::enable_shared_from_this<Volumes> {
 public:
  struct Options {
    std::uint32_t most = 100;              // of all owners together
    std::uint64_t max_total_mb = 102'400;  // of their sizes, all together
    std::uint32_t max_per_owner = 100;     // of these, for each owner
    std::uint64_t max_mb_per_owner = 102'400;
    std::uint32_t max_mb = 10'240;  // of each
  };

  // Referenced objects must outlive it, and its coroutines. Removes what a server has left that
  // died while it made or removed a volume. Waits for the database.
  Volumes(Jobs& jobs, std::shared_ptr<SandboxDisks> disks, Logger& logger, Options options);
  ~Volumes();  // ends copies, which leave nothing
  Volumes(const Volumes&) = delete;
  Volumes& operator=(const Volumes&) = delete;

  template <class Answer>
  using Or = std::variant<Answer, Refusal>;

  struct User {
    std::string sandbox;  // its id
    std::string path;
    bool is_read_only = false;
  };
  struct View {
    VolumeRow row;
    std::vector<User> users;
  };
  struct Page {
    std::vector<View> volumes;  // the newest first
    bool has_more = false;
  };

  // The refusal that there are no volumes, also for a server without a Volumes object.
  static Refusal off();

  // Returns when the disk has the volume, and all of the original where it is a copy. A caller that
  // is gone ends a copy.
  boost::asio::awaitable<Or<View>> create(Caller caller, VolumeRequest request, Cancel gone);
  Page list(const Principal& principal, const VolumeQuery& query) const;
  // Finds one by id or name; not_found also where it belongs to another owner.
  Or<View> find(const Principal& principal, std::string_view id_or_name) const;
  // Changes all that is asked for or nothing. Refuses a name while a sandbox has the volume, which
  // comes back with it by that name; fewer MB while one writes to it, or than its files take.
  boost::asio::awaitable<Or<View>> change(Caller caller, std::string id_or_name,
                                          VolumeChange change);
  // Refuses while a sandbox has it, or while it is copied or changed.
  boost::asio::awaitable<std::optional<Refusal>> remove(Caller caller, std::string id_or_name);

  // Gives a sandbox all of the volumes or none. The detail of a refusal begins with the field.
  Or<std::shared_ptr<VolumeMounts>> mount(const Principal& principal, const std::string& sandbox,
                                          const std::vector<VolumeMount>& wanted,
                                          SandboxDisks::Room room);

  // Refuses copies from now on, and ends those under way.
  void drain() { draining_.request(); }

 private:
  friend class VolumeMounts;
  struct Volume {
    VolumeRow row;
    std::optional<VolumeRow> next;  // what it is being changed to
    std::vector<User> users;
    std::shared_ptr<SandboxDisk> written;  // what the sandbox that writes to it has of it
    std::uint32_t copies = 0;              // that are being made of it
    bool is_copy = false;                  // used while it is made
    bool is_leaving = false;
    bool is_to_be_counted = false;  // counters_ will come to it
  };
  using Found = std::shared_ptr<Volume>;

  static bool sees(const Principal& principal, const Volume& volume);
  void restore();
  Found find_locked(const Principal& principal, std::string_view id_or_name) const;
  static View view_of(const Volume& volume);
  // Both the name that a volume has and the one that it is to have are its own.
  bool is_taken_locked(const std::string& owner, const std::string& name) const;
  std::optional<Refusal> why_no_room_locked(const std::string& owner, std::uint32_t size_mb) const;
  std::optional<Refusal> why_too_large_locked(const std::string& owner,
                                              std::uint32_t more_mb) const;
  Or<Found> begin(const Principal& principal, const VolumeRequest& request, Found& original);
  void give_up(const Found& volume, const Found& original);
  Or<Found> begin_change(const Principal& principal, std::string_view id_or_name,
                         const VolumeChange& change);
  std::optional<Refusal> why_not_smaller_locked(const Volume& volume, std::uint32_t size_mb) const;
  boost::asio::awaitable<std::optional<Refusal>> make_smaller(const Caller& caller,
                                                              const Found& volume);
  std::optional<Refusal> make_larger(const Caller& caller, const Found& volume);
  static void end_change_locked(Volume& volume, bool is_done);
  jail::Result<DiskUse> fill(const std::string& id, SandboxDisk& disk, const Volume* original,
                             const Cancel& cancel);
  boost::asio::awaitable<jail::Result<void>> make(Found volume, Found original, Cancel cancel);
  boost::asio::awaitable<jail::Result<bool>> write(
      jail::Result<void> (VolumeTable::*how)(const VolumeRow&), VolumeRow row);
  boost::asio::awaitable<jail::Result<bool>> forget(std::string id);
  Refusal failed(const Caller& caller, const jail::Error& error) const;
  std::optional<Refusal> why_not_mount_locked(const Volume& volume, const VolumeMount& mount) const;
  jail::Result<VolumeMounts::One> open_locked(const Found& volume, const VolumeMount& mount,
                                              SandboxDisks::Room room);
  void release(const std::string& sandbox, const std::vector<VolumeMounts::One>& all);
  void recount_later_locked(const Found& volume);
  void recount(const Found& volume);
  jail::Result<DiskUse> count(const VolumeRow& row) const;
  void note_use_locked(Volume& volume, const DiskUse& use);

  Jobs& jobs_;
  const std::shared_ptr<SandboxDisks> disks_;
  Logger& logger_;
  const Options options_;
  VolumeTable table_;  // used by the writer's thread alone
  const Cancel draining_;

  mutable std::mutex mutex_;
  std::vector<Found> volumes_;  // the oldest first, with those that are being made
  boost::asio::thread_pool copiers_{2};
  // Whoever makes a volume or a copy waits for no count.
  boost::asio::thread_pool counters_{1};
};

}  // namespace runtime
