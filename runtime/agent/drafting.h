// A program for a task, by a single model or by a swarm.
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
  Brief brief;  // what is known; role, passages and what is wanted are the drafter's to set
  std::string bias;
  double temperature = 0;
  Tokens tokens = Tokens::hidden;
};

// An Attempt that was not run yet.
using Drafted = std::variant<Attempt, Stop>;

// Asks one member. `brief` as it is to be composed.
boost::asio::awaitable<Answered> ask_member(ModelCalls& calls, const EventFeed& events, Place place,
                                            Brief brief, double temperature, Tokens tokens,
                                            llm::Usage& usage);

// Our words to a coder, with the bias of the candidate.
std::string wanted_of_coder(const DraftOrder& order);

boost::asio::awaitable<Drafted> draft_alone(ModelCalls& calls, const EventFeed& events,
                                            DraftOrder order);

}  // namespace runtime::agent
