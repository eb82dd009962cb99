#include "runtime/llm/openai_format.h"

#include <algorithm>
#include <optional>

#include "runtime/json/reader.h"
#include "runtime/json/writer.h"
#include "runtime/llm/stream_parts.h"
#include "runtime/llm/tool_call_parts.h"
#include "runtime/llm/wire_json.h"

namespace runtime::llm {
namespace {

using json::Writer;

void write_openai_message(Writer& writer, const Message& message) {
  writer.begin_object().key("role").string(role_of(message.speaker));
  if (message.speaker == Speaker::tool) {
    writer.key("tool_call_id").string(message.tool_call_id);
    // The API has no field for a failure.
    writer.key("content").string((message.tool_failed ? "error: " : "") + message.text);
  } else if (message.text.empty() && !message.tool_calls.empty()) {
    writer.key("content").null();
  } else {
    writer.key("content").string(message.text);
  }
  if (!message.tool_calls.empty()) {
    writer.key("tool_calls").begin_array();
    for (const ToolCall& call : message.tool_calls) {
      writer.begin_object().key("id").string(call.id).key("type").string("function");
      writer.key("function").begin_object().key("name").string(call.name);
      writer.key("arguments").string(call.arguments).end_object().end_object();
    }
    writer.end_array();
  }
  writer.end_object();
}

void write_openai_tools(Writer& writer, const ChatRequest& request) {
  if (request.tools.empty()) return;
  write_functions(writer, request.tools);
  const bool required = request.tool_choice == ToolChoice::required;
  const bool none = request.tool_choice == ToolChoice::none;
  writer.key("tool_choice").string(required ? "required" : none ? "none" : "auto");
}

// Reads {"prompt_tokens", "completion_tokens"}; some servers send null until the end.
void read_openai_usage(const json::Value* usage, Usage& into) {
  if (usage == nullptr || usage->as_object() == nullptr) return;
  into.input_tokens = count_member(usage, "prompt_tokens");
  into.output_tokens = count_member(usage, "completion_tokens");
}

// Returns a string, or the joined texts of a list of parts.
std::string content_text(const json::Value* content) {
  if (content == nullptr) return {};
  if (const std::string* text = content->as_string()) return *text;
  std::string joined;
  for (const json::Value& part : items_of(content)) joined += text_member(&part, "text");
  return joined;
}

// Reads the members that a message and a delta share; a message's calls are whole, whatever their
// indices say.
void read_calls(const json::Value* from, Delivery delivery, ToolCallParts& parts) {
  std::int64_t position = 0;
  for (const json::Value& item : items_of(member(from, "tool_calls"))) {
    const json::Value* index = member(item, "index");
    std::optional<std::int64_t> at;
    if (index != nullptr && index->as_integer() != nullptr) at = *index->as_integer();
    if (delivery == Delivery::whole) at = position++;
    const json::Value* function = member(item, "function");
    ToolCall& call = parts.at(at, text_member(&item, "id"));
    if (call.name.empty()) call.name = text_member(function, "name");
    const json::Value* arguments = member(function, "arguments");
    if (arguments == nullptr || arguments->is_null()) continue;
    const std::string* text = arguments->as_string();
    call.arguments += text != nullptr ? *text : text_of(*arguments);
  }
}

// Returns whether it is a reason at all; an unknown one counts as an end.
bool read_finish(const std::string& reason, ChatResponse& response) {
  if (reason == "length") {
    response.finish = Finish::length;
  } else if (reason == "tool_calls" || reason == "function_call") {
    response.finish = Finish::tool_calls;
  } else if (reason == "content_filter") {
    response.finish = Finish::refused;
  }
  return !reason.empty();
}

class OpenAiStream final : public StreamDecoder {
 public:
  void add(std::string_view bytes, const OnText& on_text) override {
    for (const SseEvent& event : reader_.feed(bytes)) take(event.data, on_text);
    if (reader_.overflowed() && !fault_) fault_ = malformed("a part of the answer is too large");
  }

  bool done() const noexcept override { return done_; }

  Answer finish(const OnText& on_text) override {
    const bool ended = !fault_ && finished_;
    if (const auto event = reader_.rest()) take(event->data, on_text);
    // A truncated event after the last word, where the connection broke, does no harm.
    if (ended && fault_ && fault_->status == 0) fault_.reset();
    if (fault_) return std::move(*fault_);
    if (!done_ && !finished_) {
      ProviderFault fault = malformed("the answer stops before its end");
      if (any_) fault.fault = Fault::interrupted;
      if (!any_) fault.text = "the answer is no stream of events";
      return fault;
    }
    if (!refusal_.empty()) {
      response_.finish = Finish::refused;
      if (response_.text.empty()) response_.text = std::move(refusal_);
    }
    if (auto fault = take_calls(calls_, response_)) return std::move(*fault);
    return std::move(response_);
  }

 private:
  void take(const std::string& text, const OnText& on_text) {
    if (fault_ || done_) return;
    any_ = true;
    if (text == "[DONE]") {
      done_ = true;
      return;
    }
    const auto chunk = json::parse(text, "a part of the answer");
    if (!chunk) {
      fault_ = malformed(chunk.error().doing);
      return;
    }
    if (const auto* error = member(*chunk, "error"); error != nullptr && !error->is_null()) {
      fault_ = fault_of_error(*error, 0);
      return;
    }
    if (response_.model.empty()) response_.model = text_member(&*chunk, "model");
    read_openai_usage(member(*chunk, "usage"), response_.usage);
    read_openai_usage(member(member(*chunk, "x_groq"), "usage"), response_.usage);
    const json::Array& choices = items_of(member(*chunk, "choices"));
    if (!choices.empty()) take_choice(choices.front(), on_text);
  }

  void take_choice(const json::Value& choice, const OnText& on_text) {
    const json::Value* delta = member(choice, "delta");
    const std::string text = content_text(member(delta, "content"));
    if (!text.empty()) {
      response_.text += text;
      on_text(text);
    }
    refusal_ += text_member(delta, "refusal");
    read_calls(delta, Delivery::streamed, calls_);
    const std::string reason = text_member(&choice, "finish_reason");
    if (reason == "error") {
      fault_ = malformed("the provider ended the answer with an error");
      fault_->fault = Fault::unavailable;
      fault_->status = 500;
    } else if (read_finish(reason, response_)) {
      finished_ = true;
    }
  }

  SseReader reader_;
  ChatResponse response_;
  ToolCallParts calls_;
  std::string refusal_;
  std::optional<ProviderFault> fault_;
  bool any_ = false;
  bool finished_ = false;  // a finish_reason came
  bool done_ = false;      // [DONE] came
};

}  // namespace

Dialect Dialect::openai() { return {}; }

Dialect Dialect::groq() {
  Dialect dialect;
  dialect.path = "/openai/v1";
  return dialect;
}

Dialect Dialect::openrouter() {
  Dialect dialect;
  dialect.path = "/api/v1";
  dialect.limit_field = "max_tokens";
  dialect.headers = {{"X-OpenRouter-Title", "agent-sandbox"}};
  dialect.plain_json = PlainJson::unnamed;
  dialect.routing = Routing::by_parameters;
  dialect.repeated.clear();
  return dialect;
}

Dialect Dialect::cerebras() { return {}; }

std::string OpenAiFormat::api_url(const Endpoint& endpoint) const {
  return with_path(endpoint.base_url, dialect_.path);
}

HttpRequest OpenAiFormat::request_to(const Endpoint& endpoint, std::string method,
                                     std::string_view path) const {
  HttpRequest http;
  http.method = std::move(method);
  http.url = api_url(endpoint) + std::string(path);
  if (!endpoint.api_key.empty()) {
    http.headers.emplace_back("Authorization", "Bearer " + endpoint.api_key.reveal());
  }
  http.headers.emplace_back("Accept", "application/json");
  http.headers.insert(http.headers.end(), dialect_.headers.begin(), dialect_.headers.end());
  return http;
}

HttpRequest OpenAiFormat::encode(const ChatRequest& request, const Endpoint& endpoint,
                                 Delivery delivery, SchemaUse schema_use) const {
  HttpRequest http = request_to(endpoint, "POST", "/chat/completions");
  http.headers.emplace_back("Content-Type", "application/json");
  Writer writer;
  writer.begin_object();
  writer.key("model").string(request.model.empty() ? endpoint.model : request.model);
  writer.key("messages").begin_array();
  const bool in_prompt = request.schema && schema_use == SchemaUse::asked_for;
  if (in_prompt) {
    Message message;
    message.speaker = Speaker::system;
    message.text = schema_prompt(*request.schema);
    write_openai_message(writer, message);
  }
  for (const Message& message : request.messages) write_openai_message(writer, message);
  writer.end_array();
  writer.key(dialect_.limit_field).integer(request.max_output_tokens);
  if (request.temperature) writer.key("temperature").number(*request.temperature);
  if (in_prompt && dialect_.plain_json == Dialect::PlainJson::named) {
    writer.key("response_format").begin_object().key("type").string("json_object").end_object();
  } else if (request.schema && !in_prompt) {
    writer.key("response_format").begin_object().key("type").string("json_schema");
    writer.key("json_schema").begin_object().key("name").string(request.schema->name);
    writer.key("strict").boolean(true).key("schema").json(request.schema->schema);
    writer.end_object().end_object();
    if (dialect_.routing == Dialect::Routing::by_parameters) {
      writer.key("provider").begin_object().key("require_parameters").boolean(true).end_object();
    }
  }
  write_openai_tools(writer, request);
  if (delivery == Delivery::streamed) {
    writer.key("stream").boolean(true);
    writer.key("stream_options").begin_object().key("include_usage").boolean(true).end_object();
  }
  writer.end_object();
  http.body = std::move(writer).take();
  return http;
}

Answer OpenAiFormat::decode_reply(std::string_view body) const {
  const auto root = json::parse(body, "the answer");
  if (!root) return malformed(root.error().doing);
  if (const auto* error = member(*root, "error"); error != nullptr && !error->is_null()) {
    return fault_of_error(*error, 0);
  }
  const json::Array& choices = items_of(member(*root, "choices"));
  if (choices.empty()) return malformed("the answer has no choices");
  const json::Value& choice = choices.front();
  if (const auto* error = member(choice, "error"); error != nullptr && !error->is_null()) {
    return fault_of_error(*error, 0);
  }
  const json::Value* message = member(choice, "message");
  if (message == nullptr) return malformed("the answer has no message");
  ChatResponse response;
  response.model = text_member(&*root, "model");
  response.text = content_text(member(message, "content"));
  read_openai_usage(member(*root, "usage"), response.usage);
  read_finish(text_member(&choice, "finish_reason"), response);
  if (std::string refusal = text_member(message, "refusal"); !refusal.empty()) {
    response.finish = Finish::refused;
    if (response.text.empty()) response.text = std::move(refusal);
  }
  ToolCallParts calls;
  read_calls(message, Delivery::whole, calls);
  if (auto fault = take_calls(calls, response)) return std::move(*fault);
  return response;
}

std::unique_ptr<StreamDecoder> OpenAiFormat::stream_decoder() const {
  return std::make_unique<OpenAiStream>();
}

ProviderFault OpenAiFormat::decode_error(int status, std::string_view body) const {
  return fault_of_body(status, body);
}

HttpRequest OpenAiFormat::encode_models(const Endpoint& endpoint) const {
  return request_to(endpoint, "GET", "/models");
}

Models OpenAiFormat::decode_models(std::string_view body) const {
  return models_of(body, "data", "id");
}

bool OpenAiFormat::repeats(int status) const {
  return status >= 500 || std::find(dialect_.repeated.begin(), dialect_.repeated.end(), status) !=
                              dialect_.repeated.end();
}

}  // namespace runtime::llm
