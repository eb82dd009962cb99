// A program by several members: an architect plans, a coder writes, a critic and a security
// reviewer read at the same time, an optimizer improves; they vote, and their findings go back to
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

// The confidence of those who approve as a share of all; 0 where nobody is sure of anything.
double approval_of(const std::vector<Vote>& votes) noexcept;

class Swarm {
 public:
  // Both must outlive it.
  Swarm(ModelCalls& calls, const EventFeed& events) : calls_(calls), events_(events) {}

  // The votes of the last round are in the Attempt. A member whose answers are of no use abstains;
  // without a coder's there is no program.
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
  std::map<std::uint32_t, Answer> plans_;  // by candidate: one plan a task
};

}  // namespace runtime::agent
