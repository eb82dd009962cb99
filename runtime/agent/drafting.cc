#include "runtime/agent/drafting.h"

#include <utility>

namespace runtime::agent {

namespace asio = boost::asio;

asio::awaitable<Answered> ask_member(ModelCalls& calls, const EventFeed& events, Place place,
                                     Brief brief, double temperature, Tokens tokens,
                                     llm::Usage& usage) {
  events.generating(place, name_of(brief.role));
  Question question;
  question.role = brief.role;
  question.prompt = compose(brief);
  question.temperature = temperature;
  question.tokens = tokens;
  co_return co_await calls.ask(std::move(question), usage);
}

std::string wanted_of_coder(const DraftOrder& order) {
  std::string wanted = order.place.attempt == 1
                           ? "Write the program."
                           : "The last attempt failed. Write the whole program again, without its "
                             "mistakes.";
  if (!order.bias.empty()) wanted += ' ' + order.bias;
  return wanted;
}

asio::awaitable<Drafted> draft_alone(ModelCalls& calls, const EventFeed& events, DraftOrder order) {
  Attempt draft;
  draft.number = order.place.attempt;
  draft.candidate = order.place.candidate;
  order.brief.role = Role::coder;
  order.brief.wanted = wanted_of_coder(order);
  Answered answered = co_await ask_member(calls, events, order.place, std::move(order.brief),
                                          order.temperature, order.tokens, draft.usage);
  if (auto* stop = std::get_if<Stop>(&answered)) co_return std::move(*stop);
  if (auto* unfit = std::get_if<Unfit>(&answered)) co_return Stop{.error = std::move(unfit->why)};
  Answer& answer = std::get<Answer>(answered);
  draft.code = std::move(answer.code);
  draft.reasoning = std::move(answer.reasoning);
  draft.dependencies = std::move(answer.dependencies);
  co_return draft;
}

}  // namespace runtime::agent
