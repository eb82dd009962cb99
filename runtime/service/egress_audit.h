// Turns the connections that one sandbox asked its proxy for into events: one event each while they
// come slowly, and one for many otherwise.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "jail/egress.h"
#include "runtime/service/sandbox_event_kind.h"

namespace runtime {

// The content of one event.
struct EgressNews {
  enum class Kind : std::uint8_t { allowed, refused, ended };

  Kind kind = Kind::allowed;
  std::string destination = {};  // empty: several destinations
  std::string address = {};      // the connected address; empty: none, or several connections
  std::string reason = {};       // the rule, or why the connection was refused; empty: none, or
                                 // several
  std::uint64_t connections = 1;
  std::uint64_t sent = 0;  // bytes of all connections together, as in the next one
  std::uint64_t received = 0;
  std::chrono::milliseconds lasted{0};
};

// The connections that one sandbox asked its proxy for, and their bytes, since the sandbox was
// made.
struct EgressUse {
  std::uint64_t connections = 0;  // connections that have ended: an open one is counted when it
                                  // ends
  std::uint64_t refused = 0;
  std::uint64_t sent = 0;  // bytes from the sandbox, over connections that have ended
  std::uint64_t received = 0;
};

// The kind of the event for news of this kind.
SandboxEventKind event_kind_of(EgressNews::Kind kind) noexcept;

// A guest can ask for thousands of connections a second. Of each kind a few are reported one by
// one, and then one in two seconds. The others are counted together, by destination as long as
// these are few; so is a refusal that has just been reported. A flood of one kind hides nothing of
// another kind. Not thread-safe.
class EgressAudit {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Returns what has to be reported now.
  std::vector<EgressNews> add(const jail::EgressDecision& decision, Time now);
  // Returns what has been counted together, where the counting began before `until`.
  std::vector<EgressNews> take(Time until);

  // The totals of all that was added, whether it was reported or not.
  const EgressUse& use() const noexcept { return use_; }

 private:
  static constexpr std::size_t kinds = 3;

  struct OfKind {
    double left = burst;                                        // may be reported one by one
    Time counted_at{};                                          // when `together` began
    std::map<std::string, EgressNews, std::less<>> together{};  // by destination
  };
  static constexpr double burst = 32;

  static bool may_tell(OfKind& of_kind, Time now);
  void count(EgressNews news, Time now);
  void count_use(const EgressNews& news);

  std::array<OfKind, kinds> of_kinds_;
  Time together_since_ = Time::max();
  std::set<std::string, std::less<>> refused_;  // reported lately
  Time refused_since_{};
  EgressUse use_;
};

}  // namespace runtime
