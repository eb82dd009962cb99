#include "runtime/service/live_jobs.h"

#include <algorithm>
#include <utility>

namespace runtime {

LiveJob* LiveJobs::find(std::string_view id) const {
  LiveJob* job = first_;
  while (job != nullptr && job->identity_.execution.id != id) job = job->next_;
  return job;
}

LiveJob* LiveJobs::find_of(std::string_view id, const std::optional<std::string>& owner) const {
  LiveJob* const job = find(id);
  return job == nullptr || (owner && *owner != job->identity_.owner) ? nullptr : job;
}

LiveJobs::Signalled LiveJobs::signal(const std::string& id, const std::optional<std::string>& owner,
                                     int number) {
  const std::lock_guard lock(mutex_);
  LiveJob* const job = find_of(id, owner);
  if (job == nullptr) return Signalled::unknown;
  if (job->signals_ == nullptr) return Signalled::no_program;
  job->signals_->send(number);
  return Signalled::sent;
}

std::unique_ptr<LiveJobs::Watch> LiveJobs::watch(const std::string& id,
                                                 const std::optional<std::string>& owner,
                                                 std::shared_ptr<JobWatcher> watcher) {
  const std::lock_guard lock(mutex_);
  LiveJob* const job = find_of(id, owner);
  if (job == nullptr) return nullptr;
  job->watchers_.push_back(watcher);
  job->is_watched_ = true;
  const LiveJob::Identity& identity = job->identity_;
  const Found found{.kind = identity.kind,
                    .language = identity.language,
                    .encoding = identity.encoding,
                    .has_started = job->has_started_};
  return std::make_unique<Watch>(*this, std::move(watcher), id, found);
}

void LiveJobs::leave(const std::string& id, const std::shared_ptr<JobWatcher>& watcher) {
  const std::lock_guard lock(mutex_);
  LiveJob* const job = find(id);
  if (job == nullptr) return;
  std::erase(job->watchers_, watcher);
  job->is_watched_ = !job->watchers_.empty();
}

LiveJob::LiveJob(LiveJobs& jobs, const Identity& identity) : jobs_(jobs), identity_(identity) {
  const std::lock_guard lock(jobs_.mutex_);
  next_ = jobs_.first_;
  if (next_ != nullptr) next_->previous_ = this;
  jobs_.first_ = this;
}

LiveJob::~LiveJob() {
  const std::lock_guard lock(jobs_.mutex_);
  for (const auto& watcher : watchers_) watcher->on_end();
  (previous_ == nullptr ? jobs_.first_ : previous_->next_) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
}

// A watcher that begins at this very moment may miss the present call.
template <class Call>
void LiveJob::tell(Call call) {
  if (!is_watched_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(jobs_.mutex_);
  for (const auto& watcher : watchers_) call(*watcher);
}

// The mutex is held, so that a watcher either finds the job started or is told that it starts.
void LiveJob::start() {
  if (has_started_) return;
  const std::lock_guard lock(jobs_.mutex_);
  has_started_ = true;
  for (const auto& watcher : watchers_) watcher->on_start();
}

void LiveJob::listen_to(RunOptions& options) {
  {
    const std::lock_guard lock(jobs_.mutex_);
    signals_ = std::make_shared<ProgramSignals>();
    options.signals = signals_;
  }
  next_on_start_ = std::exchange(options.on_start, [this] {
    start();
    if (next_on_start_) next_on_start_();
  });
  next_on_output_ = std::exchange(options.on_output, [this](Stream stream, std::string_view bytes) {
    tell([&](JobWatcher& watcher) { watcher.on_output(stream, bytes); });
    if (next_on_output_) next_on_output_(stream, bytes);
  });
}

void LiveJob::listen_to(agent::TaskOptions& options) {
  next_on_event_ = std::exchange(options.on_event, [this](const agent::Event& event) {
    start();
    tell([&](JobWatcher& watcher) { watcher.on_event(event); });
    if (next_on_event_) next_on_event_(event);
  });
}

}  // namespace runtime
