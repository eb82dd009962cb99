// Asks a model for answers that keep to their role's contract, and counts their cost.
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

// The model's answer does not fit its contract, even after every repetition.
struct Unfit {
  std::string why;
};

using Answered = std::variant<Answer, Unfit, Stop>;

// Whether watchers see the answer as it is written; hidden where several are written at once.
enum class Tokens : std::uint8_t { shown, hidden };

struct Question {
  Role role = Role::coder;
  Prompt prompt;
  double temperature = 0;
  Tokens tokens = Tokens::hidden;
};

class ModelCalls {
 public:
  // `scope` and `provider` must outlive the object.
  ModelCalls(TaskScope& scope, llm::Provider& provider) : scope_(scope), provider_(provider) {}

  // The call adds what it takes to `usage`, which must outlive it.
  boost::asio::awaitable<Answered> ask(Question question, llm::Usage& usage);

  // The usage by provider.
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
  std::map<std::string, std::size_t> asked_;  // by the schema's name
  std::uint64_t promised_ = 0;                // tokens reserved for calls that are under way
};

}  // namespace runtime::agent
