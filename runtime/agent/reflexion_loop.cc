#include "runtime/agent/reflexion_loop.h"

#include <algorithm>
#include <utility>

#include "runtime/agent/candidates.h"
#include "runtime/agent/program_text.h"
#include "runtime/agent/together.h"

namespace runtime::agent {
namespace {

namespace asio = boost::asio;

constexpr std::uint32_t lessons_recalled = 3;
// The confidence from which on a critic's verdict that there is no solution is believed.
constexpr double sure = 0.8;
// After this many rounds in a row that fail only on tests written by a model, these tests are in
// doubt.
constexpr std::uint32_t rounds_until_doubt = 2;
constexpr std::size_t error_bytes = 500;
// The bytes that are kept of each stream of a program that was not the best or not of the last
// round: more than any prompt shows of it. A round can have sixteen megabytes of output, and a task
// ten rounds.
constexpr std::size_t kept_bytes = 60u << 10;

Stop stop_at(const std::string& error) { return {.error = error}; }

// Returns the first Stop where there was no other outcome.
template <class T>
std::optional<Stop> all_stopped(std::vector<std::variant<T, Stop>>& outcomes) {
  std::optional<Stop> first;
  for (auto& outcome : outcomes) {
    auto* stop = std::get_if<Stop>(&outcome);
    if (stop == nullptr) return std::nullopt;
    if (!first) first = std::move(*stop);
  }
  return first;
}

bool shorten(std::string& output) {
  // Output that was shortened contains a line of ours, and is not shortened again.
  if (output.size() <= kept_bytes + error_bytes) return false;
  output = head_and_tail(output, kept_bytes);
  return true;
}

std::string last_line_of(std::string_view text) {
  const std::size_t end = text.find_last_not_of(" \t\r\n");
  if (end == text.npos) return {};
  text = text.substr(0, end + 1);
  const std::size_t before = text.rfind('\n');
  return head_and_tail(before == text.npos ? text : text.substr(before + 1), error_bytes);
}

}  // namespace

ReflexionLoop::ReflexionLoop(const asio::any_io_executor& executor, const AgentParts& parts,
                             llm::Provider& provider, TaskRequest request, TaskOptions options)
    : parts_(parts),
      scope_(executor, std::move(request), std::move(options)),
      calls_(scope_, provider),
      swarm_(calls_, scope_.events()),
      rounds_(std::clamp(scope_.request().max_attempts, 1u, max_allowed_attempts)),
      candidates_(std::clamp(scope_.request().candidates, 1u, max_candidates)) {}

asio::awaitable<TaskResult> ReflexionLoop::run() {
  State state = Recalling{};
  while (!std::holds_alternative<Finished>(state)) {
    // A task that has ended does not go on to its next step.
    if (auto stop = scope_.ended()) {
      state = Finished{std::move(stop)};
      break;
    }
    auto step = std::visit([this](auto& now) { return enter(std::move(now)); }, state);
    state = co_await std::move(step);
  }
  report_round();
  const Finished& end = std::get<Finished>(state);
  if (!end.stop) co_await learn();
  co_return result_of(end);
}

TaskResult ReflexionLoop::broken_off(std::string why) { return result_of({.stop = stop_at(why)}); }

// The brief that every prompt starts from.
Brief ReflexionLoop::known() const {
  Brief brief;
  brief.request = &scope_.request();
  brief.history = &history_;
  brief.lessons = &lessons_;
  brief.tests = model_tests_;
  return brief;
}

asio::awaitable<State> ReflexionLoop::enter(Recalling) {
  const TaskRequest& request = scope_.request();
  if (parts_.lessons != nullptr && request.lessons == Lessons::used) {
    // A failed look-up does not stop the task: it goes on without lessons.
    auto found = co_await parts_.lessons->recall(scope_.options().caller, request.task,
                                                 lessons_recalled, scope_.cancel());
    if (found) lessons_ = std::move(*found);
  }
  const bool wanted = request.tests.empty() && request.tests_by_model == TestsByModel::first;
  co_return wanted ? State(WritingTests{}) : State(Drafting{});
}

asio::awaitable<State> ReflexionLoop::enter(WritingTests) {
  const bool again = !history_.empty();
  Brief brief = known();
  brief.role = Role::tester;
  brief.wanted = again
                     ? "Programs fail on nothing but the tests above. Check each test against the "
                       "task, not against the programs. Write all tests again, without the wrong "
                       "ones."
                     : "Write the tests.";
  const Place place{.attempt = round_, .candidate = 0};
  llm::Usage usage;
  Answered answered = co_await ask_member(calls_, scope_.events(), place, std::move(brief), 0,
                                          Tokens::shown, usage);
  if (auto* stop = std::get_if<Stop>(&answered)) co_return Finished{std::move(*stop)};
  if (auto* answer = std::get_if<Answer>(&answered)) {
    model_tests_ = std::move(answer->tests);
  } else if (!again) {
    co_return Finished{stop_at(std::get<Unfit>(answered).why)};
  }
  co_return Drafting{};
}

DraftOrder ReflexionLoop::order_for(std::uint32_t candidate) const {
  DraftOrder order;
  order.place = {.attempt = round_, .candidate = candidate};
  order.brief = known();
  order.bias = bias_of(candidate);
  order.temperature = temperature_of(round_, candidate);
  order.tokens = candidates_ == 1 ? Tokens::shown : Tokens::hidden;
  return order;
}

asio::awaitable<Drafted> ReflexionLoop::draft_one(std::uint32_t candidate) {
  DraftOrder order = order_for(candidate);
  if (scope_.request().team == Team::swarm) {
    co_return co_await swarm_.draft(std::move(order));
  }
  co_return co_await draft_alone(calls_, scope_.events(), std::move(order));
}

asio::awaitable<State> ReflexionLoop::enter(Drafting) {
  std::vector<asio::awaitable<Drafted>> asked;
  for (std::uint32_t i = 0; i < candidates_; ++i) asked.push_back(draft_one(i));
  std::vector<Drafted> drafted = co_await together(std::move(asked));
  if (auto stop = all_stopped(drafted)) co_return Finished{std::move(stop)};
  Executing next;
  for (Drafted& one : drafted) {
    if (auto* draft = std::get_if<Attempt>(&one)) next.drafts.push_back(std::move(*draft));
  }
  co_return State(std::move(next));
}

asio::awaitable<Tried> ReflexionLoop::try_one(std::size_t index, std::string why,
                                              Artifacts artifacts) {
  const Attempt& attempt = history_[index];
  const Place place{.attempt = attempt.number, .candidate = attempt.candidate};
  scope_.events().executing(place, why);
  const std::string& given = scope_.request().tests;
  const Output output = candidates_ == 1 ? Output::shown : Output::hidden;
  Tried tried = co_await try_program(scope_, *parts_.runner, attempt.code,
                                     given.empty() ? model_tests_ : given, output, artifacts);
  if (const auto* trial = std::get_if<TrialResult>(&tried)) {
    scope_.events().execution_result(place, trial->result);
  }
  co_return tried;
}

std::optional<Stop> ReflexionLoop::record(std::size_t index, Tried tried) {
  if (auto* stop = std::get_if<Stop>(&tried)) return std::move(*stop);
  TrialResult& trial = std::get<TrialResult>(tried);
  if (trial.result.status != Status::success) trial.result.artifacts = {};
  history_[index].result = std::move(trial.result);
  failed_in_[index] = trial.failed_in;
  return std::nullopt;
}

asio::awaitable<State> ReflexionLoop::enter(Executing state) {
  round_begin_ = history_.size();
  for (Attempt& draft : state.drafts) {
    scope_.events().code(draft);
    if (candidates_ > 1) draft.verification = Verification::lacking;
    history_.push_back(std::move(draft));
  }
  failed_in_.resize(history_.size(), Part::program);
  executed_ = round_;
  // Where there are several candidates the best one is run again, and only the files of that run
  // are kept.
  const Artifacts artifacts = candidates_ == 1 ? Artifacts::taken : Artifacts::left;
  std::vector<asio::awaitable<Tried>> runs;
  for (std::size_t at = round_begin_; at < history_.size(); ++at) {
    runs.push_back(try_one(at, "attempt", artifacts));
  }
  std::vector<Tried> tried = co_await together(std::move(runs));
  const auto stop = all_stopped(tried);
  for (std::size_t i = 0; i < tried.size(); ++i) record(round_begin_ + i, std::move(tried[i]));
  // The round is reported before any model considers it: that can take minutes, and the server may
  // not live so long.
  report_round();
  if (stop) co_return Finished{stop};
  co_return after_runs();
}

State ReflexionLoop::after_runs() {
  const std::vector<std::size_t> order = ranked(history_, round_begin_);
  chosen_ = order.front();
  Verifying next;
  for (const std::size_t at : order) {
    if (history_[at].result->status == Status::success) next.passed.push_back(at);
  }
  // A passed program stays passed, even if the time has run out meanwhile.
  if (candidates_ == 1 && !next.passed.empty()) return Finished{};
  if (auto stop = scope_.ended()) return Finished{std::move(stop)};
  return next.passed.empty() ? after_failure() : State(std::move(next));
}

asio::awaitable<State> ReflexionLoop::enter(Verifying state) {
  for (const std::size_t at : state.passed) {
    Tried tried = co_await try_one(at, "verification", Artifacts::taken);
    if (auto stop = record(at, std::move(tried))) co_return Finished{std::move(stop)};
    const bool passed = history_[at].result->status == Status::success;
    if (passed) history_[at].verification = Verification::passed;
    report(at);
    chosen_ = at;
    if (passed) co_return Finished{};
    if (auto stop = scope_.ended()) co_return Finished{std::move(stop)};
  }
  co_return after_failure();
}

State ReflexionLoop::after_failure() {
  const std::size_t best = ranked(history_, round_begin_).front();
  chosen_ = best;
  const bool only_tests = !model_tests_.empty() && failed_in_[best] == Part::tests;
  failed_only_on_tests_ = only_tests ? failed_only_on_tests_ + 1 : 0;
  if (round_ < rounds_) return Critiquing{best};
  return Finished{stop_at("not solved in " + std::to_string(rounds_) +
                          (rounds_ == 1 ? " attempt" : " attempts") +
                          "; the last one: " + verdict_of(*history_[best].result))};
}

asio::awaitable<State> ReflexionLoop::enter(Critiquing state) {
  scope_.events().critiquing(round_);
  Brief brief = known();
  brief.role = Role::critic;
  brief.wanted = "Say why the last attempt failed and what to change.";
  if (candidates_ > 1) {
    brief.wanted = "Several candidates were run. Say why candidate " +
                   std::to_string(history_[state.subject].candidate + 1) + " of attempt " +
                   std::to_string(round_) + " failed and what to change.";
  }
  Question question;
  question.role = Role::critic;
  question.prompt = compose(brief);
  question.tokens = Tokens::shown;
  llm::Usage usage;
  Answered answered = co_await calls_.ask(std::move(question), usage);
  Attempt& subject = history_[state.subject];
  subject.usage.input_tokens += usage.input_tokens;
  subject.usage.output_tokens += usage.output_tokens;
  if (auto* stop = std::get_if<Stop>(&answered)) co_return Finished{std::move(*stop)};
  // An unusable answer of the critic is no reason to give up: the coder still sees what happened.
  if (auto* answer = std::get_if<Answer>(&answered)) subject.critique = std::move(answer->critique);
  co_return after_critique(state.subject);
}

State ReflexionLoop::after_critique(std::size_t subject) {
  const std::optional<Critique>& critique = history_[subject].critique;
  if (critique) scope_.events().critique(round_, *critique);
  report(subject);
  const bool doubted = tests_are_in_doubt();
  if (critique && !critique->should_retry && critique->confidence >= sure && !doubted) {
    // The history has the whole diagnosis; this text goes into logs and lists.
    return Finished{
        stop_at("the critic sees no solution: " + head_and_tail(critique->diagnosis, error_bytes))};
  }
  shorten_outputs();
  ++round_;
  scope_.events().retrying(round_, rounds_);
  return doubted ? State(WritingTests{}) : State(Drafting{});
}

// True at most once a task.
bool ReflexionLoop::tests_are_in_doubt() {
  if (tests_rewritten_ || failed_only_on_tests_ < rounds_until_doubt) return false;
  tests_rewritten_ = true;
  return true;
}

void ReflexionLoop::report(std::size_t index) {
  if (scope_.options().on_attempt) scope_.options().on_attempt(index, history_[index]);
}

void ReflexionLoop::report_round() {
  for (; reported_ < history_.size(); ++reported_) report(reported_);
}

asio::awaitable<State> ReflexionLoop::enter(Finished state) { co_return State(std::move(state)); }

asio::awaitable<void> ReflexionLoop::learn() {
  if (parts_.lessons == nullptr || scope_.request().lessons == Lessons::off) co_return;
  const Attempt& solved = history_[*chosen_];
  Lesson lesson;
  lesson.task = scope_.request().task;
  lesson.code = solved.code;
  lesson.advice = solved.reasoning;
  lesson.learnt = std::chrono::system_clock::now();
  for (const Attempt& attempt : history_) {
    if (!attempt.result || attempt.result->status == Status::success) continue;
    if (lesson.error.empty()) {
      lesson.error = verdict_of(*attempt.result);
      const std::string line = last_line_of(attempt.result->standard_error);
      if (!line.empty()) lesson.error += ": " + line;
    }
    if (attempt.critique && !attempt.critique->fix.empty()) lesson.advice = attempt.critique->fix;
  }
  // The task counts as solved whether or not the lesson can be stored.
  const auto ignored =
      co_await parts_.lessons->learn(scope_.options().caller, std::move(lesson), scope_.cancel());
  static_cast<void>(ignored);
}

void ReflexionLoop::shorten_outputs() {
  for (std::size_t at = 0; at < history_.size(); ++at) {
    if (at == chosen_ || !history_[at].result) continue;
    RunResult& result = *history_[at].result;
    result.stdout_truncated |= shorten(result.standard_output);
    result.stderr_truncated |= shorten(result.standard_error);
  }
}

TaskResult ReflexionLoop::result_of(const Finished& end) {
  TaskResult result;
  result.status = end.stop ? end.stop->status : TaskStatus::completed;
  if (end.stop) {
    result.error = end.stop->error;
    result.provider_status = end.stop->provider_status;
    result.host_error = end.stop->host_error;
  }
  if (!history_.empty()) {
    Attempt& shown = chosen_ ? history_[*chosen_] : history_.back();
    if (shown.result) {
      result.output = shown.result->standard_output;
      result.artifacts = std::exchange(shown.result->artifacts, {});
    }
    result.code = shown.code;
    result.dependencies = shown.dependencies;
    result.reasoning = shown.reasoning;
  }
  result.history = std::move(history_);
  result.attempts = executed_;
  result.usage = calls_.usage();
  result.execution_time = std::chrono::duration_cast<std::chrono::milliseconds>(scope_.elapsed());
  return result;
}

}  // namespace runtime::agent
