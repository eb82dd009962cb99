// What differs between providers: how a conversation is written for one, and how its answers read.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/config/secret.h"
#include "runtime/llm/backoff.h"
#include "runtime/llm/chat.h"
#include "runtime/llm/http_client.h"
#include "runtime/llm/provider.h"

namespace runtime::llm {

// Where a provider is and what it is asked with.
struct Endpoint {
  std::string provider;  // "groq"
  std::string base_url;  // without a slash at its end
  Secret api_key;        // empty: none is sent
  std::string model;     // where a request names none
};

enum class Delivery : std::uint8_t { whole, streamed };

// How the schema of an answer reaches the model. Not every model takes one as a parameter.
enum class SchemaUse : std::uint8_t {
  enforced,   // a parameter of the call
  asked_for,  // a part of the prompt
};

// What went wrong by a provider's answer, before it is put into words for a person.
struct ProviderFault {
  Fault fault = Fault::malformed;
  int status = 0;    // of HTTP, or the one that an error within an answer names
  std::string text;  // the provider's own words; may hold anything
  std::string code;  // "insufficient_quota"; may be empty
  std::optional<std::chrono::milliseconds> wait;  // as the body asks
};

using Answer = std::variant<ChatResponse, ProviderFault>;
using Models = std::variant<std::vector<std::string>, ProviderFault>;
using OnText = std::function<void(std::string_view)>;

// Reads one streamed answer as it comes.
class StreamDecoder {
 public:
  virtual ~StreamDecoder() = default;
  virtual void add(std::string_view bytes, const OnText& on_text) = 0;
  // Whether nothing follows that matters, though the connection may stay open.
  virtual bool done() const noexcept { return false; }
  // After the last byte. Fault::interrupted where the answer stops before its end.
  virtual Answer finish(const OnText& on_text) = 0;
};

// How often a call is made, and the time between.
struct RetryRules {
  std::uint32_t tries = 3;
  BackoffRule backoff;
  // A provider beside us that nobody started does not come up by waiting.
  enum class Unreachable : std::uint8_t { repeated, given_up } unreachable = Unreachable::repeated;
};

// Pure: the same arguments, the same result. Thread-safe.
class WireFormat {
 public:
  virtual ~WireFormat() = default;

  virtual HttpRequest encode(const ChatRequest& request, const Endpoint& endpoint,
                             Delivery delivery, SchemaUse schema_use) const = 0;
  virtual Answer decode_reply(std::string_view body) const = 0;
  virtual std::unique_ptr<StreamDecoder> stream_decoder() const = 0;
  // Of an answer whose status is not 200.
  virtual ProviderFault decode_error(int status, std::string_view body) const = 0;

  virtual HttpRequest encode_models(const Endpoint& endpoint) const = 0;
  virtual Models decode_models(std::string_view body) const = 0;

  // What the paths of its API stand behind, however much of that the base URL has.
  virtual std::string api_url(const Endpoint& endpoint) const = 0;

  // Whether the provider's own clients repeat a call that got this status.
  virtual bool repeats(int status) const = 0;
  virtual RetryRules retry_rules() const { return {}; }
};

Fault fault_of_status(int status);

// Whether the provider took the schema amiss, so that it is worth to ask for it in the prompt.
bool refuses_schema(const ProviderFault& fault);

// The path that a base URL lacks where somebody gave the host alone: with_path("http://h", "/v1").
std::string with_path(std::string base_url, std::string_view path);
// The same where every base URL ends with it, that of a proxy, too.
std::string ending_with_path(std::string base_url, std::string_view path);

// What makes a model answer by a schema that is no parameter of the call.
std::string schema_prompt(const AnswerSchema& schema);

}  // namespace runtime::llm
