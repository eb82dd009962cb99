// Connections that one sandbox asked its proxy for, on their way to its events: each by itself
// while they come slowly, and together with others where they do not.
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

// What one event tells of.
struct EgressNews {
  enum class Kind : std::uint8_t { allowed, refused, ended };

  Kind kind = Kind::allowed;
  std::string destination = {};  // empty: several
  std::string address = {};      // connected to; empty: none, or several connections
  std::string reason = {};       // the rule, or why not; empty: it says nothing, or several
  std::uint64_t connections = 1;
  std::uint64_t sent = 0;  // bytes, of all of them together, as the next two
  std::uint64_t received = 0;
  std::chrono::milliseconds lasted{0};
};

// What one sandbox asked its proxy for, and what went through it, since the sandbox was made.
struct EgressUse {
  std::uint64_t connections = 0;  // that have ended: one that is open counts from its end on
  std::uint64_t refused = 0;
  std::uint64_t sent = 0;  // bytes from the sandbox, of the connections that have ended
  std::uint64_t received = 0;
};

// The kind of the event by which news of this kind is told.
SandboxEventKind event_kind_of(EgressNews::Kind kind) noexcept;

// A guest can ask for thousands of connections a second. Of each kind a few are told one by one,
// and then one in two seconds. The others are counted together, by destination as long as these are
// few; so is a refusal that has just been told. A flood of one kind hides nothing of another. Not
// thread-safe.
class EgressAudit {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Returns what is to be told now.
  std::vector<EgressNews> add(const jail::EgressDecision& decision, Time now);
  // What has been counted together, where that began before `until`.
  std::vector<EgressNews> take(Time until);

  // This counts all that was added, whether it was told or not.
  const EgressUse& use() const noexcept { return use_; }

 private:
  static constexpr std::size_t kinds = 3;

  struct OfKind {
    double left = burst;                                        // to be told one by one
    Time counted_at{};                                          // since when more of it has come
    std::map<std::string, EgressNews, std::less<>> together{};  // by destination
  };
  static constexpr double burst = 32;

  static bool may_tell(OfKind& of_kind, Time now);
  void count(EgressNews news, Time now);
  void count_use(const EgressNews& news);

  std::array<OfKind, kinds> of_kinds_;
  Time together_since_ = Time::max();
  std::set<std::string, std::less<>> refused_;  // told lately
  Time refused_since_{};
  EgressUse use_;
};

}  // namespace runtime
