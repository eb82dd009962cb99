// Pausing and resuming a living sandbox.
#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <utility>

#include "runtime/living/living_sandbox.h"

namespace runtime {
namespace {

// Init answers sooner than this whether it could pause a jail.
constexpr std::chrono::seconds patience_for_a_pause{5};

}  // namespace

// Notes whether a requested pause has begun.
void LivingSandbox::note_activity(Time now) {
  if (!pause_ || pause_->began) return;
  if (jail_->activity() == jail::Activity::paused) {
    note_paused(now);
  } else if (jail_->activity() == jail::Activity::active) {
    note_not_paused();
  } else if (now >= pause_->give_up_at) {
    (void)jail_->resume();
    note_not_paused();
  }
}

// Where init cannot be asked, the jail is at its end.
void LivingSandbox::begin_pause(std::optional<Cause> why, Time now) {
  if (jail_->pause()) {
    pause_ = Pause{.why = why, .give_up_at = now + patience_for_a_pause};
  } else {
    ending_ = why;
  }
}

void LivingSandbox::note_paused(Time now) {
  pause_->began = now;
  pause_->since = std::chrono::system_clock::now();
  pause_->left = time_left(now);
  set_end(now + pausing_.max_paused);
  has_resisted_ = false;
  for_its_pause_.ring();
  if (news_.on_paused) news_.on_paused(pause_->why);
  // The pause was requested while a process was being started. That process stands still with the
  // others, and its caller would wait for as long.
  if (starting_ > 0 && pausing_.resumes_on_demand) (void)resume_now();
}

std::chrono::milliseconds LivingSandbox::time_left(Time now) const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
      std::max(end_ - now, Time::duration::zero()));
}

// A sandbox whose time was over ends, since it cannot be paused.
void LivingSandbox::note_not_paused() {
  ending_ = pause_->why;
  has_resisted_ = true;
  pause_.reset();
  for_its_pause_.ring();
}

boost::asio::awaitable<jail::Result<void>> LivingSandbox::pause() {
  const auto bell = Bell::create(co_await boost::asio::this_coro::executor);
  for (bool is_asked = false;; is_asked = true) {
    {
      const std::lock_guard lock(mutex_);
      if (!jail_ || ending_) co_return has_ended_error();
      if (pause_ && pause_->began) co_return jail::Result<void>();
      if (!pause_ && is_asked) {
        if (!has_resisted_) co_return jail::Result<void>();  // it was paused and then resumed
        co_return jail::Error{
            jail::ErrorKind::timed_out, "its processes could not be stopped", 0, {}};
      }
      if (!pause_) {
        if (auto asked = jail_->pause(); !asked) co_return asked;
        has_resisted_ = false;
        pause_ = Pause{.give_up_at = clock_->now() + patience_for_a_pause};
        wake();
      }
      for_its_pause_.add(bell);
    }
    co_await bell->wait();
  }
}

jail::Result<void> LivingSandbox::resume() {
  const std::lock_guard lock(mutex_);
  return resume_now();
}

jail::Result<void> LivingSandbox::resume_on_demand() {
  const std::lock_guard lock(mutex_);
  return resume_on_demand_now();
}

jail::Result<void> LivingSandbox::resume_on_demand_now() {
  if (pause_ && pause_->began && !pausing_.resumes_on_demand && !ending_) {
    return jail::Error{jail::ErrorKind::refused, "the sandbox is paused", 0, {}};
  }
  return resume_now();
}

// Resumes a sandbox, even one that is yet to be paused.
jail::Result<void> LivingSandbox::resume_now() {
  if (!jail_ || ending_) return has_ended_error();
  if (!pause_) return {};
  if (auto resumed = jail_->resume(); !resumed) return resumed;
  const Time now = clock_->now();
  const Pause over = *std::exchange(pause_, std::nullopt);
  std::chrono::milliseconds left = over.left;
  if (over.began) {
    all_pauses_ += std::chrono::duration_cast<std::chrono::milliseconds>(now - *over.began);
  } else {
    left = time_left(now);
  }
  set_end(now + (left.count() > 0 ? left : times_.lifetime));
  if (over.began && news_.on_resumed) news_.on_resumed();
  last_used_ = now;
  for_its_pause_.ring();
  wake();
  return {};
}

void LivingSandbox::go_on_with_pause(std::chrono::system_clock::time_point since,
                                     std::chrono::system_clock::time_point until,
                                     std::chrono::milliseconds left) {
  const std::lock_guard lock(mutex_);
  if (!pause_ || !pause_->began) return;
  pause_->since = since;
  pause_->left = left;
  set_end_by_calendar(until);
  wake();
}

LivingSandbox::Clocks LivingSandbox::clocks() const {
  const std::lock_guard lock(mutex_);
  const Time until = pause_ && pause_->began ? *pause_->began : clock_->now();
  const auto lived =
      std::chrono::duration_cast<std::chrono::milliseconds>(until - began_) - all_pauses_;
  Clocks clocks{.ends_at = end_by_calendar(), .lived = lived, .paused_since = {}, .left = {}};
  if (pause_ && pause_->began) {
    clocks.paused_since = pause_->since;
    clocks.left = pause_->left;
  }
  return clocks;
}

std::optional<std::chrono::system_clock::time_point> LivingSandbox::paused_since() const {
  const std::lock_guard lock(mutex_);
  if (!pause_ || !pause_->began) return std::nullopt;
  return pause_->since;
}

}  // namespace runtime
