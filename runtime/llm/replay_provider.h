// A provider that plays a cassette: recorded answers, for demonstrations and tests without a key.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jail/result.h"
#include "runtime/llm/provider.h"

namespace runtime::llm {

// A cassette is a file of JSON objects, one a line:
//   {"task": "...", "answers": ["...", ...], "roles": {"critic": ["...", ...]}}
// The n-th time that a task's model is asked to solve it (CallOptions::asked_before) it answers
// answers[n]. Every other role, which the name of the request's schema tells, answers from `roles`;
// a critic without a recorded answer says so and that it is worth another try. An answer is a
// string or a JSON object. Other fields are left to those who made it; several lines with the same
// task are played one after the other.
class ReplayProvider final : public Provider {
 public:
  static constexpr std::string_view provider_name = "replay";

  // Errors: the file cannot be read; invalid, with the line that is not a record.
  static jail::Result<std::unique_ptr<ReplayProvider>> open(const std::string& path);
  // `name` is for the error.
  static jail::Result<std::unique_ptr<ReplayProvider>> parse(std::string_view text,
                                                             std::string_view name);

  std::string_view name() const noexcept override { return provider_name; }
  const std::string& default_model() const noexcept override { return model_; }

  boost::asio::awaitable<Outcome<ChatResponse>> complete(ChatRequest request,
                                                         CallOptions options) override;
  boost::asio::awaitable<Outcome<std::vector<std::string>>> list_models(
      CallOptions options) override;
  boost::asio::awaitable<Outcome<std::chrono::milliseconds>> health(CallOptions options) override;

 private:
  using Answers = std::vector<std::string>;
  struct Record {
    std::string task;  // with single spaces
    std::string shown_task;
    std::string model;
    std::map<std::string, Answers, std::less<>> answers;  // by role; "" solves the task
  };

  explicit ReplayProvider(std::vector<Record> records) : records_(std::move(records)) {}
  static jail::Result<Record> read_record(std::string_view line, const std::string& place);
  std::vector<const Record*> records_in(const std::string& text) const;
  std::vector<const Record*> records_for(const ChatRequest& request, const std::string& task) const;
  Outcome<ChatResponse> play(const ChatRequest& request, const CallOptions& options) const;
  static Failure exhausted(std::string text);

  const std::string model_ = "cassette";
  const std::vector<Record> records_;
};

}  // namespace runtime::llm
