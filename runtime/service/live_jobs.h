// Running jobs, for callers who follow one.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/agent/agent_runtime.h"
#include "runtime/sandbox/run_request.h"
#include "runtime/sandbox/runner.h"
#include "runtime/service/execution.h"

namespace runtime {

// Receives the events of one job. Called on the job's thread, one call after the other; must not
// block or use the LiveJobs.
class JobWatcher {
 public:
  virtual ~JobWatcher() = default;

  virtual void on_start() = 0;  // for a program that waited for its place
  virtual void on_output(Stream stream, std::string_view bytes) = 0;  // for a program
  virtual void on_event(const agent::Event& event) = 0;               // for a task
  virtual void on_end() = 0;  // the last call; the end is recorded, or the job was not accepted
};

class LiveJob;

// Thread-safe. Must outlive its jobs and its watches.
class LiveJobs {
 public:
  // The state of the job at the beginning of a watch.
  struct Found {
    std::string_view kind;  // code_job or task_job
    std::string_view language;
    OutputEncoding encoding = OutputEncoding::utf8;
    bool has_started = false;
  };

  // The watcher is not called any more once this is destroyed.
  class Watch {
   public:
    Watch(LiveJobs& jobs, std::shared_ptr<JobWatcher> watcher, std::string id, Found found)
        : found(found), jobs_(jobs), watcher_(std::move(watcher)), id_(std::move(id)) {}
    ~Watch() { jobs_.leave(id_, watcher_); }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

    const Found found;

   private:
    LiveJobs& jobs_;
    const std::shared_ptr<JobWatcher> watcher_;
    const std::string id_;
  };

  // Calls `watcher` for all further events of the job; earlier ones are not repeated. Returns null
  // where no such job runs, or where it belongs to another owner; std::nullopt as owner stands for
  // all owners.
  std::unique_ptr<Watch> watch(const std::string& id, const std::optional<std::string>& owner,
                               std::shared_ptr<JobWatcher> watcher);

  enum class Signalled : unsigned char { sent, unknown, no_program };
  // Sends a signal to the program of the job and to its process group: at once, or when it starts.
  // `unknown` is as watch() returns null; a task has no program of its own.
  Signalled signal(const std::string& id, const std::optional<std::string>& owner, int number);

 private:
  friend class LiveJob;

  void leave(const std::string& id, const std::shared_ptr<JobWatcher>& watcher);
  // Both must be called with the mutex held.
  LiveJob* find(std::string_view id) const;
  LiveJob* find_of(std::string_view id, const std::optional<std::string>& owner) const;

  std::mutex mutex_;
  LiveJob* first_ = nullptr;  // a list, so that a job takes no memory; there are a few hundred
};

// Represents a job, from before it is recorded until after its end is. It stays in place, in the
// frame of the coroutine that runs it; the referenced objects must outlive it. While nobody
// watches, events cost nothing.
class LiveJob {
 public:
  struct Identity {
    const Execution& execution;
    const std::string& owner;
    std::string_view kind;
    std::string_view language;
    OutputEncoding encoding = OutputEncoding::utf8;
  };

  LiveJob(LiveJobs& jobs, const Identity& identity);
  ~LiveJob();
  LiveJob(const LiveJob&) = delete;
  LiveJob& operator=(const LiveJob&) = delete;

  // Hooks into the callbacks of the run or task, and calls those that were set before. The run must
  // end before this object does.
  void listen_to(RunOptions& options);
  void listen_to(agent::TaskOptions& options);

 private:
  friend class LiveJobs;

  template <class Call>
  void tell(Call call);
  void start();

  LiveJobs& jobs_;
  const Identity identity_;
  std::function<void()> next_on_start_;
  std::function<void(Stream, std::string_view)> next_on_output_;
  agent::EventSink next_on_event_;
  std::atomic<bool> has_started_{false};
  std::atomic<bool> is_watched_{false};

  // Must be used with the mutex of the LiveJobs held.
  std::vector<std::shared_ptr<JobWatcher>> watchers_;
  std::shared_ptr<ProgramSignals> signals_;  // of a program
  LiveJob* previous_ = nullptr;
  LiveJob* next_ = nullptr;
};

}  // namespace runtime
