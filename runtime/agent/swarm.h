// Drafts a program by several members: an architect plans, a coder writes, a critic and a security
// reviewer review at the same time, an optimizer improves. They vote, and their findings go back to
// the coder.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/agent/drafting.h"

namespace runtime::agent {

inline constexpr double consensus_from = 0.7;
inline constexpr std::uint32_t max_rounds = 2;

// The confidence of those who approve as a share of the confidence of all; 0 where all of it is 0.
double approval_of(const std::vector<Vote>& votes) noexcept;

class Swarm {
 public:
  // `calls` and `events` must outlive the object.
  Swarm(ModelCalls& calls, const EventFeed& events) : calls_(calls), events_(events) {}

  // The Attempt has the votes of the last round. A member whose answer is unusable abstains;
  // without a usable answer of the coder there is no program.
  boost::asio::awaitable<Drafted> draft(DraftOrder order);

 private:
  struct Session;
  using Stopped = std::optional<Stop>;

  boost::asio::awaitable<Stopped> plan(Session& session);
  boost::asio::awaitable<Stopped> write(Session& session);
  boost::asio::awaitable<Stopped> review(Session& session);
  boost::asio::awaitable<Stopped> optimize(Session& session);
  boost::asio::awaitable<Answered> ask(Session& session, Role role, std::string wanted);

  ModelCalls& calls_;
  const EventFeed& events_;
  std::map<std::uint32_t, Answer> plans_;  // by candidate: each has one plan in a task
};

}  // namespace runtime::agent
