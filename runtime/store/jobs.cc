#include "runtime/store/jobs.h"

#include <functional>
#include <memory>
#include <utility>

#include "runtime/store/digest.h"

namespace runtime {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using jail::Result;

constexpr const char* not_stored = "the result could not be stored";

}  // namespace

Jobs::Jobs(JobTable table, Logger& logger, std::chrono::seconds calm)
    : table_(std::move(table)),
      durable_(table_.is_durable()),
      is_in_file_(table_.is_in_file()),
      salt_(table_.salt()),
      writer_([this](const StoreWriter::Work& work) { return table_.transaction(work); }, logger,
              calm) {}

void Jobs::begin(JobStart start, Cancel cancel) {
  {
    const std::lock_guard lock(mutex_);
    live_[start.id] = Live{start.owner, std::move(cancel)};
    unwritten_.insert(start.id);
  }
  // A failure is counted and logged; the program is run all the same.
  writer_.add([this, start = std::move(start)] { return table_.insert(start); });
}

void Jobs::checkpoint(std::string id, std::size_t place, std::string record) {
  if (!writer_.has_room(record.size())) {
    writer_.count_error();
    return;
  }
  const std::size_t bytes = record.size();
  writer_.add([this, id = std::move(id), place,
               record = std::move(record)] { return table_.checkpoint(id, place, record); },
              bytes);
}

void Jobs::end(std::string id, JobEnd end) {
  if (!writer_.has_room(end.record.size())) {
    end.record.clear();
    end.error = not_stored;
    writer_.count_error();
  }
  const std::size_t bytes = end.record.size();
  const auto shared = std::make_shared<const JobEnd>(std::move(end));
  writer_.add(
      [this, id, shared] {
        auto done = table_.finish(id, *shared);
        note_written(id);
        return done;
      },
      bytes);
  const std::lock_guard lock(mutex_);
  live_.erase(id);
}

void Jobs::forget(std::string id) {
  writer_.add([this, id] {
    auto done = table_.remove(id);
    note_written(id);
    return done;
  });
  const std::lock_guard lock(mutex_);
  live_.erase(id);
}

awaitable<void> Jobs::settle() {
  if (durable_) co_await written();
}

awaitable<void> Jobs::written() {
  // The question comes after all pending writes, in the same transaction.
  std::function<Result<bool>()> nothing = []() -> Result<bool> { return true; };
  [[maybe_unused]] const auto done = co_await writer_.ask<bool>(std::move(nothing));
}

void Jobs::note_written(const std::string& id) {
  const std::lock_guard lock(mutex_);
  unwritten_.erase(id);
}

// A row says "running" although the end of its job was to be written: that write failed.
void Jobs::correct(JobSummary& summary) const {
  if (summary.status != job_running) return;
  const std::lock_guard lock(mutex_);
  if (unwritten_.contains(summary.id)) return;
  summary.status = job_failed;
  summary.error = not_stored;
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

awaitable<Result<std::optional<JobRecord>>> Jobs::find(std::string id,
                                                       std::optional<std::string> owner) {
  std::function<Result<std::optional<JobRecord>>()> question = [this, id, owner] {
    auto record = table_.find(id, owner);
    if (record && *record) correct((*record)->summary);
    return record;
  };
  co_return co_await writer_.ask<std::optional<JobRecord>>(std::move(question));
}

awaitable<Result<JobPage>> Jobs::list(JobQuery query) {
  std::function<Result<JobPage>()> question = [this, query] {
    auto page = table_.list(query);
    if (page) {
      for (JobSummary& summary : page->jobs) correct(summary);
    }
    return page;
  };
  co_return co_await writer_.ask<JobPage>(std::move(question));
}

std::string Jobs::owner_of(std::string_view key) const {
  return keyed_sha256(salt_, key).substr(0, 32);
}

// No key is recognized by it: it is no digest with the salt as its key.
std::optional<std::string> Jobs::name_of_file() const {
  if (!is_in_file_) return std::nullopt;
  return sha256("the file of jobs " + salt_).substr(0, 32);
}

}  // namespace runtime
