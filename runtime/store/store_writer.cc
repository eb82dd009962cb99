#include "runtime/store/store_writer.h"

#include <future>

namespace runtime {
namespace {

using jail::Result;

// The delay of a write that nobody waits for.
constexpr std::chrono::milliseconds gathering{5};
// How often the writer looks again by itself before it sleeps until it is woken.
constexpr int max_idle_turns = 20;
// The bound on work that waits for a slow disk.
constexpr std::size_t max_waiting_bytes = 64u << 20;

}  // namespace

StoreWriter::StoreWriter(Transaction transaction, Logger& logger, std::chrono::seconds calm)
    : transaction_(std::move(transaction)),
      logger_(logger),
      calm_(calm),
      writer_([this] { write_tasks(); }) {}

StoreWriter::~StoreWriter() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_one();
  writer_.join();
}

void StoreWriter::add(Work work, std::size_t bytes) {
  Task task;
  task.work = std::move(work);
  task.bytes = bytes;
  add_task(std::move(task));
}

Result<void> StoreWriter::do_now(Work work) {
  std::promise<Result<void>> promise;
  Task task;
  task.awaited = true;
  task.work = std::move(work);
  task.done = [&promise](Result<void> outcome) { promise.set_value(std::move(outcome)); };
  add_task(std::move(task));
  return promise.get_future().get();
}

void StoreWriter::wait_until_done() {
  if (!do_now([] { return Result<void>(); })) count_error();
}

bool StoreWriter::has_room(std::size_t bytes) const {
  const std::lock_guard lock(mutex_);
  return waiting_bytes_ + bytes <= max_waiting_bytes;
}

void StoreWriter::add_task(Task task) {
  // The writer is woken under the lock: whoever waits for the answer may destroy this object when
  // the task is done, which is no sooner than the lock is given back.
  const std::lock_guard lock(mutex_);
  const bool wakes = task.awaited || (asleep_ && tasks_.empty());
  waiting_bytes_ += task.bytes;
  awaited_ = awaited_ || task.awaited;
  tasks_.push_back(std::move(task));
  if (wakes) changed_.notify_one();
}

// The start and the end of a short program thus become one transaction, and the writer does not run
// on the program's processor during either. While jobs come one after the other nobody has to wake
// the writer, which would take processor time from a program that is about to start.
void StoreWriter::gather(std::unique_lock<std::mutex>& lock) {
  if (idle_turns_ >= max_idle_turns) {
    asleep_ = true;
    changed_.wait(lock, [this] { return closing_ || !tasks_.empty(); });
    asleep_ = false;
  }
  changed_.wait_for(lock, gathering, [this] { return closing_ || awaited_; });
  awaited_ = false;
  idle_turns_ = tasks_.empty() ? idle_turns_ + 1 : 0;
}

void StoreWriter::write_tasks() {
  for (;;) {
    std::vector<Task> tasks;
    {
      std::unique_lock lock(mutex_);
      gather(lock);
      if (tasks_.empty() && closing_) return;
      tasks.swap(tasks_);
    }
    if (tasks.empty()) continue;
    perform(tasks);
    std::size_t bytes = 0;
    for (const Task& task : tasks) bytes += task.bytes;
    const std::lock_guard lock(mutex_);
    waiting_bytes_ -= bytes;
  }
}

// Gathered work is done in one transaction. Where that fails, each work is tried alone, so that one
// that cannot be done does not spoil the others.
void StoreWriter::perform(std::vector<Task>& tasks) {
  const auto all = transaction_([&]() -> Result<void> {
    for (Task& task : tasks) {
      if (auto done = task.work(); !done) return done;
    }
    return {};
  });
  for (Task& task : tasks) {
    auto outcome = all ? Result<void>() : transaction_(task.work);
    note(task, outcome);
    if (task.done) task.done(std::move(outcome));
  }
}

void StoreWriter::note(const Task& task, const Result<void>& outcome) {
  if (!outcome) ++errors_;
  // A question says nothing about whether the disk takes more writes.
  if (task.awaited) return;
  const auto now = std::chrono::steady_clock::now();
  if (!outcome) {
    last_failure_ = now;
    if (!failing_) {
      logger_.error("jobs cannot be stored; programs run on",
                    {{"error", outcome.error().message()}});
    }
    failing_ = true;
  } else if (failing_ && now - last_failure_ >= calm_) {
    logger_.info("jobs can be stored again");
    failing_ = false;
  }
}

}  // namespace runtime
