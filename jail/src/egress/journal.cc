#include "egress/journal.h"

#include <errno.h>
#include <sys/socket.h>

#include <algorithm>
#include <string>
#include <utility>

#include "egress/wire.h"

namespace jail::egress {

void Journal::write(std::uint64_t jail, EgressDecision decision) {
  if (waiting_.size() >= max_waiting) drop_one();
  waiting_.push_back({jail, std::move(decision)});
  ++by_jail_[jail];
  // Decisions are sent one by one as long as the socket takes them, and all together once there is
  // room again.
  if (waiting_.size() == 1) flush();
}

void Journal::flush() {
  while (!waiting_.empty()) {
    Entry& first = waiting_.front();
    first.decision.dropped = dropped_;
    const std::string datagram = to_datagram(first.decision);
    const ssize_t sent =
        ::send(socket_, datagram.data(), datagram.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    // The socket takes none now, or nobody reads any more, which the loop finds out by itself.
    if (sent < 0) return;
    dropped_ = 0;
    forget(first.jail);
    waiting_.pop_front();
  }
}

void Journal::drop_one() {
  const auto most =
      std::max_element(by_jail_.begin(), by_jail_.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  const std::uint64_t jail = most->first;
  const auto oldest = std::find_if(waiting_.begin(), waiting_.end(),
                                   [&](const Entry& entry) { return entry.jail == jail; });
  waiting_.erase(oldest);
  forget(jail);
  ++dropped_;
}

void Journal::forget(std::uint64_t jail) {
  const auto count = by_jail_.find(jail);
  if (--count->second == 0) by_jail_.erase(count);
}

}  // namespace jail::egress
