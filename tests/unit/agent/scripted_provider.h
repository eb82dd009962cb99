// A Provider without a model: it plays the answers that a test gives to each role, in their order,
// and records the requests.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/agent/roles.h"
#include "runtime/llm/provider.h"

namespace runtime::agent {

struct Reply {
  std::string text = {};
  llm::Finish finish = llm::Finish::stop;
  std::optional<llm::Failure> failure = std::nullopt;
  bool never = false;  // returns only when the call is cancelled
  std::function<void()> on_ask = {};
};

class ScriptedProvider final : public llm::Provider {
 public:
  struct Asked {
    Role role;
    llm::ChatRequest request;
    std::string user() const { return request.messages[1].text; }
    std::string system() const { return request.messages[0].text; }
  };

  void play(Role role, std::string text) { replies_[role].push_back({.text = std::move(text)}); }
  void play(Role role, Reply reply) { replies_[role].push_back(std::move(reply)); }

  std::string_view name() const noexcept override { return "scripted"; }
  const std::string& default_model() const noexcept override { return model_; }

  boost::asio::awaitable<llm::Outcome<llm::ChatResponse>> complete(
      llm::ChatRequest request, llm::CallOptions options) override;
  boost::asio::awaitable<llm::Outcome<std::vector<std::string>>> list_models(
      llm::CallOptions options) override;
  boost::asio::awaitable<llm::Outcome<std::chrono::milliseconds>> health(
      llm::CallOptions options) override;

  static llm::Failure failure(llm::Fault fault, int status, std::string message) {
    llm::Failure failure;
    failure.fault = fault;
    failure.provider = "scripted";
    failure.status = status;
    failure.message = std::move(message);
    return failure;
  }

  std::vector<Asked> of(Role role) const {
    std::vector<Asked> found;
    for (const Asked& one : asked) {
      if (one.role == role) found.push_back(one);
    }
    return found;
  }

  std::vector<Asked> asked;
  llm::Usage usage_of_a_call{.input_tokens = 100, .output_tokens = 10};
  int max_at_once = 0;
  std::map<Role, Reply> otherwise;  // used when a role's answers are used up

 private:
  static Role role_of(const llm::ChatRequest& request) {
    for (int i = 0; i <= static_cast<int>(Role::optimizer); ++i) {
      const auto role = static_cast<Role>(i);
      if (request.messages.at(0).text.starts_with(prompt_of(role))) return role;
    }
    return Role::coder;
  }

  Reply next(Role role) {
    std::deque<Reply>& left = replies_[role];
    if (!left.empty()) {
      Reply reply = std::move(left.front());
      left.pop_front();
      return reply;
    }
    const auto more = otherwise.find(role);
    if (more != otherwise.end()) return more->second;
    return {.failure = failure(llm::Fault::exhausted, 0, "scripted: nothing left to play")};
  }

  const std::string model_ = "scripted-1";
  std::map<Role, std::deque<Reply>> replies_;
  int at_once_ = 0;
};

}  // namespace runtime::agent
