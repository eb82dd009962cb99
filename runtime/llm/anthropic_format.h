// Anthropic's Messages API, in both of its versions.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "runtime/llm/wire_format.h"

namespace runtime::llm {

class AnthropicFormat final : public WireFormat {
 public:
  // Version "2023-06-01" takes the key as x-api-key. From "2026-10-21" on it is a bearer token, and
  // sampling parameters are refused at any value.
  explicit AnthropicFormat(std::string api_version = "2023-06-01")
      : api_version_(std::move(api_version)) {}

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
  bool is_first_version() const { return api_version_ == "2023-06-01"; }
  HttpRequest request_to(const Endpoint& endpoint, std::string method, std::string_view path) const;

  const std::string api_version_;
};

}  // namespace runtime::llm
