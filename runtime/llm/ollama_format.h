// Ollama's /api/chat.
#pragma once

#include "runtime/llm/wire_format.h"

namespace runtime::llm {

class OllamaFormat final : public WireFormat {
 public:
  HttpRequest encode(const ChatRequest& request, const Endpoint& endpoint, Delivery delivery,
                     SchemaUse schema_use) const override;
  Answer decode_reply(std::string_view body) const override;
  std::unique_ptr<StreamDecoder> stream_decoder() const override;
  ProviderFault decode_error(int status, std::string_view body) const override;
  HttpRequest encode_models(const Endpoint& endpoint) const override;
  Models decode_models(std::string_view body) const override;
  std::string api_url(const Endpoint& endpoint) const override;
  bool repeats(int status) const override;
  RetryRules retry_rules() const override;

 private:
  HttpRequest request_to(const Endpoint& endpoint, std::string method, std::string_view path) const;
};

}  // namespace runtime::llm
