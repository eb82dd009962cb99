// Chat completions as OpenAI defined them, and what others made of them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/llm/wire_format.h"

namespace runtime::llm {

// Where those who speak it differ.
struct Dialect {
  std::string path = "/v1";  // of a base URL that names the host alone
  std::string limit_field = "max_completion_tokens";
  std::vector<std::pair<std::string, std::string>> headers;
  // What a schema in the prompt comes with; some want their answers' form named all the same.
  enum class PlainJson : std::uint8_t { named, unnamed } plain_json = PlainJson::named;
  // Whether a router may pass the call on to somebody who ignores a part of it.
  enum class Routing : std::uint8_t { none, by_parameters } routing = Routing::none;
  // Repeated on these and on what is above 500, as the provider's own client does.
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
