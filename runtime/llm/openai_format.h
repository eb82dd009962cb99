// OpenAI's chat completions, and the variants of other servers.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/llm/wire_format.h"

namespace runtime::llm {

// The differences between servers that speak this protocol.
struct Dialect {
  std::string path = "/v1";  // appended to a base URL that names only the host
  std::string limit_field = "max_completion_tokens";
  std::vector<std::pair<std::string, std::string>> headers;
  // Whether the JSON mode is named where the schema is in the prompt, as some servers require.
  enum class PlainJson : std::uint8_t { named, unnamed } plain_json = PlainJson::named;
  // Whether a router may pass the call on to a server that ignores a part of it.
  enum class Routing : std::uint8_t { none, by_parameters } routing = Routing::none;
  // The statuses on which a call is repeated, in addition to those above 500, as the provider's own
  // client does.
  std::vector<int> repeated = {408, 409, 429};

  static Dialect openai();
  static Dialect groq();
  static Dialect openrouter();
  static Dialect cerebras();
};

class OpenAiFormat final : public WireFormat {
 public:
  explicit OpenAiFormat(Dialect dialect) : dialect_(std::move(dialect)) {}

  HttpRequest encode(const ChatRequest& request, const Endpoint& endpoint, Delivery delivery,
                     SchemaUse schema_use) const override;
  Answer decode_reply(std::string_view body) const override;
  std::unique_ptr<StreamDecoder> stream_decoder() const override;
  ProviderFault decode_error(int status, std::string_view body) const override;
  HttpRequest encode_models(const Endpoint& endpoint) const override;
  Models decode_models(std::string_view body) const override;
  std::string api_url(const Endpoint& endpoint) const override;
  bool repeats(int status) const override;

 private:
  HttpRequest request_to(const Endpoint& endpoint, std::string method, std::string_view path) const;

  const Dialect dialect_;
};

}  // namespace runtime::llm
