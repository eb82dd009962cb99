// The jobs of this server: those that run, and the results of past ones.
#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "jail/result.h"
#include "runtime/observe/logger.h"
#include "runtime/sandbox/runner.h"
#include "runtime/store/job_record.h"
#include "runtime/store/job_table.h"

namespace runtime {

// Thread-safe. One thread of its own writes: a slow disk delays nobody but it. When the disk fails
// runs go on, errors() counts and the log says so once, until writing has not failed for a while: a
// full disk still takes a small row here and there.
// Outlived by the executors of whoever awaits it. Its end writes what is still to be written.
class Jobs {
 public:
  // The log says that jobs can be stored again once no write has failed for `calm`.
  Jobs(JobTable table, Logger& logger, std::chrono::seconds calm = std::chrono::seconds(10));
  ~Jobs();
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  // Does not wait for the disk: the row is written within a few milliseconds, before its end is and
  // before any question that is asked after this. `cancel` ends it. Followed by end() or forget().
  void begin(JobStart start, Cancel cancel);
  // Bytes that stay with the job until it has a record, ordered by `place`, where later ones
  // replace earlier ones: what is there when the server dies. Does not wait for the disk.
  void checkpoint(std::string id, std::size_t place, std::string record);
  void end(std::string id, JobEnd end);
  // For a job that was not taken after all.
  void forget(std::string id);
  // Where the table is durable: once the disk has all that was said before this. Else at once.
  boost::asio::awaitable<void> settle();

  enum class Cancelled : std::uint8_t { asked, over, unknown };
  // Nobody's but the owner's; nothing as owner: everybody's.
  boost::asio::awaitable<jail::Result<Cancelled>> cancel(std::string id,
                                                         std::optional<std::string> owner);
  boost::asio::awaitable<jail::Result<std::optional<JobRecord>>> find(
      std::string id, std::optional<std::string> owner);
  boost::asio::awaitable<jail::Result<JobPage>> list(JobQuery query);

  // What is kept of a key: enough to know its jobs by, not enough to use it.
  std::string owner_of(std::string_view key) const;
  std::uint64_t errors() const { return errors_; }

 private:
  struct Live {
    std::string owner;
    Cancel cancel;
  };
  struct Task {
    std::function<jail::Result<void>(JobTable&)> work;
    std::function<void(jail::Result<void>)> done;  // may be empty
    std::size_t bytes = 0;
    bool awaited = false;  // somebody waits for `done`
  };

  void add(Task task);
  void gather(std::unique_lock<std::mutex>& lock);
  void write_tasks();
  void perform(std::vector<Task>& tasks);
  void note(const Task& task, const jail::Result<void>& outcome);
  std::set<std::string> live_ids() const;
  template <class Value>
  boost::asio::awaitable<jail::Result<Value>> ask(
      std::function<jail::Result<Value>(JobTable&)> question);

  JobTable table_;  // the writer's, after the constructor
  const bool durable_;
  const std::string salt_;
  Logger& logger_;
  std::atomic<std::uint64_t> errors_{0};
  const std::chrono::seconds calm_;
  bool failing_ = false;                                // the writer's, as the next two
  std::chrono::steady_clock::time_point last_failure_;  // of a write
  int idle_turns_ = 0;                                  // without a task, in a row

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Task> tasks_;
  bool awaited_ = false;  // one of tasks_ is
  std::size_t waiting_bytes_ = 0;
  bool asleep_ = false;  // until it is woken
  bool closing_ = false;
  std::map<std::string, Live> live_;
  std::thread writer_;
};

}  // namespace runtime
