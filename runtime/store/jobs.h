// The jobs of this server: running ones, and the results of past ones.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "jail/result.h"
#include "runtime/observe/logger.h"
#include "runtime/sandbox/runner.h"
#include "runtime/store/job_record.h"
#include "runtime/store/job_table.h"
#include "runtime/store/store_writer.h"

namespace runtime {

// Thread-safe. A thread of its own writes (StoreWriter): where the disk fails, programs still run
// and errors() counts. The executors on which it is awaited must outlive it. Its destructor writes
// what is still to be written.
class Jobs {
 public:
  // The log reports that jobs can be stored again once no write has failed for `calm`.
  Jobs(JobTable table, Logger& logger, std::chrono::seconds calm = std::chrono::seconds(10));
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  // Does not wait for the disk: the row is written within a few milliseconds, before the job's end
  // is, and before any question that is asked later is answered. `cancel` ends the job. Must be
  // followed by end() or forget().
  void begin(JobStart start, Cancel cancel);
  // Stores bytes that stay with the job until it has a record: they are what is left when the
  // server dies. They are ordered by `place`; later bytes replace earlier ones of the same place.
  // Does not wait for the disk.
  void checkpoint(std::string id, std::size_t place, std::string record);
  void end(std::string id, JobEnd end);
  // For a job that was not accepted after all.
  void forget(std::string id);
  // Where the table is durable, waits until everything before this call is on the disk. Otherwise
  // returns at once.
  boost::asio::awaitable<void> settle();
  // Waits until everything before this call is in the file, where it survives a SIGKILL. Where the
  // table is durable it is on the disk as well.
  boost::asio::awaitable<void> written();

  enum class Cancelled : std::uint8_t { asked, over, unknown };
  // Cancels only the owner's job; without an owner, anybody's.
  boost::asio::awaitable<jail::Result<Cancelled>> cancel(std::string id,
                                                         std::optional<std::string> owner);
  boost::asio::awaitable<jail::Result<std::optional<JobRecord>>> find(
      std::string id, std::optional<std::string> owner);
  boost::asio::awaitable<jail::Result<JobPage>> list(JobQuery query);

  // The stored form of a key: enough to recognize its jobs, not enough to use it.
  std::string owner_of(std::string_view key) const;
  // By which another server knows that it has the same file, and which says nothing else about it;
  // std::nullopt where there is no file.
  std::optional<std::string> name_of_file() const;
  std::uint64_t errors() const { return writer_.errors(); }

  // For other tables of the same file, which may be used only in work that is given to writer().
  Database& database() noexcept { return table_.database(); }
  StoreWriter& writer() noexcept { return writer_; }

 private:
  struct Live {
    std::string owner;
    Cancel cancel;
  };
  // Called on the writer's thread, where the rows are those of `unwritten_`.
  void correct(JobSummary& summary) const;
  void note_written(const std::string& id);

  JobTable table_;  // used by the writer alone, after the constructor
  const bool durable_;
  const bool is_in_file_;
  const std::string salt_;

  mutable std::mutex mutex_;
  std::map<std::string, Live> live_;
  std::set<std::string> unwritten_;  // jobs that have begun and whose end is not in the table
  StoreWriter writer_;               // ends before the members to which it writes
};

}  // namespace runtime
