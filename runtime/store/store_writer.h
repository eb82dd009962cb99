// The only thread that writes to a database.
#pragma once

#include <atomic>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "jail/result.h"
#include "runtime/observe/logger.h"

namespace runtime {

// Thread-safe. A slow disk delays only this thread. When the disk fails, errors() counts and the
// log reports it once, until no write has failed for a while: a full disk still takes a small row
// here and there. The executors on which it is awaited, and the tables, must outlive it. Its
// destructor writes what is still to be written.
class StoreWriter {
 public:
  using Work = std::function<jail::Result<void>()>;
  // Does all of a work or nothing of it.
  using Transaction = std::function<jail::Result<void>(const Work&)>;

  // The log reports that the disk takes writes again once none has failed for `calm`.
  StoreWriter(Transaction transaction, Logger& logger, std::chrono::seconds calm);
  ~StoreWriter();
  StoreWriter(const StoreWriter&) = delete;
  StoreWriter& operator=(const StoreWriter&) = delete;

  // Does not wait for the disk: the work is done within a few milliseconds, in the order in which
  // it was added, and before any question that is asked later. `bytes` is the memory that it holds
  // until then.
  void add(Work work, std::size_t bytes = 0);
  // The same, but waits until it is done. For the start, when nobody is kept waiting.
  jail::Result<void> do_now(Work work);
  // Waits until all added work is done. Must be called before what that work uses is destroyed.
  void wait_until_done();
  // Returns whether work of `bytes` may be added: the work that waits for a slow disk is bounded.
  bool has_room(std::size_t bytes) const;

  // Runs `question` on the writer's thread and returns its answer.
  template <class Value>
  boost::asio::awaitable<jail::Result<Value>> ask(std::function<jail::Result<Value>()> question);

  void count_error() { ++errors_; }
  std::uint64_t errors() const { return errors_; }

 private:
  struct Task {
    Work work;
    std::function<void(jail::Result<void>)> done;  // may be empty
    std::size_t bytes = 0;
    bool awaited = false;  // somebody waits for `done`
  };

  void add_task(Task task);
  void gather(std::unique_lock<std::mutex>& lock);
  void write_tasks();
  void perform(std::vector<Task>& tasks);
  void note(const Task& task, const jail::Result<void>& outcome);

  const Transaction transaction_;
  Logger& logger_;
  std::atomic<std::uint64_t> errors_{0};
  const std::chrono::seconds calm_;
  bool failing_ = false;                                // used by the writer alone, as the next two
  std::chrono::steady_clock::time_point last_failure_;  // time of the last failed write
  int idle_turns_ = 0;                                  // consecutive turns without a task

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Task> tasks_;
  bool awaited_ = false;  // one of tasks_ is awaited
  std::size_t waiting_bytes_ = 0;
  bool asleep_ = false;  // the writer sleeps until it is woken
  bool closing_ = false;
  std::thread writer_;
};

template <class Value>
boost::asio::awaitable<jail::Result<Value>> StoreWriter::ask(
    std::function<jail::Result<Value>()> question) {
  namespace asio = boost::asio;
  using jail::Result;
  co_return co_await asio::async_initiate<const asio::use_awaitable_t<>, void(Result<Value>)>(
      [this](auto handler, std::function<Result<Value>()> what) {
        const auto shared = std::make_shared<decltype(handler)>(std::move(handler));
        const auto answer = std::make_shared<std::optional<Value>>();
        Task task;
        task.awaited = true;
        task.work = [what, answer]() -> Result<void> {
          auto value = what();
          if (!value) return value.error();
          answer->emplace(std::move(*value));
          return {};
        };
        task.done = [shared, answer](Result<void> outcome) {
          Result<Value> value =
              outcome ? Result<Value>(std::move(**answer)) : Result<Value>(outcome.error());
          const auto executor = asio::get_associated_executor(*shared);
          asio::dispatch(executor, [shared, value = std::move(value)]() mutable {
            std::move (*shared)(std::move(value));
          });
        };
        add_task(std::move(task));
      },
      asio::use_awaitable, std::move(question));
}

}  // namespace runtime
