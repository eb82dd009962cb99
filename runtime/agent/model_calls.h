// Asks a model for answers that keep their role's contract, and counts what they cost.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <variant>

#include "runtime/agent/prompt.h"
#include "runtime/agent/roles.h"
#include "runtime/agent/task_scope.h"
#include "runtime/llm/provider.h"

namespace runtime::agent {

// What the model wrote was not what it was asked for, however often it was told.
struct Unfit {
  std::string why;
};

using Answered = std::variant<Answer, Unfit, Stop>;

// Whether watchers see the answer as it is written; not where several are written at once.
enum class Tokens : std::uint8_t { shown, hidden };

struct Question {
  Role role = Role::coder;
  Prompt prompt;
  double temperature = 0;
  Tokens tokens = Tokens::hidden;
};

class ModelCalls {
 public:
  // Both must outlive it.
  ModelCalls(TaskScope& scope, llm::Provider& provider) : scope_(scope), provider_(provider) {}

  // `usage` grows by what the calls take, and must outlive them.
  boost::asio::awaitable<Answered> ask(Question question, llm::Usage& usage);

  // By provider.
  const std::map<std::string, llm::Usage>& usage() const noexcept { return usage_; }

 private:
  llm::ChatRequest request_for(const Question& question) const;
  std::optional<Stop> allow(llm::ChatRequest& request) const;
  boost::asio::awaitable<llm::Outcome<llm::ChatResponse>> call(llm::ChatRequest request,
                                                               Tokens tokens);
  void count(const llm::ChatRequest& request, const llm::ChatResponse& response, llm::Usage& usage);
  Stop stop_for(const llm::Failure& failure) const;

  TaskScope& scope_;
  llm::Provider& provider_;
  std::map<std::string, llm::Usage> usage_;
  std::map<std::string, std::size_t> asked_;  // by the name of the schema
  std::uint64_t promised_ = 0;                // tokens, to the calls that go on
};

}  // namespace runtime::agent
