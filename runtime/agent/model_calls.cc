#include "runtime/agent/model_calls.h"

#include <algorithm>
#include <utility>

#include "runtime/agent/program_text.h"

namespace runtime::agent {
namespace {

namespace asio = boost::asio;

constexpr int max_repeats = 2;
// A smaller budget for an answer counts as none.
constexpr std::uint64_t min_answer_tokens = 64;
// The part of an answer that is shown to the model when it must repeat it: enough to see what it
// did.
constexpr std::size_t repeated_bytes = 6000;

std::uint64_t estimate(const llm::ChatRequest& request) {
  std::size_t bytes = 0;
  for (const llm::Message& message : request.messages) bytes += message.text.size();
  return estimate_tokens(bytes);
}

llm::Message message_of(llm::Speaker speaker, std::string text) {
  llm::Message message;
  message.speaker = speaker;
  message.text = std::move(text);
  return message;
}

void ask_again(llm::ChatRequest& request, const llm::ChatResponse& response,
               const std::string& wrong, std::string_view fields) {
  std::string words = "That was not the answer that was asked for: " + wrong + ".\n";
  if (response.finish == llm::Finish::length) {
    words += "It was cut off because it was too long; say less.\n";
  }
  words += "Answer again with one JSON object and nothing else, by this schema:\n";
  words += fields;
  if (!response.text.empty()) {
    request.messages.push_back(
        message_of(llm::Speaker::assistant, head_and_tail(response.text, repeated_bytes)));
    request.messages.push_back(message_of(llm::Speaker::user, std::move(words)));
  } else {
    // Some providers refuse two messages of one speaker in a row.
    request.messages.back().text += "\n" + words;
  }
}

}  // namespace

llm::ChatRequest ModelCalls::request_for(const Question& question) const {
  llm::ChatRequest request;
  request.model = scope_.request().model;
  request.messages.push_back(message_of(llm::Speaker::system, question.prompt.system));
  request.messages.push_back(message_of(llm::Speaker::user, question.prompt.user));
  request.temperature = question.temperature;
  request.schema = contract_of(question.role);
  return request;
}

// Bounds the answer by the tokens that are left to spend.
std::optional<Stop> ModelCalls::allow(llm::ChatRequest& request) const {
  if (auto stop = scope_.ended()) return stop;
  const std::uint64_t prompt = estimate(request);
  const std::uint64_t free = scope_.tokens_left();
  const std::uint64_t left = free - std::min(free, promised_);
  if (left < prompt + min_answer_tokens) {
    return Stop{.error = "the task's " + std::to_string(scope_.request().budget.tokens) +
                         " tokens are used up"};
  }
  request.max_output_tokens =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(request.max_output_tokens, left - prompt));
  return std::nullopt;
}

asio::awaitable<llm::Outcome<llm::ChatResponse>> ModelCalls::call(llm::ChatRequest request,
                                                                  Tokens tokens) {
  llm::CallOptions options;
  options.cancel = scope_.cancel();
  options.asked_before = asked_[request.schema ? request.schema->name : std::string()]++;
  options.task = scope_.request().task;
  if (tokens == Tokens::shown && scope_.events().watched()) {
    options.on_text = [this](std::string_view text) { scope_.events().token(text); };
  }
  co_return co_await provider_.complete(std::move(request), std::move(options));
}

void ModelCalls::count(const llm::ChatRequest& request, const llm::ChatResponse& response,
                       llm::Usage& usage) {
  for (llm::Usage* one : {&usage, &usage_[std::string(provider_.name())]}) {
    one->input_tokens += response.usage.input_tokens;
    one->output_tokens += response.usage.output_tokens;
  }
  // Some providers do not report the usage of a call; a budget must hold all the same.
  const std::uint64_t said = response.usage.input_tokens + response.usage.output_tokens;
  scope_.spend(said > 0 ? said : estimate(request) + estimate_tokens(response.text.size()));
}

Stop ModelCalls::stop_for(const llm::Failure& failure) const {
  if (auto stop = scope_.ended()) return *stop;
  return {.error = failure.message, .provider_status = failure.status};
}

asio::awaitable<Answered> ModelCalls::ask(Question question, llm::Usage& usage) {
  llm::ChatRequest request = request_for(question);
  std::string wrong;
  for (int repeats = 0; repeats <= max_repeats; ++repeats) {
    if (auto stop = allow(request)) co_return std::move(*stop);
    // The estimate is reserved, since concurrent calls would otherwise each take all that is left.
    const std::uint64_t most = estimate(request) + request.max_output_tokens;
    promised_ += most;
    auto response = co_await call(request, question.tokens);
    promised_ -= most;
    if (!response) co_return stop_for(response.failure());
    count(request, *response, usage);
    if (auto stop = scope_.ended()) co_return std::move(*stop);
    if (response->finish == llm::Finish::refused) {
      co_return Stop{.error = std::string(provider_.name()) + ": the model refused to answer"};
    }
    auto answer = read_answer(question.role, response->text);
    if (answer) co_return std::move(*answer);
    wrong = answer.error().doing;
    ask_again(request, *response, wrong, request.schema->schema);
  }
  co_return Unfit{"the " + std::string(name_of(question.role)) +
                  "'s answer is not what was asked for: " + wrong};
}

}  // namespace runtime::agent
