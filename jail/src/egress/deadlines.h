// The latest time at which each connection or jail has to be looked at again.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

namespace jail::egress {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;

// Moving a deadline back with each byte costs nothing: when the old deadline comes, its owner
// compares it with the current one and sets it anew.
class Deadlines {
 public:
  void set(std::uint64_t id, Time when) {
    const auto known = by_id_.find(id);
    if (known != by_id_.end()) {
      if (known->second->first <= when) return;
      in_order_.erase(known->second);
      by_id_.erase(known);
    }
    by_id_[id] = in_order_.emplace(when, id);
  }

  void forget(std::uint64_t id) {
    const auto known = by_id_.find(id);
    if (known == by_id_.end()) return;
    in_order_.erase(known->second);
    by_id_.erase(known);
  }

  std::vector<std::uint64_t> take_due(Time now) {
    std::vector<std::uint64_t> due;
    while (!in_order_.empty() && in_order_.begin()->first <= now) {
      due.push_back(in_order_.begin()->second);
      by_id_.erase(due.back());
      in_order_.erase(in_order_.begin());
    }
    return due;
  }

  // The timeout for epoll_wait(); -1 where there is no deadline.
  int milliseconds_left(Time now) const {
    using std::chrono::milliseconds;
    if (in_order_.empty()) return -1;
    const auto left = std::chrono::ceil<milliseconds>(in_order_.begin()->first - now);
    return static_cast<int>(
        std::clamp<milliseconds::rep>(left.count(), 0, milliseconds::rep{60'000}));
  }

 private:
  using InOrder = std::multimap<Time, std::uint64_t>;

  InOrder in_order_;
  std::unordered_map<std::uint64_t, InOrder::iterator> by_id_;
};

}  // namespace jail::egress
