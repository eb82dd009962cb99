// The differences between providers: how a conversation is written for one, and how its answers are
// parsed.
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

// A provider's place and the settings of its requests.
struct Endpoint {
  std::string provider;  // "groq"
  std::string base_url;  // without a slash at its end
  Secret api_key;        // empty: no key is sent
  std::string model;     // used where a request names no model
};

enum class Delivery : std::uint8_t { whole, streamed };

// How the schema of an answer is given to the model. Not every model takes one as a parameter.
enum class SchemaUse : std::uint8_t {
  enforced,   // a parameter of the call
  asked_for,  // a part of the prompt
};

// An error in a provider's answer, before it is put into words for a person.
struct ProviderFault {
  Fault fault = Fault::malformed;
  int status = 0;    // HTTP status, or the one that an error within an answer states
  std::string text;  // the provider's words; may contain anything
  std::string code;  // "insufficient_quota"; may be empty
  std::optional<std::chrono::milliseconds> wait;  // the wait that the body asks for
};

using Answer = std::variant<ChatResponse, ProviderFault>;
using Models = std::variant<std::vector<std::string>, ProviderFault>;
using OnText = std::function<void(std::string_view)>;

// Parses one streamed answer as it comes.
class StreamDecoder {
 public:
  virtual ~StreamDecoder() = default;
  virtual void add(std::string_view bytes, const OnText& on_text) = 0;
  // Returns whether nothing relevant follows, though the connection may stay open.
  virtual bool done() const noexcept { return false; }
  // Must be called after the last byte. Fault::interrupted where the answer stops before its end.
  virtual Answer finish(const OnText& on_text) = 0;
};

// The number of tries of a call, and the time between them.
struct RetryRules {
  std::uint32_t tries = 3;
  BackoffRule backoff;
  // A local provider that nobody has started does not come up by waiting.
  enum class Unreachable : std::uint8_t { repeated, given_up } unreachable = Unreachable::repeated;
};

// Pure: the same arguments give the same result. Thread-safe.
class WireFormat {
 public:
  virtual ~WireFormat() = default;

  virtual HttpRequest encode(const ChatRequest& request, const Endpoint& endpoint,
                             Delivery delivery, SchemaUse schema_use) const = 0;
  virtual Answer decode_reply(std::string_view body) const = 0;
  virtual std::unique_ptr<StreamDecoder> stream_decoder() const = 0;
  // Parses an answer whose status is not 200.
  virtual ProviderFault decode_error(int status, std::string_view body) const = 0;

  virtual HttpRequest encode_models(const Endpoint& endpoint) const = 0;
  virtual Models decode_models(std::string_view body) const = 0;

  // The URL to which the paths of its API are appended, whether or not the base URL has that part.
  virtual std::string api_url(const Endpoint& endpoint) const = 0;

  // Returns whether the provider's own clients repeat a call that got this status.
  virtual bool repeats(int status) const = 0;
  virtual RetryRules retry_rules() const { return {}; }
};

Fault fault_of_status(int status);

// Returns whether the provider refused the schema, so that it should be put into the prompt.
bool refuses_schema(const ProviderFault& fault);

// Appends a path to a base URL that names only the host: with_path("http://h", "/v1").
std::string with_path(std::string base_url, std::string_view path);
// The same for a path with which every base URL ends, including that of a proxy.
std::string ending_with_path(std::string base_url, std::string_view path);

// The prompt that makes a model answer by a schema that is not a parameter of the call.
std::string schema_prompt(const AnswerSchema& schema);

}  // namespace runtime::llm
