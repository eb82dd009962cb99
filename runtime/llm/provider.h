// One interface to all language models.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/config/config.h"
#include "runtime/llm/chat.h"
#include "runtime/sandbox/cancel.h"

namespace runtime::llm {

enum class Fault : std::uint8_t {
  bad_request,   // the provider does not accept the request (400, 422)
  unauthorized,  // the key is missing or wrong (401, 403)
  not_found,     // no such model or path (404)
  rate_limited,  // 429
  unavailable,   // 5xx, or the provider cannot be reached
  interrupted,   // the connection ended within the answer
  malformed,     // the answer is not what the provider promises
  timed_out,     // CallOptions::deadline has passed
  cancelled,
  exhausted,  // nothing is left to play: the end of a cassette
};

// The failure of a call, for a person: the provider, the error, and a remedy. Never holds a key.
struct Failure {
  Fault fault = Fault::malformed;
  std::string provider;
  int status = 0;       // HTTP status; 0: there was none
  std::string message;  // "groq: 401 Invalid API Key; check GROQ_API_KEY"
  std::optional<std::chrono::milliseconds>
      retry_after;  // the wait that the provider asked for after the last try
  std::uint32_t tries = 1;
};

// A value or a Failure. Reading the side that is not there terminates.
template <class T>
class [[nodiscard]] Outcome {
 public:
  Outcome(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(runtime/explicit)
  Outcome(Failure failure)
      : state_(std::in_place_index<1>, std::move(failure)) {}  // NOLINT(runtime/explicit)

  explicit operator bool() const noexcept { return state_.index() == 0; }
  T& operator*() & noexcept { return *std::get_if<0>(&state_); }
  const T& operator*() const& noexcept { return *std::get_if<0>(&state_); }
  T&& operator*() && noexcept { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() noexcept { return std::get_if<0>(&state_); }
  const T* operator->() const noexcept { return std::get_if<0>(&state_); }
  const Failure& failure() const noexcept { return *std::get_if<1>(&state_); }

 private:
  std::variant<T, Failure> state_;
};

struct CallOptions {
  Cancel cancel;
  std::chrono::milliseconds deadline{120'000};  // for the whole call, including its tries and waits
  // Called on the caller's executor with the text of the answer as it comes. Empty: the answer is
  // not streamed. A try that fails after the first call of this function is not repeated, since
  // what was delivered cannot be taken back.
  std::function<void(std::string_view)> on_text;
  // How often the caller has asked before with a schema of this name. Used where answers were
  // recorded.
  std::size_t asked_before = 0;
  // The text of the task that the request is about; a prompt contains more than that. Used where
  // answers were recorded, too.
  std::string task;
};

// Thread-safe. Must outlive its calls; a call runs on the executor on which it is awaited.
class Provider {
 public:
  virtual ~Provider() = default;

  virtual std::string_view name() const noexcept = 0;  // "groq"
  virtual const std::string& default_model() const noexcept = 0;

  virtual boost::asio::awaitable<Outcome<ChatResponse>> complete(ChatRequest request,
                                                                 CallOptions options) = 0;
  // The names that ChatRequest::model may have.
  virtual boost::asio::awaitable<Outcome<std::vector<std::string>>> list_models(
      CallOptions options) = 0;
  // Checks that the provider answers and accepts the key, by listing the models.
  virtual boost::asio::awaitable<Outcome<std::chrono::milliseconds>> health(
      CallOptions options) = 0;
};

}  // namespace runtime::llm
