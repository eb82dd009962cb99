#include "runtime/service/event_news.h"

#include <boost/asio/this_coro.hpp>
#include <chrono>

namespace runtime {

std::uint64_t EventNews::count(std::string_view owner) const {
  const std::lock_guard lock(mutex_);
  const auto found = owners_.find(owner);
  return found == owners_.end() ? 0 : found->second.count;
}

void EventNews::ring(std::string_view owner) {
  const std::lock_guard lock(mutex_);
  auto found = owners_.find(owner);
  if (found == owners_.end()) found = owners_.emplace(owner, Owner{}).first;
  ++found->second.count;
  found->second.readers.ring();
}

void EventNews::ring_all() {
  const std::lock_guard lock(mutex_);
  for (auto& [owner, of_owner] : owners_) {
    ++of_owner.count;
    of_owner.readers.ring();
  }
}

boost::asio::awaitable<void> EventNews::wait(std::string owner, std::uint64_t seen,
                                             Bell::Time deadline, Cancel cancel) {
  const auto bell = Bell::create(co_await boost::asio::this_coro::executor);
  const Cancel::Listener on_cancel(cancel, [bell] { Bell::ring(bell); });
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      Owner& of_owner = owners_[owner];
      const bool is_late = std::chrono::steady_clock::now() >= deadline;
      if (of_owner.count > seen || is_late || cancel.requested()) co_return;
      of_owner.readers.add(bell);
    }
    co_await bell->wait(deadline);
  }
}

}  // namespace runtime
