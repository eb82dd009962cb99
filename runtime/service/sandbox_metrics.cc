// Sandboxes: the usage of each, on request and every few seconds, and the memory that a paused one
// gives back.
#include <boost/asio/post.hpp>
#include <memory>
#include <utility>

#include "runtime/json/writer.h"
#include "runtime/living/memory_return.h"
#include "runtime/service/sandboxes.h"

namespace runtime {
namespace {

namespace asio = boost::asio;
using jail::Result;

Result<SandboxUsage> look_at(const Sandbox& sandbox) {
  const auto target = sandbox.usage_target();
  return target ? usage_of(*target) : target.error();
}

}  // namespace

asio::awaitable<Result<SandboxUsage>> Sandboxes::usage(Found sandbox) {
  auto look = [sandbox]() -> Result<SandboxUsage> {
    auto usage = look_at(*sandbox);
    if (!usage) return usage;
    return sandbox->usage_history().completed(*usage);
  };
  co_return co_await do_file_work(*sandbox, std::move(look));
}

// Must be called with mutex_ held. There is one timer for all, which runs while any sandbox lives.
void Sandboxes::begin_sampling() {
  if (std::exchange(is_sampling_, true)) return;
  asio::post(sampling_, [this] { sample_later(); });
}

void Sandboxes::sample_later() {
  if (is_sampling_over_) return;
  sample_timer_.expires_after(UsageHistory::interval);
  sample_timer_.async_wait([this](boost::system::error_code error) {
    if (!error) sample_all();
  });
}

std::chrono::system_clock::duration Sandboxes::calendar_ahead_of_the_clock() {
  return std::chrono::system_clock::now().time_since_epoch() -
         std::chrono::steady_clock::now().time_since_epoch();
}

// What is kept says by the calendar when a sandbox ends, which the next server goes by.
void Sandboxes::keep_if_the_calendar_was_set() {
  constexpr std::chrono::seconds a_jump{1};
  const auto ahead = calendar_ahead_of_the_clock();
  if (std::chrono::abs(ahead - calendar_ahead_) < a_jump) return;
  calendar_ahead_ = ahead;
  const std::lock_guard lock(mutex_);
  for (const Found& sandbox : sandboxes_) {
    if (!sandbox->end()) history_.keep(sandbox->known());
  }
}

// The usage of a paused sandbox does not change.
void Sandboxes::sample_all() {
  keep_if_the_calendar_was_set();
  auto running = std::make_shared<std::vector<Found>>();
  {
    const std::lock_guard lock(mutex_);
    bool has_living = false;
    for (const Found& sandbox : sandboxes_) {
      const Sandbox::State state = sandbox->state();
      has_living = has_living || state != Sandbox::State::ended;
      if (state == Sandbox::State::running) running->push_back(sandbox);
    }
    is_sampling_ = has_living;
    if (!has_living) return;
  }
  sample_next(std::move(running));
}

// Takes one sandbox after the other, since other work needs these threads, too.
void Sandboxes::sample_next(std::shared_ptr<std::vector<Found>> left) {
  if (left->empty()) return sample_later();
  const Found sandbox = std::move(left->back());
  left->pop_back();
  if (const auto usage = look_at(*sandbox)) sandbox->usage_history().add(*usage);
  asio::post(sampling_, [this, left = std::move(left)]() mutable { sample_next(std::move(left)); });
}

void Sandboxes::give_back_memory_of(const std::weak_ptr<Sandbox>& weak) {
  const Found sandbox = weak.lock();
  const auto is_paused = [&] {
    return !is_giving_back_over_ && sandbox->state() == Sandbox::State::paused;
  };
  if (sandbox == nullptr) return;
  sandbox->gives_memory_back_ = false;
  if (!is_paused()) return;
  const auto target = sandbox->usage_target();
  if (!target || target->source != SandboxUsage::Source::cgroup) return;
  const auto given = give_back_memory(*target, is_paused);
  if (!given) {
    if (given.error().kind == jail::ErrorKind::closed) return;
    logger_.warning("memory is not given back",
                    {{"sandbox_id", sandbox->id()}, {"error", given.error().message()}});
    return;
  }
  history_.note(sandbox->owner(), sandbox->id(), SandboxEventKind::memory_given_back, nullptr,
                [&](json::Writer& writer) {
                  writer.key("before_bytes").integer(static_cast<std::int64_t>(given->before));
                  writer.key("after_bytes").integer(static_cast<std::int64_t>(given->after));
                  writer.key("swapped_bytes").integer(static_cast<std::int64_t>(given->swapped));
                });
}

void Sandboxes::end_sampling() {
  is_giving_back_over_ = true;
  asio::post(sampling_, [this] {
    is_sampling_over_ = true;
    sample_timer_.cancel();
  });
}

}  // namespace runtime
