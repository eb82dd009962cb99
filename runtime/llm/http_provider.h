// A provider behind HTTP: one wire format, one endpoint, and rules for repetitions.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/llm/failure_text.h"
#include "runtime/llm/http_client.h"
#include "runtime/llm/provider.h"
#include "runtime/llm/wire_format.h"

namespace runtime::llm {

class HttpProvider final : public Provider {
 public:
  // The client must outlive it.
  HttpProvider(Endpoint endpoint, std::unique_ptr<const WireFormat> format, HttpClient& client);

  std::string_view name() const noexcept override { return endpoint_.provider; }
  const std::string& default_model() const noexcept override { return endpoint_.model; }

  boost::asio::awaitable<Outcome<ChatResponse>> complete(ChatRequest request,
                                                         CallOptions options) override;
  boost::asio::awaitable<Outcome<std::vector<std::string>>> list_models(
      CallOptions options) override;
  boost::asio::awaitable<Outcome<std::chrono::milliseconds>> health(CallOptions options) override;

 private:
  using Clock = std::chrono::steady_clock;

  struct Chat {
    ChatRequest request;
    OnText on_text;  // empty: the answer is not streamed
  };
  struct Call {
    CallStory story;
    Clock::time_point started;
    Clock::time_point deadline;
    Cancel cancel;
  };
  // A try without an answer.
  struct FailedAttempt {
    Failure failure;
    enum class Then : std::uint8_t { give_up, repeat } then = Then::give_up;
    std::optional<std::chrono::milliseconds> asked;  // the wait that the provider asks for
  };
  template <class Value>
  using Attempt = std::variant<Value, FailedAttempt>;
  template <class Value>
  using Try = std::function<boost::asio::awaitable<Attempt<Value>>(Call)>;
  // Whether some of the answer has reached the caller, who would get it twice after a repetition.
  enum class Delivered : std::uint8_t { nothing, something };
  // The answer so far.
  struct ResponseState {
    SchemaUse schema_use = SchemaUse::enforced;
    std::unique_ptr<StreamDecoder> decoder;  // null: the answer comes as a whole
    OnText say;
    Delivered delivered = Delivered::nothing;
  };

  Call begin(const CallOptions& options, std::string model) const;
  template <class Value>
  boost::asio::awaitable<Outcome<Value>> repeat(Call call, Try<Value> attempt);
  boost::asio::awaitable<Outcome<ChatResponse>> converse(std::shared_ptr<const Chat> chat,
                                                         CallOptions options);
  boost::asio::awaitable<Attempt<ChatResponse>> try_chat(std::shared_ptr<const Chat> chat,
                                                         Call call);
  void listen(const std::shared_ptr<const Chat>& chat, const std::shared_ptr<ResponseState>& state,
              FetchOptions& fetch) const;
  Attempt<ChatResponse> judge(const Chat& chat, const Call& call, ResponseState& state,
                              const HttpOutcome& outcome);
  Answer read(ResponseState& state, const HttpReply& reply) const;
  boost::asio::awaitable<Attempt<std::vector<std::string>>> try_models(Call call);

  FailedAttempt failed_attempt(const Call& call, const HttpFault& fault, Delivered delivered) const;
  FailedAttempt failed_attempt(const Call& call, ProviderFault fault, const HttpReply& reply,
                               Delivered delivered) const;
  double chance();
  SchemaUse schema_use(const std::string& model);
  void ask_for_schema(const std::string& model);

  const Endpoint endpoint_;
  const std::unique_ptr<const WireFormat> format_;
  HttpClient& client_;
  std::mutex mutex_;
  std::mt19937_64 random_;
  std::set<std::string> without_schemas_;  // models that take no schema as a parameter
};

}  // namespace runtime::llm
