// The table of jobs in its database.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "jail/result.h"
#include "runtime/store/database.h"
#include "runtime/store/job_record.h"
#include "runtime/store/job_schema.h"

namespace runtime {

struct JobBounds {
  std::uint32_t kept = 1000;               // number of finished jobs; the oldest are dropped first
  std::uint64_t max_bytes = 256ull << 20;  // size of all their records together
  bool durable = false;                    // commits, and so answers, wait for the disk
};

// Must be used by one thread at a time. Errors are Database's.
class JobTable {
 public:
  // Makes the tables where the file is new or empty, and migrates those of an older version with
  // `read_old_answer` (without it such a file is ErrorKind::unsupported). Marks every job that
  // still "runs" in the file as failed: its server is dead, since nobody else can hold the file.
  static jail::Result<JobTable> open(const std::string& path, JobBounds bounds,
                                     const ReadOldAnswer& read_old_answer = {});

  jail::Result<void> insert(const JobStart& start);
  // Adds a checkpoint to a running job, or replaces the one at the same place.
  jail::Result<void> checkpoint(const std::string& id, std::size_t place,
                                const std::string& record);
  // Drops the checkpoints where there is a record, which contains them. Drops the oldest finished
  // jobs beyond the bounds, perhaps including this one.
  jail::Result<void> finish(const std::string& id, const JobEnd& end);
  jail::Result<void> remove(const std::string& id);

  jail::Result<std::optional<JobRecord>> find(const std::string& id,
                                              const std::optional<std::string>& owner);
  // Errors: those of Database, and ErrorKind::invalid with "cursor: ..." for a cursor that was not
  // given out.
  jail::Result<JobPage> list(const JobQuery& query);

  // Does all of `work` or nothing of it.
  jail::Result<void> transaction(const std::function<jail::Result<void>()>& work);

  // Random bytes, made with the file, with which keys are hashed.
  const std::string& salt() const { return salt_; }
  bool is_durable() const { return bounds_.durable; }
  bool is_in_file() const { return is_in_file_; }  // and not in memory
  std::uint32_t found_running() const { return found_running_; }
  Database& database() noexcept { return database_; }

 private:
  JobTable(Database database, JobBounds bounds) : database_(std::move(database)), bounds_(bounds) {}
  jail::Result<void> set_up(const ReadOldAnswer& read_old_answer);
  jail::Result<std::vector<std::string>> checkpoints_of(std::int64_t job);
  jail::Result<void> read_salt();
  jail::Result<void> fail_running();
  jail::Result<void> count();
  jail::Result<void> trim();

  Database database_;
  JobBounds bounds_;
  std::string salt_;
  bool is_in_file_ = false;
  std::uint32_t found_running_ = 0;
  std::uint64_t finished_ = 0;
  std::uint64_t bytes_ = 0;
};

bool is_job_cursor(const std::string& cursor);

}  // namespace runtime
