// The requests to other providers, and how their answers are parsed: whole and split at every byte.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "runtime/llm/anthropic_format.h"
#include "runtime/llm/google_format.h"
#include "runtime/llm/ollama_format.h"
#include "tests/unit/llm/conversation.h"

namespace runtime::llm {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// --- Anthropic

TEST(AnthropicFormat, RequestOfTheFirstVersion) {
  const HttpRequest http = AnthropicFormat().encode(talk(), endpoint("http://h"),
                                                    Delivery::streamed, SchemaUse::enforced);
  EXPECT_EQ(http.url, "http://h/v1/messages");
  EXPECT_EQ(header(http, "x-api-key"), "k");
  EXPECT_EQ(header(http, "Authorization"), "none");
  EXPECT_EQ(header(http, "anthropic-version"), "2023-06-01");
  EXPECT_EQ(
      http.body,
      R"({"model":"m/1","max_tokens":99,"system":"be brief","messages":[)"
      R"({"role":"user","content":[{"type":"text","text":"weather?"}]},)"
      R"({"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"get",)"
      R"("input":{"city":"Prague"}},{"type":"tool_use","id":"made_call_1","name":"time","input":{}}]},)"
      R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"sunny"},)"
      R"({"type":"tool_result","tool_use_id":"made_call_1","content":"no clock","is_error":true}]}],)"
      R"("temperature":0,"output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}},)"
      R"("tools":[{"name":"get","description":"weather","input_schema":{"type":"object"}}],)"
      R"("tool_choice":{"type":"any"},"stream":true})");
}

TEST(AnthropicFormat, TheSecondVersionHasNoSamplingAndABearer) {
  const HttpRequest http =
      AnthropicFormat("2026-10-21")
          .encode(talk(), endpoint("http://h/v1"), Delivery::whole, SchemaUse::asked_for);
  EXPECT_EQ(http.url, "http://h/v1/messages");
  EXPECT_EQ(header(http, "x-api-key"), "none");
  EXPECT_EQ(header(http, "Authorization"), "Bearer k");
  EXPECT_EQ(header(http, "anthropic-version"), "2026-10-21");
  EXPECT_THAT(http.body, Not(HasSubstr("temperature")));
  EXPECT_THAT(http.body, Not(HasSubstr("output_config")));
  EXPECT_THAT(http.body, HasSubstr("valid by the JSON schema below"));
}

TEST(AnthropicFormat, Reply) {
  const ChatResponse response = whole(AnthropicFormat(), R"({"model": "m", "content": [
    {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"}, {"type": "text", "text": "b"},
    {"type": "tool_use", "id": "t1", "name": "f", "input": {"x": 1}}], "stop_reason": "tool_use",
    "usage": {"input_tokens": 3, "cache_read_input_tokens": 4, "output_tokens": 5}})");
  EXPECT_EQ(response.text, "ab");
  EXPECT_EQ(response.finish, Finish::tool_calls);
  EXPECT_EQ(response.tool_calls[0].arguments, R"({"x":1})");
  EXPECT_EQ(response.usage.input_tokens, 7u);
  EXPECT_EQ(whole(AnthropicFormat(), R"({"content": [], "stop_reason": "refusal"})").finish,
            Finish::refused);
  EXPECT_EQ(whole_fault(AnthropicFormat(), "{}").fault, Fault::malformed);
}

TEST(AnthropicFormat, Stream) {
  const ChatResponse response = stream(AnthropicFormat(), R"(event: message_start
data: {"type":"message_start","message":{"model":"m","usage":{"input_tokens":9,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: ping
data: {"type":"ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"x\""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":":1}"}}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"u","name":"g","input":{"z":3}}}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":12}}

event: message_stop
data: {"type":"message_stop"}

)");
  EXPECT_EQ(response.text, "hi");
  ASSERT_EQ(response.tool_calls.size(), 2u);
  EXPECT_EQ(response.tool_calls[0].arguments, R"({"x":1})");
  EXPECT_EQ(response.tool_calls[1].arguments, R"({"z":3})");
  EXPECT_EQ(response.usage.input_tokens, 9u);
  EXPECT_EQ(response.usage.output_tokens, 12u);
}

TEST(AnthropicFormat, AnErrorWithinAStream) {
  const ProviderFault fault =
      stream_fault(AnthropicFormat(),
                   "event: error\ndata: {\"type\":\"error\","
                   "\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n");
  EXPECT_EQ(fault.status, 529);
  EXPECT_EQ(fault.fault, Fault::unavailable);
  EXPECT_TRUE(AnthropicFormat().repeats(fault.status));
  EXPECT_EQ(stream_fault(AnthropicFormat(), "data: {\"type\":\"ping\"}\n\n").fault,
            Fault::interrupted);
}

TEST(AnthropicFormat, HalfAPieceBehindTheLastWordTakesNothingAway) {
  const ChatResponse response =
      stream(AnthropicFormat(), R"(data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}

data: {"type":"message_st)");
  EXPECT_EQ(response.finish, Finish::stop);
}

// --- Google

TEST(GoogleFormat, Request) {
  const HttpRequest http =
      GoogleFormat().encode(talk(), endpoint("http://h"), Delivery::streamed, SchemaUse::enforced);
  EXPECT_EQ(http.url, "http://h/v1beta/models/m%2F1:streamGenerateContent?alt=sse");
  EXPECT_EQ(header(http, "x-goog-api-key"), "k");
  EXPECT_EQ(
      http.body,
      R"({"systemInstruction":{"parts":[{"text":"be brief"}]},"contents":[)"
      R"({"role":"user","parts":[{"text":"weather?"}]},)"
      R"({"role":"model","parts":[{"functionCall":{"id":"c1","name":"get","args":{"city":"Prague"}},)"
      R"("thoughtSignature":"sig"},{"functionCall":{"name":"time","args":{}}}]},)"
      R"({"role":"user","parts":[{"functionResponse":{"id":"c1","name":"get",)"
      R"("response":{"output":"sunny"}}},{"functionResponse":{"name":"time",)"
      R"("response":{"error":"no clock"}}}]}],)"
      R"("generationConfig":{"maxOutputTokens":99,"temperature":0,)"
      R"("responseMimeType":"application/json","responseJsonSchema":{"type":"object"}},)"
      R"("tools":[{"functionDeclarations":[{"name":"get","description":"weather",)"
      R"("parametersJsonSchema":{"type":"object"}}]}],)"
      R"("toolConfig":{"functionCallingConfig":{"mode":"ANY"}}})");
}

TEST(GoogleFormat, TheBaseUrlsVersionWins) {
  const auto url = [](std::string base) {
    ChatRequest request = talk();
    request.model = "models/gemini-x";
    return GoogleFormat("v1")
        .encode(request, endpoint(std::move(base)), Delivery::whole, SchemaUse::enforced)
        .url;
  };
  EXPECT_EQ(url("http://h"), "http://h/v1/models/gemini-x:generateContent");
  EXPECT_EQ(url("http://h/v1beta"), "http://h/v1beta/models/gemini-x:generateContent");
  EXPECT_EQ(url("http://h/proxy"), "http://h/proxy/v1/models/gemini-x:generateContent");
}

TEST(GoogleFormat, Reply) {
  const GoogleFormat format;
  const ChatResponse response = whole(format, R"({"candidates": [{"content": {"parts": [
    {"text": "thinking", "thought": true}, {"text": "a"}, {"functionCall": {"name": "f",
    "args": {"x": 1}}, "thoughtSignature": "s"}]}, "finishReason": "STOP"}], "modelVersion": "g",
    "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 2, "thoughtsTokenCount": 3}})");
  EXPECT_EQ(response.text, "a");
  EXPECT_EQ(response.finish, Finish::tool_calls);
  EXPECT_EQ(response.tool_calls[0].provider_state, "s");
  EXPECT_EQ(response.usage.output_tokens, 5u);
  EXPECT_EQ(whole(format, R"({"promptFeedback": {"blockReason": "SAFETY"}})").finish,
            Finish::refused);
  EXPECT_EQ(whole(format, R"({"candidates": [{"finishReason": "SAFETY"}]})").finish,
            Finish::refused);
  EXPECT_EQ(whole(format, R"({"candidates": [{"finishReason": "MAX_TOKENS"}]})").finish,
            Finish::length);
  EXPECT_EQ(
      whole_fault(format, R"({"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL"}]})").fault,
      Fault::malformed);
  EXPECT_EQ(whole_fault(format, "{}").fault, Fault::malformed);
}

TEST(GoogleFormat, StreamAndErrors) {
  const GoogleFormat format;
  const ChatResponse response =
      stream(format, R"(data: {"candidates":[{"content":{"parts":[{"text":"a"}]}}]}

data: {"candidates":[{"content":{"parts":[{"text":"b"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":4}}

)");
  EXPECT_EQ(response.text, "ab");
  EXPECT_EQ(response.usage.input_tokens, 4u);
  EXPECT_EQ(stream_fault(format, "data: {\"candidates\":[{\"content\":{\"parts\":[]}}]}\n\n").fault,
            Fault::interrupted);
  const ProviderFault fault =
      format.decode_error(429, R"([{"error": {"code": 429, "message": "quota",
    "status": "RESOURCE_EXHAUSTED", "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo",
    "retryDelay": "20s"}]}}])");
  EXPECT_EQ(fault.fault, Fault::rate_limited);
  EXPECT_EQ(fault.wait, std::chrono::seconds(20));
  EXPECT_EQ(format
                .decode_error(400, R"({"error": {"code": 400, "message": "API key not valid",
    "details": [{"reason": "API_KEY_INVALID"}]}})")
                .fault,
            Fault::unauthorized);
  EXPECT_TRUE(format.repeats(503));
  EXPECT_FALSE(format.repeats(501));
  EXPECT_EQ(std::get<0>(format.decode_models(R"({"models": [{"name": "models/g"}]})")),
            (std::vector<std::string>{"g"}));
}

TEST(GoogleFormat, HalfAPieceBehindTheLastWordTakesNothingAway) {
  const ChatResponse response =
      stream(GoogleFormat(),
             R"(data: {"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]}

data: {"usageMeta)");
  EXPECT_EQ(response.text, "a");
}

// --- Ollama

TEST(OllamaFormat, Request) {
  const HttpRequest http =
      OllamaFormat().encode(talk(), endpoint("http://h/"), Delivery::whole, SchemaUse::enforced);
  EXPECT_EQ(http.url, "http://h/api/chat");
  EXPECT_EQ(header(http, "Authorization"), "Bearer k");
  EXPECT_EQ(
      http.body,
      R"({"model":"m/1","messages":[{"role":"system","content":"be brief"},)"
      R"({"role":"user","content":"weather?"},{"role":"assistant","content":"","tool_calls":[)"
      R"({"function":{"name":"get","arguments":{"city":"Prague"}}},)"
      R"({"function":{"name":"time","arguments":{}}}]},)"
      R"({"role":"tool","tool_name":"get","content":"sunny"},)"
      R"({"role":"tool","tool_name":"time","content":"error: no clock"}],"stream":false,)"
      R"("options":{"num_predict":99,"temperature":0},"format":{"type":"object"},)"
      R"("tools":[{"type":"function","function":{"name":"get","description":"weather",)"
      R"("parameters":{"type":"object"}}}]})");
}

TEST(OllamaFormat, Stream) {
  const ChatResponse response =
      stream(OllamaFormat(), R"({"model":"m","message":{"content":"a"},"done":false}
{"message":{"content":"b","tool_calls":[{"function":{"name":"f","arguments":{"x":1}}},{"function":{"name":"f","arguments":{}}}]},"done":false}
{"message":{"content":""},"done":true,"done_reason":"stop","prompt_eval_count":3,"eval_count":4})");
  EXPECT_EQ(response.text, "ab");
  EXPECT_EQ(response.finish, Finish::tool_calls);
  ASSERT_EQ(response.tool_calls.size(), 2u);
  EXPECT_NE(response.tool_calls[0].id, response.tool_calls[1].id);
  EXPECT_EQ(response.usage.output_tokens, 4u);
}

// Nothing relevant follows, though a connection may stay open.
TEST(OtherFormats, AStreamIsDoneAtItsLastWord) {
  const auto is_done_after = [](const WireFormat& format, std::string_view text) {
    const auto decoder = format.stream_decoder();
    decoder->add(text, [](std::string_view) {});
    return decoder->done();
  };
  const std::string_view stop_reason =
      "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n";
  EXPECT_FALSE(is_done_after(AnthropicFormat(), stop_reason));
  EXPECT_TRUE(is_done_after(AnthropicFormat(), "data: {\"type\":\"message_stop\"}\n\n"));
  EXPECT_FALSE(is_done_after(OllamaFormat(), "{\"message\":{\"content\":\"a\"}}\n"));
  EXPECT_TRUE(is_done_after(OllamaFormat(), "{\"message\":{\"content\":\"\"},\"done\":true}\n"));
}

TEST(OllamaFormat, Faults) {
  const OllamaFormat format;
  EXPECT_EQ(stream_fault(format, "{\"error\":\"out of memory\"}\n").text, "out of memory");
  EXPECT_EQ(stream_fault(format, "{\"message\":{\"content\":\"a\"},\"done\":false}\n").fault,
            Fault::interrupted);
  EXPECT_EQ(format.decode_error(404, R"({"error": "model not found"})").text, "model not found");
  EXPECT_EQ(whole(format, R"({"message": {"content": "a"}, "done": true, "done_reason": "length"})")
                .finish,
            Finish::length);
  EXPECT_FALSE(format.repeats(503));
}

}  // namespace
}  // namespace runtime::llm
