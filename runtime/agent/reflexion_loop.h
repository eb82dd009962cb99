// Write, run, learn, try again: takes one task from its text to its result, as a state machine
// whose states are types. Each state's function does its work and returns the next state.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/agent/agent_runtime.h"
#include "runtime/agent/drafting.h"
#include "runtime/agent/model_calls.h"
#include "runtime/agent/swarm.h"
#include "runtime/agent/task_scope.h"
#include "runtime/agent/trial.h"

namespace runtime::agent {

// Lessons of earlier tasks are looked up.
struct Recalling {};
// A model writes tests: before there is a program, or because the tests that it wrote may be wrong.
struct WritingTests {};
// The programs of a round are being written.
struct Drafting {};
// The programs of a round run.
struct Executing {
  std::vector<Attempt> drafts;
};
// Several programs were run and some passed; the best one is run once more, to exclude luck.
struct Verifying {
  std::vector<std::size_t> passed;  // indices in the history, the best first
};
// No program passed, and there is a round left.
struct Critiquing {
  std::size_t subject = 0;  // index in the history: the best program of the round
};
struct Finished {
  std::optional<Stop> stop;  // nullopt: solved
};

using State =
    std::variant<Recalling, WritingTests, Drafting, Executing, Verifying, Critiquing, Finished>;

class ReflexionLoop {
 public:
  // Runs on `executor`, which must run one handler at a time. `provider` and the objects that
  // `parts` points at must outlive the loop.
  ReflexionLoop(const boost::asio::any_io_executor& executor, const AgentParts& parts,
                llm::Provider& provider, TaskRequest request, TaskOptions options);

  // Must be called once.
  boost::asio::awaitable<TaskResult> run();
  // The result so far, for a run() that has thrown.
  TaskResult broken_off(std::string why);

 private:
  boost::asio::awaitable<State> enter(Recalling);
  boost::asio::awaitable<State> enter(WritingTests);
  boost::asio::awaitable<State> enter(Drafting);
  boost::asio::awaitable<State> enter(Executing state);
  boost::asio::awaitable<State> enter(Verifying state);
  boost::asio::awaitable<State> enter(Critiquing state);
  boost::asio::awaitable<State> enter(Finished state);

  Brief known() const;
  DraftOrder order_for(std::uint32_t candidate) const;
  boost::asio::awaitable<Drafted> draft_one(std::uint32_t candidate);
  boost::asio::awaitable<Tried> try_one(std::size_t index, std::string why, Artifacts artifacts);
  std::optional<Stop> record(std::size_t index, Tried tried);
  State after_runs();
  State after_failure();
  State after_critique(std::size_t subject);
  bool tests_are_in_doubt();
  void report(std::size_t index);
  void report_round();
  boost::asio::awaitable<void> learn();
  void shorten_outputs();
  TaskResult result_of(const Finished& end);

  const AgentParts parts_;
  TaskScope scope_;
  ModelCalls calls_;
  Swarm swarm_;
  const std::uint32_t rounds_;
  const std::uint32_t candidates_;

  std::vector<Lesson> lessons_;
  std::string model_tests_;
  std::uint32_t failed_only_on_tests_ = 0;  // number of such rounds in a row
  bool tests_rewritten_ = false;

  std::vector<Attempt> history_;
  std::vector<Part> failed_in_;        // for each attempt in the history
  std::uint32_t round_ = 1;            // number of the current round
  std::uint32_t executed_ = 0;         // number of rounds that ran something
  std::size_t round_begin_ = 0;        // index in the history
  std::size_t reported_ = 0;           // attempts that on_attempt has been given
  std::optional<std::size_t> chosen_;  // the best of the last round that was run
};

}  // namespace runtime::agent
