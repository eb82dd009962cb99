#include "runtime/llm/google_format.h"

#include <algorithm>
#include <array>
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

// Accepts "v1", "v1beta", "v1alpha2".
bool is_version(std::string_view segment) {
  return segment.size() >= 2 && segment[0] == 'v' && segment[1] >= '0' && segment[1] <= '9';
}

// Escapes the name as one segment of a path.
std::string escaped(std::string_view name) {
  constexpr std::string_view plain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string result;
  for (const char c : name) {
    if (plain.find(c) != plain.npos) {
      result += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    result += '%';
    result += digits[byte >> 4];
    result += digits[byte & 15];
  }
  return result;
}

// Google's list of models gives names as "models/gemini-...", and callers may repeat that.
std::string_view without_collection(std::string_view name) {
  constexpr std::string_view collection = "models/";
  if (name.starts_with(collection)) name.remove_prefix(collection.size());
  return name;
}

void write_system(Writer& writer, const ChatRequest& request, SchemaUse schema_use) {
  std::vector<std::string> texts;
  for (const Message& message : request.messages) {
    if (message.speaker == Speaker::system && !message.text.empty()) texts.push_back(message.text);
  }
  if (request.schema && schema_use == SchemaUse::asked_for) {
    texts.push_back(schema_prompt(*request.schema));
  }
  if (texts.empty()) return;
  writer.key("systemInstruction").begin_object().key("parts").begin_array();
  for (const std::string& text : texts) writer.begin_object().key("text").string(text).end_object();
  writer.end_array().end_object();
}

void write_parts(Writer& writer, const Message& message) {
  if (message.speaker == Speaker::tool) {
    writer.begin_object().key("functionResponse").begin_object();
    if (!is_made_call_id(message.tool_call_id)) writer.key("id").string(message.tool_call_id);
    writer.key("name").string(message.tool_name).key("response").begin_object();
    writer.key(message.tool_failed ? "error" : "output").string(message.text);
    writer.end_object().end_object().end_object();
    return;
  }
  if (!message.text.empty() || message.tool_calls.empty()) {
    writer.begin_object().key("text").string(message.text).end_object();
  }
  for (const ToolCall& call : message.tool_calls) {
    writer.begin_object().key("functionCall").begin_object();
    if (!is_made_call_id(call.id)) writer.key("id").string(call.id);
    writer.key("name").string(call.name).key("args").json(call.arguments).end_object();
    if (!call.provider_state.empty()) {
      writer.key("thoughtSignature").string(call.provider_state);
    }
    writer.end_object();
  }
}

// Neighbours with the same role are merged: all results of a turn are in one message.
void write_contents(Writer& writer, const ChatRequest& request) {
  writer.key("contents").begin_array();
  std::optional<bool> model;
  for (const Message& message : request.messages) {
    if (message.speaker == Speaker::system) continue;
    const bool by_model = message.speaker == Speaker::assistant;
    if (model != by_model) {
      if (model) writer.end_array().end_object();
      writer.begin_object().key("role").string(by_model ? "model" : "user");
      writer.key("parts").begin_array();
      model = by_model;
    }
    write_parts(writer, message);
  }
  if (!model) {
    // The API requires at least one message.
    writer.begin_object().key("role").string("user").key("parts").begin_array();
    writer.begin_object().key("text").string("Go on.").end_object();
  }
  writer.end_array().end_object();
  writer.end_array();
}

void write_generation(Writer& writer, const ChatRequest& request, SchemaUse schema_use) {
  writer.key("generationConfig").begin_object();
  writer.key("maxOutputTokens").integer(request.max_output_tokens);
  if (request.temperature) writer.key("temperature").number(*request.temperature);
  if (request.schema && schema_use == SchemaUse::enforced) {
    writer.key("responseMimeType").string("application/json");
    writer.key("responseJsonSchema").json(request.schema->schema);
  }
  writer.end_object();
}

void write_google_tools(Writer& writer, const ChatRequest& request) {
  if (request.tools.empty()) return;
  writer.key("tools").begin_array().begin_object().key("functionDeclarations").begin_array();
  for (const Tool& tool : request.tools) {
    writer.begin_object().key("name").string(tool.name);
    writer.key("description").string(tool.description);
    writer.key("parametersJsonSchema").json(tool.parameters).end_object();
  }
  writer.end_array().end_object().end_array();
  const bool required = request.tool_choice == ToolChoice::required;
  const bool none = request.tool_choice == ToolChoice::none;
  writer.key("toolConfig").begin_object().key("functionCallingConfig").begin_object();
  writer.key("mode").string(required ? "ANY" : none ? "NONE" : "AUTO").end_object().end_object();
}

ProviderFault fault_of(const json::Value& error, int status) {
  ProviderFault fault = fault_of_error(error, status);
  for (const json::Value& detail : items_of(member(error, "details"))) {
    if (text_member(&detail, "reason") == "API_KEY_INVALID") fault.fault = Fault::unauthorized;
    if (!text_member(&detail, "@type").ends_with("RetryInfo")) continue;
    fault.wait = parse_retry_delay(text_member(&detail, "retryDelay"));
  }
  return fault;
}

class GoogleAnswer {
 public:
  // Returns std::nullopt, or the fault of the chunk.
  std::optional<ProviderFault> add(const json::Value& chunk, const OnText& on_text) {
    if (const auto* error = member(chunk, "error"); error != nullptr && !error->is_null()) {
      return fault_of(*error, 0);
    }
    if (response_.model.empty()) response_.model = text_member(&chunk, "modelVersion");
    if (const json::Value* usage = member(chunk, "usageMetadata")) {
      response_.usage.input_tokens = count_member(usage, "promptTokenCount");
      response_.usage.output_tokens =
          count_member(usage, "candidatesTokenCount") + count_member(usage, "thoughtsTokenCount");
    }
    const json::Array& candidates = items_of(member(chunk, "candidates"));
    if (candidates.empty()) {
      const std::string reason = text_member(member(chunk, "promptFeedback"), "blockReason");
      if (!reason.empty()) end(Finish::refused);
      return std::nullopt;
    }
    const json::Value& candidate = candidates.front();
    for (const json::Value& part : items_of(member(member(candidate, "content"), "parts"))) {
      take_part(part, on_text);
    }
    return take_reason(text_member(&candidate, "finishReason"));
  }

  Answer finish() {
    if (!finished_) {
      ProviderFault fault = malformed("the answer stops before its end");
      fault.fault = Fault::interrupted;
      return fault;
    }
    if (auto fault = take_calls(calls_, response_)) return std::move(*fault);
    return std::move(response_);
  }

  // A complete answer may lack a reason for its end.
  void end(Finish finish) {
    response_.finish = finish;
    finished_ = true;
  }
  bool finished() const { return finished_; }

 private:
  void take_part(const json::Value& part, const OnText& on_text) {
    if (const json::Value* call = member(part, "functionCall")) {
      ToolCall& made = calls_.at(next_call_++, text_member(call, "id"));
      made.name = text_member(call, "name");
      const json::Value* arguments = member(call, "args");
      if (arguments != nullptr && !arguments->is_null()) made.arguments = text_of(*arguments);
      made.provider_state = text_member(&part, "thoughtSignature");
      return;
    }
    const json::Value* thought = member(part, "thought");
    if (thought != nullptr && thought->as_bool() != nullptr && *thought->as_bool()) return;
    const std::string text = text_member(&part, "text");
    if (text.empty()) return;
    response_.text += text;
    on_text(text);
  }

  std::optional<ProviderFault> take_reason(const std::string& reason) {
    constexpr std::array<std::string_view, 6> refusals{
        "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE"};
    if (reason.empty() || reason == "FINISH_REASON_UNSPECIFIED") return std::nullopt;
    if (reason == "MALFORMED_FUNCTION_CALL" || reason == "UNEXPECTED_TOOL_CALL") {
      return malformed("the model made a tool call that is none (" + reason + ")");
    }
    const bool refused = std::find(refusals.begin(), refusals.end(), reason) != refusals.end();
    end(refused ? Finish::refused : reason == "MAX_TOKENS" ? Finish::length : Finish::stop);
    return std::nullopt;
  }

  ChatResponse response_;
  ToolCallParts calls_;
  std::int64_t next_call_ = 0;
  bool finished_ = false;
};

class GoogleStream final : public StreamDecoder {
 public:
  void add(std::string_view bytes, const OnText& on_text) override {
    for (const SseEvent& event : reader_.feed(bytes)) take(event.data, on_text);
    if (reader_.overflowed() && !fault_) fault_ = malformed("a part of the answer is too large");
  }

  Answer finish(const OnText& on_text) override {
    const bool ended = !fault_ && answer_.finished();
    if (const auto event = reader_.rest()) take(event->data, on_text);
    // A truncated event after the last word, where the connection broke, does no harm.
    if (ended && fault_ && fault_->status == 0) fault_.reset();
    if (fault_) return std::move(*fault_);
    if (!any_) return malformed("the answer is no stream of events");
    return answer_.finish();
  }

 private:
  void take(const std::string& text, const OnText& on_text) {
    if (fault_) return;
    any_ = true;
    const auto chunk = json::parse(text, "a part of the answer");
    fault_ = chunk ? answer_.add(*chunk, on_text) : malformed(chunk.error().doing);
  }

  SseReader reader_;
  GoogleAnswer answer_;
  std::optional<ProviderFault> fault_;
  bool any_ = false;
};

}  // namespace

std::string GoogleFormat::api_url(const Endpoint& endpoint) const {
  const std::string url = with_path(endpoint.base_url, "/" + api_version_);
  const bool has_version = is_version(std::string_view(url).substr(url.rfind('/') + 1));
  return has_version ? url : url + "/" + api_version_;
}

HttpRequest GoogleFormat::request_to(const Endpoint& endpoint, std::string method,
                                     std::string_view path) const {
  HttpRequest http;
  http.method = std::move(method);
  http.url = api_url(endpoint) + std::string(path);
  if (!endpoint.api_key.empty()) {
    http.headers.emplace_back("x-goog-api-key", endpoint.api_key.reveal());
  }
  http.headers.emplace_back("Accept", "application/json");
  return http;
}

HttpRequest GoogleFormat::encode(const ChatRequest& request, const Endpoint& endpoint,
                                 Delivery delivery, SchemaUse schema_use) const {
  const std::string& model = request.model.empty() ? endpoint.model : request.model;
  std::string path = "/models/" + escaped(without_collection(model));
  path += delivery == Delivery::streamed ? ":streamGenerateContent?alt=sse" : ":generateContent";
  HttpRequest http = request_to(endpoint, "POST", path);
  http.headers.emplace_back("Content-Type", "application/json");
  Writer writer;
  writer.begin_object();
  write_system(writer, request, schema_use);
  write_contents(writer, request);
  write_generation(writer, request, schema_use);
  write_google_tools(writer, request);
  writer.end_object();
  http.body = std::move(writer).take();
  return http;
}

Answer GoogleFormat::decode_reply(std::string_view body) const {
  const auto root = json::parse(body, "the answer");
  if (!root) return malformed(root.error().doing);
  GoogleAnswer answer;
  if (auto fault = answer.add(*root, [](std::string_view) {})) return std::move(*fault);
  if (!answer.finished()) {
    if (items_of(member(*root, "candidates")).empty()) {
      return malformed("the answer has no candidates");
    }
    answer.end(Finish::stop);
  }
  return answer.finish();
}

std::unique_ptr<StreamDecoder> GoogleFormat::stream_decoder() const {
  return std::make_unique<GoogleStream>();
}

ProviderFault GoogleFormat::decode_error(int status, std::string_view body) const {
  if (const auto root = json::parse(body, "the error")) {
    const json::Value* value = &*root;
    // Without server-sent events a stream comes as an array.
    if (!items_of(value).empty()) value = &items_of(value).front();
    if (const json::Value* error = member(value, "error")) return fault_of(*error, status);
  }
  return fault_of_body(status, body);
}

HttpRequest GoogleFormat::encode_models(const Endpoint& endpoint) const {
  return request_to(endpoint, "GET", "/models?pageSize=1000");
}

Models GoogleFormat::decode_models(std::string_view body) const {
  Models models = models_of(body, "models", "name");
  if (auto* names = std::get_if<0>(&models)) {
    for (std::string& name : *names) name = without_collection(name);
  }
  return models;
}

bool GoogleFormat::repeats(int status) const {
  constexpr std::array<int, 6> repeated{408, 429, 500, 502, 503, 504};
  return std::find(repeated.begin(), repeated.end(), status) != repeated.end();
}

RetryRules GoogleFormat::retry_rules() const {
  RetryRules rules;
  rules.tries = 5;
  rules.backoff.first = std::chrono::milliseconds(1'000);
  rules.backoff.most = std::chrono::milliseconds(60'000);
  return rules;
}

}  // namespace runtime::llm
