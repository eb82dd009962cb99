#include "runtime/store/jobs.h"

#include <boost/asio/async_result.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "runtime/store/digest.h"

namespace runtime {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using jail::Result;

// What nobody waits for is written this much later.
constexpr std::chrono::milliseconds gathering{5};
// So often the writer looks again by itself before it sleeps until it is woken.
constexpr int most_idle_turns = 20;
// Results that wait for a slow disk; beyond this much they are not kept.
constexpr std::size_t max_waiting_bytes = 64u << 20;
constexpr const char* not_stored = "the result could not be stored";

// A row that says "running" while nobody runs it: its end could not be written.
void correct(JobSummary& summary, const std::set<std::string>& live) {
  if (summary.status != job_running || live.contains(summary.id)) return;
  summary.status = job_failed;
  summary.error = not_stored;
}

}  // namespace

Jobs::Jobs(JobTable table, Logger& logger, std::chrono::seconds calm)
    : table_(std::move(table)),
      durable_(table_.is_durable()),
      salt_(table_.salt()),
      logger_(logger),
      calm_(calm),
      writer_([this] { write_tasks(); }) {}

Jobs::~Jobs() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_one();
  writer_.join();
}

void Jobs::add(Task task) {
  bool wake = task.awaited;
  {
    const std::lock_guard lock(mutex_);
    waiting_bytes_ += task.bytes;
    awaited_ = awaited_ || task.awaited;
    wake = wake || (asleep_ && tasks_.empty());
    tasks_.push_back(std::move(task));
  }
  if (wake) changed_.notify_one();
}

// The start and the end of a short program then are one transaction, and it does not share its
// processor with either. While jobs come one after the other nobody wakes the writer: that would
// take a turn of the processor from a program that is about to start.
void Jobs::gather(std::unique_lock<std::mutex>& lock) {
  if (idle_turns_ >= most_idle_turns) {
    asleep_ = true;
    changed_.wait(lock, [this] { return closing_ || !tasks_.empty(); });
    asleep_ = false;
  }
  changed_.wait_for(lock, gathering, [this] { return closing_ || awaited_; });
  awaited_ = false;
  idle_turns_ = tasks_.empty() ? idle_turns_ + 1 : 0;
}

void Jobs::write_tasks() {
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

// What has gathered goes in one transaction. Where that fails each is tried alone, so that one that
// cannot be done takes no other with it.
void Jobs::perform(std::vector<Task>& tasks) {
  auto all = table_.transaction([&]() -> Result<void> {
    for (Task& task : tasks) {
      if (auto done = task.work(table_); !done) return done;
    }
    return {};
  });
  for (Task& task : tasks) {
    auto outcome = all ? Result<void>() : table_.transaction([&] { return task.work(table_); });
    note(task, outcome);
    if (task.done) task.done(std::move(outcome));
  }
}

void Jobs::note(const Task& task, const Result<void>& outcome) {
  if (!outcome) ++errors_;
  // What is only asked says nothing about whether the disk takes more.
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

template <class Value>
awaitable<Result<Value>> Jobs::ask(std::function<Result<Value>(JobTable&)> question) {
  co_return co_await asio::async_initiate<const asio::use_awaitable_t<>, void(Result<Value>)>(
      [this](auto handler, std::function<Result<Value>(JobTable&)> what) {
        const auto shared = std::make_shared<decltype(handler)>(std::move(handler));
        const auto answer = std::make_shared<std::optional<Value>>();
        Task task;
        task.awaited = true;
        task.work = [what, answer](JobTable& table) -> Result<void> {
          auto value = what(table);
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
        add(std::move(task));
      },
      asio::use_awaitable, std::move(question));
}

void Jobs::begin(JobStart start, Cancel cancel) {
  {
    const std::lock_guard lock(mutex_);
    live_[start.id] = Live{start.owner, std::move(cancel)};
  }
  // A failure is counted and logged; the program is run all the same.
  Task task;
  task.work = [start = std::move(start)](JobTable& table) { return table.insert(start); };
  add(std::move(task));
}

void Jobs::checkpoint(std::string id, std::size_t place, std::string record) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_bytes_ + record.size() > max_waiting_bytes) {
      ++errors_;
      return;
    }
  }
  Task task;
  task.bytes = record.size();
  task.work = [id = std::move(id), place, record = std::move(record)](JobTable& table) {
    return table.checkpoint(id, place, record);
  };
  add(std::move(task));
}

void Jobs::end(std::string id, JobEnd end) {
  bool too_slow = false;
  {
    const std::lock_guard lock(mutex_);
    too_slow = waiting_bytes_ + end.record.size() > max_waiting_bytes;
  }
  if (too_slow) {
    end.record.clear();
    end.error = not_stored;
    ++errors_;
  }
  Task task;
  task.bytes = end.record.size();
  const auto shared = std::make_shared<const JobEnd>(std::move(end));
  task.work = [id, shared](JobTable& table) { return table.finish(id, *shared); };
  add(std::move(task));
  // Only now: who looks between the two still finds it running.
  const std::lock_guard lock(mutex_);
  live_.erase(id);
}

void Jobs::forget(std::string id) {
  Task task;
  task.work = [id](JobTable& table) { return table.remove(id); };
  add(std::move(task));
  const std::lock_guard lock(mutex_);
  live_.erase(id);
}

awaitable<void> Jobs::settle() {
  if (!durable_) co_return;
  // What is asked comes behind all that is to be written, in the same transaction.
  std::function<Result<bool>(JobTable&)> nothing = [](JobTable&) -> Result<bool> { return true; };
  [[maybe_unused]] const auto done = co_await ask<bool>(std::move(nothing));
}

std::set<std::string> Jobs::live_ids() const {
  const std::lock_guard lock(mutex_);
  std::set<std::string> ids;
  for (const auto& [id, live] : live_) ids.insert(id);
  return ids;
}

awaitable<Result<Jobs::Cancelled>> Jobs::cancel(std::string id, std::optional<std::string> owner) {
  std::optional<Cancel> running;
  {
    const std::lock_guard lock(mutex_);
    const auto found = live_.find(id);
    if (found != live_.end() && (!owner || found->second.owner == *owner)) {
      running = found->second.cancel;
    }
  }
  if (running) {
    running->request();
    co_return Cancelled::asked;
  }
  const auto record = co_await find(std::move(id), std::move(owner));
  if (!record) co_return record.error();
  co_return record->has_value() ? Cancelled::over : Cancelled::unknown;
}

// Who is live is asked first: what has ended by then was written before the question is put.
awaitable<Result<std::optional<JobRecord>>> Jobs::find(std::string id,
                                                       std::optional<std::string> owner) {
  const auto live = live_ids();
  std::function<Result<std::optional<JobRecord>>(JobTable&)> question =
      [id, owner](JobTable& table) { return table.find(id, owner); };
  auto record = co_await ask<std::optional<JobRecord>>(std::move(question));
  if (record && *record) correct((*record)->summary, live);
  co_return record;
}

awaitable<Result<JobPage>> Jobs::list(JobQuery query) {
  const auto live = live_ids();
  std::function<Result<JobPage>(JobTable&)> question = [query](JobTable& table) {
    return table.list(query);
  };
  auto page = co_await ask<JobPage>(std::move(question));
  if (page) {
    for (JobSummary& summary : page->jobs) correct(summary, live);
  }
  co_return page;
}

std::string Jobs::owner_of(std::string_view key) const {
  return keyed_sha256(salt_, key).substr(0, 32);
}

}  // namespace runtime
