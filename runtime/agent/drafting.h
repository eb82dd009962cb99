// Drafts a program for a task, by a single model or by a swarm.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>
#include <variant>

#include "runtime/agent/event_feed.h"
#include "runtime/agent/model_calls.h"
#include "runtime/agent/prompt.h"

namespace runtime::agent {

struct DraftOrder {
  Place place;
  Brief brief;  // everything known; the drafter sets role, passages and what is wanted
  std::string bias;
  double temperature = 0;
  Tokens tokens = Tokens::hidden;
};

// An Attempt that has not been run yet.
using Drafted = std::variant<Attempt, Stop>;

// Asks one member with the given `brief`.
boost::asio::awaitable<Answered> ask_member(ModelCalls& calls, const EventFeed& events, Place place,
                                            Brief brief, double temperature, Tokens tokens,
                                            llm::Usage& usage);

// The instruction to a coder, with the candidate's hint.
std::string wanted_of_coder(const DraftOrder& order);

boost::asio::awaitable<Drafted> draft_alone(ModelCalls& calls, const EventFeed& events,
                                            DraftOrder order);

}  // namespace runtime::agent
