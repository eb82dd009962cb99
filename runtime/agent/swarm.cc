#include "runtime/agent/swarm.h"

#include <utility>

#include "runtime/agent/program_text.h"
#include "runtime/agent/together.h"

namespace runtime::agent {
namespace {

namespace asio = boost::asio;

constexpr std::size_t finding_bytes = 600;
constexpr std::size_t plan_bytes = 8000;

std::string listed(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += "- " + head_and_tail(line, finding_bytes) + '\n';
  return text;
}

}  // namespace

// The state of one draft.
struct Swarm::Session {
  DraftOrder order;
  Attempt draft;
  std::uint32_t round = 1;
  Answer plan;
  std::vector<std::string> findings;  // of this round; in the next round, those of the last one

  // A role votes at most once a round.
  void add_vote(Role role, const Answer& answer) {
    Vote vote;
    vote.role = name_of(role);
    vote.approves = answer.approves;
    vote.confidence = answer.confidence;
    vote.findings = answer.findings;
    findings.insert(findings.end(), answer.findings.begin(), answer.findings.end());
    draft.votes.push_back(std::move(vote));
  }
};

double approval_of(const std::vector<Vote>& votes) noexcept {
  double approving = 0;
  double all = 0;
  for (const Vote& vote : votes) {
    all += vote.confidence;
    if (vote.approves) approving += vote.confidence;
  }
  return all > 0 ? approving / all : 0;
}

asio::awaitable<Drafted> Swarm::draft(DraftOrder order) {
  Session session;
  session.draft.number = order.place.attempt;
  session.draft.candidate = order.place.candidate;
  session.order = std::move(order);
  const Place place = session.order.place;
  if (auto stop = co_await plan(session)) co_return std::move(*stop);
  for (; session.round <= max_rounds; ++session.round) {
    if (auto stop = co_await write(session)) co_return std::move(*stop);
    session.draft.votes.clear();
    session.findings.clear();
    if (auto stop = co_await review(session)) co_return std::move(*stop);
    if (auto stop = co_await optimize(session)) co_return std::move(*stop);
    const double approval = approval_of(session.draft.votes);
    const bool agreed = approval >= consensus_from;
    const bool last = session.round == max_rounds;
    events_.swarm_votes(place, session.round, approval,
                        agreed ? "run" : (last ? "run without consensus" : "revise"));
    if (agreed) break;
  }
  co_return std::move(session.draft);
}

asio::awaitable<Answered> Swarm::ask(Session& session, Role role, std::string wanted) {
  Brief brief = session.order.brief;
  brief.role = role;
  brief.wanted = std::move(wanted);
  if (role != Role::architect) {
    brief.passages.push_back(
        {"The architect's plan", head_and_tail(session.plan.plan, plan_bytes)});
    brief.passages.push_back({"Pitfalls that the architect sees", listed(session.plan.findings)});
    brief.passages.push_back({"The program under review", session.draft.code});
    brief.passages.push_back({"What the reviewers found in it", listed(session.findings)});
  }
  const double temperature = role == Role::coder ? session.order.temperature : 0;
  Answered answered = co_await ask_member(calls_, events_, session.order.place, std::move(brief),
                                          temperature, Tokens::hidden, session.draft.usage);
  if (const auto* answer = std::get_if<Answer>(&answered)) {
    events_.swarm(session.order.place, session.round, role, *answer);
  }
  co_return answered;
}

asio::awaitable<Swarm::Stopped> Swarm::plan(Session& session) {
  const auto known = plans_.find(session.order.place.candidate);
  if (known != plans_.end()) {
    session.plan = known->second;
    co_return std::nullopt;
  }
  Answered answered = co_await ask(session, Role::architect, "Plan the program.");
  if (auto* stop = std::get_if<Stop>(&answered)) co_return std::move(*stop);
  if (auto* answer = std::get_if<Answer>(&answered)) session.plan = std::move(*answer);
  plans_[session.order.place.candidate] = session.plan;
  co_return std::nullopt;
}

asio::awaitable<Swarm::Stopped> Swarm::write(Session& session) {
  std::string wanted = session.round == 1 ? wanted_of_coder(session.order)
                                          : "The reviewers do not agree to run the program. Write "
                                            "it again, with what they found repaired.";
  Answered answered = co_await ask(session, Role::coder, std::move(wanted));
  if (auto* stop = std::get_if<Stop>(&answered)) co_return std::move(*stop);
  if (auto* unfit = std::get_if<Unfit>(&answered)) co_return Stop{.error = std::move(unfit->why)};
  Answer& answer = std::get<Answer>(answered);
  session.draft.code = std::move(answer.code);
  session.draft.reasoning = std::move(answer.reasoning);
  session.draft.dependencies = std::move(answer.dependencies);
  co_return std::nullopt;
}

asio::awaitable<Swarm::Stopped> Swarm::review(Session& session) {
  constexpr Role reviewers[] = {Role::reviewer, Role::security};
  std::vector<asio::awaitable<Answered>> asked;
  for (const Role role : reviewers) {
    asked.push_back(ask(session, role, "Review the program and vote."));
  }
  std::vector<Answered> answers = co_await together(std::move(asked));
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (auto* stop = std::get_if<Stop>(&answers[i])) co_return std::move(*stop);
    if (auto* answer = std::get_if<Answer>(&answers[i])) session.add_vote(reviewers[i], *answer);
  }
  co_return std::nullopt;
}

asio::awaitable<Swarm::Stopped> Swarm::optimize(Session& session) {
  Answered answered =
      co_await ask(session, Role::optimizer, "Improve the program where it needs it, and vote.");
  if (auto* stop = std::get_if<Stop>(&answered)) co_return std::move(*stop);
  auto* answer = std::get_if<Answer>(&answered);
  if (answer == nullptr) co_return std::nullopt;
  session.add_vote(Role::optimizer, *answer);
  if (answer->code.find_first_not_of(" \t\r\n") != std::string::npos) {
    session.draft.code = std::move(answer->code);
  }
  co_return std::nullopt;
}

}  // namespace runtime::agent
