// Counts the look-ups of names that were abandoned lately, by owner.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <string>

namespace runtime {

// A look-up cannot be ended: a caller that does not wait for it leaves a thread behind, until the
// name server has answered or the resolver gives up. So each owner may abandon only a few at a
// time. Thread-safe; pure: time is a parameter and must only go forward.
class AbandonedLookups {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr std::size_t max_per_owner = 16;
  // The resolver gives up within this time: 5 s, twice, for each of three name servers.
  static constexpr std::chrono::seconds longest_lookup{30};

  void note(const std::string& owner, Clock::time_point now);
  bool has_too_many(const std::string& owner, Clock::time_point now);

 private:
  void forget_what_ended(Clock::time_point now);

  struct Lookup {
    std::string owner;
    Clock::time_point left_at;
  };

  std::mutex mutex_;
  std::deque<Lookup> lookups_;                // the oldest is at the front
  std::map<std::string, std::size_t> count_;  // by owner, never 0
};

}  // namespace runtime
