#include "runtime/llm/anthropic_format.h"

#include <map>
#include <optional>
#include <vector>

#include "runtime/json/reader.h"
#include "runtime/json/writer.h"
#include "runtime/llm/stream_parts.h"
#include "runtime/llm/tool_call_parts.h"
#include "runtime/llm/wire_json.h"

namespace runtime::llm {
namespace {

using json::Writer;

std::string system_text(const ChatRequest& request, SchemaUse schema_use) {
  std::string text;
  for (const Message& message : request.messages) {
    if (message.speaker != Speaker::system) continue;
    text += (text.empty() ? "" : "\n\n") + message.text;
  }
  if (request.schema && schema_use == SchemaUse::asked_for) {
    text += (text.empty() ? "" : "\n\n") + schema_prompt(*request.schema);
  }
  return text;
}

void write_text(Writer& writer, std::string_view text) {
  writer.begin_object().key("type").string("text").key("text").string(text).end_object();
}

// Writes a message's blocks; a block of text must not be empty.
void write_blocks(Writer& writer, const Message& message) {
  if (message.speaker == Speaker::tool) {
    writer.begin_object().key("type").string("tool_result");
    writer.key("tool_use_id").string(message.tool_call_id).key("content").string(message.text);
    if (message.tool_failed) writer.key("is_error").boolean(true);
    writer.end_object();
    return;
  }
  if (!message.text.empty()) write_text(writer, message.text);
  for (const ToolCall& call : message.tool_calls) {
    writer.begin_object().key("type").string("tool_use").key("id").string(call.id);
    writer.key("name").string(call.name).key("input").json(call.arguments).end_object();
  }
}

// Results of tools come from the user, and all results of a turn must be in one message: neighbours
// with the same role are merged.
void write_messages(Writer& writer, const ChatRequest& request) {
  writer.key("messages").begin_array();
  std::optional<bool> assistant;
  for (const Message& message : request.messages) {
    const bool empty = message.text.empty() && message.tool_calls.empty();
    if (message.speaker == Speaker::system || (empty && message.speaker != Speaker::tool)) continue;
    const bool by_assistant = message.speaker == Speaker::assistant;
    if (assistant != by_assistant) {
      if (assistant) writer.end_array().end_object();
      writer.begin_object().key("role").string(by_assistant ? "assistant" : "user");
      writer.key("content").begin_array();
      assistant = by_assistant;
    }
    write_blocks(writer, message);
  }
  if (assistant) {
    writer.end_array().end_object();
  } else {
    // The API requires at least one message.
    writer.begin_object().key("role").string("user").key("content").begin_array();
    write_text(writer, "Go on.");
    writer.end_array().end_object();
  }
  writer.end_array();
}

void write_anthropic_tools(Writer& writer, const ChatRequest& request) {
  if (request.tools.empty()) return;
  writer.key("tools").begin_array();
  for (const Tool& tool : request.tools) {
    writer.begin_object().key("name").string(tool.name);
    writer.key("description").string(tool.description);
    writer.key("input_schema").json(tool.parameters).end_object();
  }
  writer.end_array();
  const bool required = request.tool_choice == ToolChoice::required;
  const bool none = request.tool_choice == ToolChoice::none;
  writer.key("tool_choice").begin_object().key("type");
  writer.string(required ? "any" : none ? "none" : "auto").end_object();
}

// A later count replaces the earlier one, it is not added; a missing field changes nothing.
void read_anthropic_usage(const json::Value* usage, Usage& into) {
  const std::uint64_t input = count_member(usage, "input_tokens") +
                              count_member(usage, "cache_creation_input_tokens") +
                              count_member(usage, "cache_read_input_tokens");
  const std::uint64_t output = count_member(usage, "output_tokens");
  if (input != 0) into.input_tokens = input;
  if (output != 0) into.output_tokens = output;
}

void read_stop(const std::string& reason, ChatResponse& response) {
  if (reason == "max_tokens" || reason == "model_context_window_exceeded") {
    response.finish = Finish::length;
  } else if (reason == "tool_use") {
    response.finish = Finish::tool_calls;
  } else if (reason == "refusal") {
    response.finish = Finish::refused;
  }
}

class AnthropicStream final : public StreamDecoder {
 public:
  void add(std::string_view bytes, const OnText& on_text) override {
    for (const SseEvent& event : reader_.feed(bytes)) take(event.data, on_text);
    if (reader_.overflowed() && !fault_) fault_ = malformed("a part of the answer is too large");
  }

  bool done() const noexcept override { return stopped_; }

  Answer finish(const OnText& on_text) override {
    const bool ended = !fault_ && finished_;
    if (const auto event = reader_.rest()) take(event->data, on_text);
    // A truncated event after the last word, where the connection broke, does no harm.
    if (ended && fault_ && fault_->status == 0) fault_.reset();
    if (fault_) return std::move(*fault_);
    if (!any_) return malformed("the answer is no stream of events");
    if (!stopped_ && !finished_) {
      ProviderFault fault = malformed("the answer stops before its end");
      fault.fault = Fault::interrupted;
      return fault;
    }
    for (const auto& [index, input] : inputs_) {
      ToolCall& call = calls_.at(index, {});
      if (call.arguments.empty()) call.arguments = input;
    }
    if (auto fault = take_calls(calls_, response_)) return std::move(*fault);
    return std::move(response_);
  }

 private:
  void take(const std::string& text, const OnText& on_text) {
    if (fault_ || stopped_) return;
    const auto event = json::parse(text, "a part of the answer");
    if (!event) {
      fault_ = malformed(event.error().doing);
      return;
    }
    any_ = true;
    const std::string type = text_member(&*event, "type");
    if (type == "error") {
      const json::Value* error = member(*event, "error");
      fault_ = error == nullptr ? malformed("an error without a word") : fault_of_error(*error, 0);
    } else if (type == "message_start") {
      const json::Value* message = member(*event, "message");
      response_.model = text_member(message, "model");
      read_anthropic_usage(member(message, "usage"), response_.usage);
    } else if (type == "content_block_start") {
      start_block(*event, on_text);
    } else if (type == "content_block_delta") {
      take_delta(*event, on_text);
    } else if (type == "message_delta") {
      const std::string reason = text_member(member(*event, "delta"), "stop_reason");
      finished_ = finished_ || !reason.empty();
      read_stop(reason, response_);
      read_anthropic_usage(member(*event, "usage"), response_.usage);
    } else if (type == "message_stop") {
      stopped_ = true;
    }
  }

  void start_block(const json::Value& event, const OnText& on_text) {
    const json::Value* block = member(event, "content_block");
    const std::string type = text_member(block, "type");
    if (type == "text") say(text_member(block, "text"), on_text);
    if (type != "tool_use") return;
    const auto index = static_cast<std::int64_t>(count_member(&event, "index"));
    calls_.at(index, text_member(block, "id")).name = text_member(block, "name");
    // An input in this event is complete where no pieces of it follow.
    if (const json::Value* input = member(block, "input")) inputs_[index] = text_of(*input);
  }

  void take_delta(const json::Value& event, const OnText& on_text) {
    const json::Value* delta = member(event, "delta");
    const std::string type = text_member(delta, "type");
    if (type == "text_delta") {
      say(text_member(delta, "text"), on_text);
    } else if (type == "input_json_delta") {
      const auto index = static_cast<std::int64_t>(count_member(&event, "index"));
      calls_.at(index, {}).arguments += text_member(delta, "partial_json");
    }
  }

  void say(const std::string& text, const OnText& on_text) {
    if (text.empty()) return;
    response_.text += text;
    on_text(text);
  }

  SseReader reader_;
  ChatResponse response_;
  ToolCallParts calls_;
  std::map<std::int64_t, std::string> inputs_;
  std::optional<ProviderFault> fault_;
  bool any_ = false;
  bool finished_ = false;  // a stop_reason came
  bool stopped_ = false;   // message_stop came
};

}  // namespace

std::string AnthropicFormat::api_url(const Endpoint& endpoint) const {
  return ending_with_path(endpoint.base_url, "/v1");
}

HttpRequest AnthropicFormat::request_to(const Endpoint& endpoint, std::string method,
                                        std::string_view path) const {
  HttpRequest http;
  http.method = std::move(method);
  http.url = api_url(endpoint) + std::string(path);
  if (!endpoint.api_key.empty()) {
    if (is_first_version()) {
      http.headers.emplace_back("x-api-key", endpoint.api_key.reveal());
    } else {
      http.headers.emplace_back("Authorization", "Bearer " + endpoint.api_key.reveal());
    }
  }
  http.headers.emplace_back("anthropic-version", api_version_);
  http.headers.emplace_back("Accept", "application/json");
  return http;
}

HttpRequest AnthropicFormat::encode(const ChatRequest& request, const Endpoint& endpoint,
                                    Delivery delivery, SchemaUse schema_use) const {
  HttpRequest http = request_to(endpoint, "POST", "/messages");
  http.headers.emplace_back("Content-Type", "application/json");
  Writer writer;
  writer.begin_object();
  writer.key("model").string(request.model.empty() ? endpoint.model : request.model);
  writer.key("max_tokens").integer(request.max_output_tokens);
  if (const std::string system = system_text(request, schema_use); !system.empty()) {
    writer.key("system").string(system);
  }
  write_messages(writer, request);
  if (request.temperature && is_first_version()) {
    writer.key("temperature").number(*request.temperature);
  }
  if (request.schema && schema_use == SchemaUse::enforced) {
    writer.key("output_config").begin_object().key("format").begin_object();
    writer.key("type").string("json_schema").key("schema").json(request.schema->schema);
    writer.end_object().end_object();
  }
  write_anthropic_tools(writer, request);
  if (delivery == Delivery::streamed) writer.key("stream").boolean(true);
  writer.end_object();
  http.body = std::move(writer).take();
  return http;
}

Answer AnthropicFormat::decode_reply(std::string_view body) const {
  const auto root = json::parse(body, "the answer");
  if (!root) return malformed(root.error().doing);
  if (const auto* error = member(*root, "error"); error != nullptr && !error->is_null()) {
    return fault_of_error(*error, 0);
  }
  const json::Value* content = member(*root, "content");
  if (content == nullptr || content->as_array() == nullptr) {
    return malformed("the answer has no content");
  }
  ChatResponse response;
  response.model = text_member(&*root, "model");
  read_anthropic_usage(member(*root, "usage"), response.usage);
  read_stop(text_member(&*root, "stop_reason"), response);
  ToolCallParts calls;
  std::int64_t index = 0;
  for (const json::Value& block : *content->as_array()) {
    const std::string type = text_member(&block, "type");
    if (type == "text") response.text += text_member(&block, "text");
    if (type != "tool_use") continue;
    ToolCall& call = calls.at(index++, text_member(&block, "id"));
    call.name = text_member(&block, "name");
    const json::Value* input = member(block, "input");
    if (input != nullptr && !input->is_null()) call.arguments = text_of(*input);
  }
  if (auto fault = take_calls(calls, response)) return std::move(*fault);
  return response;
}

std::unique_ptr<StreamDecoder> AnthropicFormat::stream_decoder() const {
  return std::make_unique<AnthropicStream>();
}

ProviderFault AnthropicFormat::decode_error(int status, std::string_view body) const {
  return fault_of_body(status, body);
}

HttpRequest AnthropicFormat::encode_models(const Endpoint& endpoint) const {
  return request_to(endpoint, "GET", "/models?limit=1000");
}

Models AnthropicFormat::decode_models(std::string_view body) const {
  return models_of(body, "data", "id");
}

bool AnthropicFormat::repeats(int status) const {
  return status == 408 || status == 409 || status == 429 || status >= 500;
}

}  // namespace runtime::llm
