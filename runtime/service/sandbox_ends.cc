// Sandboxes: how one ends and is forgotten, and the end of the server.
#include <algorithm>
#include <utility>

#include "runtime/service/sandboxes.h"

namespace runtime {
namespace {

namespace asio = boost::asio;

// An owner can still look up this many of their ended sandboxes.
constexpr std::ptrdiff_t known_ended = 100;

}  // namespace

asio::awaitable<void> Sandboxes::remove(Caller caller, Found sandbox) {
  if (!sandbox->end()) {
    history_.note(sandbox->owner(), sandbox->id(), SandboxEventKind::delete_asked, &caller);
    sandbox->living_->end(LivingSandbox::Cause::deleted);
    co_await sandbox->living_->wait_for_end(std::chrono::steady_clock::now() + patience_for_an_end);
    const std::lock_guard lock(mutex_);
    // The server's end may have come first.
    if (sandbox->comes_back()) {
      end_for_good(*sandbox, outcome_of_a_delete());
      history_.keep(sandbox->known());
      note_end(*sandbox, sandbox->end()->outcome);
    }
  } else {
    history_.note(sandbox->owner(), sandbox->id(), SandboxEventKind::forgotten, &caller);
    const std::lock_guard lock(mutex_);
    if (sandbox->comes_back()) end_for_good(*sandbox, outcome_of_a_delete());
    std::erase(sandboxes_, sandbox);
    history_.forget(sandbox->id());
  }
  co_await written(sandbox);
}

bool Sandboxes::comes_back(const Sandbox& sandbox, LivingSandbox::Cause cause) const {
  if (sandbox.disk_ == nullptr || !options_.disks->are_kept()) return false;
  if (cause == LivingSandbox::Cause::stopping) return true;
  return cause == LivingSandbox::Cause::disk && is_ended_for_the_reserve(sandbox) &&
         sandbox.disk_->is_as_it_came_back();
}

bool Sandboxes::is_ended_for_the_reserve(const Sandbox& sandbox) {
  if (sandbox.disk_->is_host_full()) return true;
  const auto* const volume = sandbox.full_volume();
  return volume != nullptr && volume->disk->is_host_full() && !volume->disk->is_beyond();
}

// For one that has ended in this server and would come back with the next one.
void Sandboxes::end_for_good(Sandbox& sandbox, Outcome outcome) {
  give_up_disk(sandbox);
  sandbox.comes_back_ = false;
  const std::lock_guard lock(sandbox.mutex_);
  sandbox.end_->outcome = std::move(outcome);
}

void Sandboxes::on_end(const std::weak_ptr<Sandbox>& weak, const LivingSandbox::Ending& ending) {
  const Found sandbox = weak.lock();
  if (sandbox == nullptr) return;
  Outcome outcome = outcome_of(*sandbox, ending);
  const bool comes_back = this->comes_back(*sandbox, ending.cause);
  const bool is_stopping = ending.cause == LivingSandbox::Cause::stopping;
  if (comes_back && !is_stopping) outcome.cause += "; its files are kept for the next start";
  release_volumes(*sandbox);
  if (!comes_back) give_up_disk(*sandbox);
  logger_.info("sandbox ended", {{"sandbox_id", sandbox->id()}, {"reason", outcome.code}});
  const std::lock_guard lock(mutex_);
  sandbox->comes_back_ = comes_back;
  {
    const std::lock_guard of_it(sandbox->mutex_);
    sandbox->end_ = Sandbox::End{outcome, ending.at};
  }
  if (comes_back) {
    if (!is_stopping) note_end(*sandbox, outcome);
    return history_.news().ring(sandbox->owner());
  }
  history_.keep(sandbox->known());
  note_end(*sandbox, outcome);
  forget_ended_of(sandbox->owner());
}

// Forgets the sandboxes that ended first, where there are more than are kept.
void Sandboxes::forget_ended_of(const std::string& owner) {
  const auto is_one = [&](const Found& each) {
    return each->owner() == owner && each->end() && !each->comes_back();
  };
  auto ended = std::count_if(sandboxes_.begin(), sandboxes_.end(), is_one);
  for (; ended > known_ended; --ended) {
    auto first = sandboxes_.end();
    for (auto each = sandboxes_.begin(); each != sandboxes_.end(); ++each) {
      if (!is_one(*each)) continue;
      if (first == sandboxes_.end() || (*each)->end()->at < (*first)->end()->at) first = each;
    }
    history_.forget((*first)->id());
    sandboxes_.erase(first);
  }
}

bool Sandboxes::is_over_for(std::string_view owner) const {
  const std::lock_guard lock(mutex_);
  if (!is_stopping_) return false;
  return std::all_of(sandboxes_.begin(), sandboxes_.end(), [owner](const Found& sandbox) {
    return sandbox->owner() != owner || sandbox->end().has_value();
  });
}

void Sandboxes::drain() {
  const std::lock_guard lock(mutex_);
  is_stopping_ = true;
  history_.news().ring_all();
  for (const Found& sandbox : sandboxes_) {
    if (sandbox->living() == nullptr) continue;
    sandbox->living()->end_when_unattended(LivingSandbox::Cause::stopping);
  }
}

asio::awaitable<void> Sandboxes::stop(std::chrono::milliseconds patience) {
  std::vector<Found> alive;
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    history_.news().ring_all();
    for (const Found& sandbox : sandboxes_) {
      if (!sandbox->end()) alive.push_back(sandbox);
    }
  }
  for (const Found& sandbox : alive) sandbox->living()->end(LivingSandbox::Cause::stopping);
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (const Found& sandbox : alive) co_await sandbox->living()->wait_for_end(deadline);
}

}  // namespace runtime
