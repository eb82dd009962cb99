#include "runtime/llm/openai_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <string>
#include <variant>
#include <vector>

#include "tests/unit/llm/conversation.h"

namespace runtime::llm {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The requests to the provider, and how its answers are parsed: whole and split at every byte.

TEST(OpenAiFormat, Request) {
  const OpenAiFormat format(Dialect::openai());
  const HttpRequest http =
      format.encode(talk(), endpoint("http://h/v1"), Delivery::streamed, SchemaUse::enforced);
  EXPECT_EQ(http.method, "POST");
  EXPECT_EQ(http.url, "http://h/v1/chat/completions");
  EXPECT_EQ(header(http, "Authorization"), "Bearer k");
  EXPECT_EQ(
      http.body,
      R"({"model":"m/1","messages":[{"role":"system","content":"be brief"},)"
      R"({"role":"user","content":"weather?"},{"role":"assistant","content":null,"tool_calls":[)"
      R"({"id":"c1","type":"function","function":{"name":"get","arguments":"{\"city\":\"Prague\"}"}},)"
      R"({"id":"made_call_1","type":"function","function":{"name":"time","arguments":"{}"}}]},)"
      R"({"role":"tool","tool_call_id":"c1","content":"sunny"},)"
      R"({"role":"tool","tool_call_id":"made_call_1","content":"error: no clock"}],)"
      R"("max_completion_tokens":99,"temperature":0,"response_format":{"type":"json_schema",)"
      R"("json_schema":{"name":"answer","strict":true,"schema":{"type":"object"}}},)"
      R"("tools":[{"type":"function","function":{"name":"get","description":"weather",)"
      R"("parameters":{"type":"object"}}}],"tool_choice":"required","stream":true,)"
      R"("stream_options":{"include_usage":true}})");
}

TEST(OpenAiFormat, DialectsDiffer) {
  const auto encode = [](Dialect dialect, SchemaUse use) {
    return OpenAiFormat(std::move(dialect))
        .encode(talk(), endpoint("http://h"), Delivery::whole, use);
  };
  const HttpRequest router = encode(Dialect::openrouter(), SchemaUse::enforced);
  EXPECT_EQ(router.url, "http://h/api/v1/chat/completions");
  EXPECT_EQ(header(router, "X-OpenRouter-Title"), "agent-sandbox");
  EXPECT_THAT(router.body, HasSubstr(R"("max_tokens":99)"));
  EXPECT_THAT(router.body, HasSubstr(R"("provider":{"require_parameters":true})"));
  const HttpRequest asked = encode(Dialect::openrouter(), SchemaUse::asked_for);
  EXPECT_THAT(asked.body, Not(HasSubstr("response_format")));
  EXPECT_THAT(asked.body, Not(HasSubstr("require_parameters")));
  const HttpRequest groq = encode(Dialect::groq(), SchemaUse::asked_for);
  EXPECT_EQ(groq.url, "http://h/openai/v1/chat/completions");
  EXPECT_THAT(groq.body, HasSubstr(R"("response_format":{"type":"json_object"})"));
  EXPECT_THAT(groq.body, HasSubstr("valid by the JSON schema below"));
  EXPECT_THAT(groq.body, Not(HasSubstr("\"stream\"")));
  EXPECT_FALSE(OpenAiFormat(Dialect::openrouter()).repeats(429));
  EXPECT_TRUE(OpenAiFormat(Dialect::openrouter()).repeats(502));
  EXPECT_TRUE(OpenAiFormat(Dialect::groq()).repeats(409));
  EXPECT_FALSE(OpenAiFormat(Dialect::groq()).repeats(400));
}

TEST(OpenAiFormat, Reply) {
  const OpenAiFormat format(Dialect::openai());
  const ChatResponse response = whole(format, R"({"model": "m", "choices": [{"message":
    {"content": null, "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{\"x\":1}"}},
    {"function": {"name": "g", "arguments": ""}}, {"id": "a", "function": {"name": "h",
    "arguments": {"y": 2}}}]}, "finish_reason": "tool_calls"}], "usage": {"prompt_tokens": 1,
    "completion_tokens": 2}, "error": null})");
  ASSERT_EQ(response.tool_calls.size(), 3u);
  EXPECT_EQ(response.finish, Finish::tool_calls);
  EXPECT_EQ(response.tool_calls[0].arguments, R"({"x":1})");
  EXPECT_EQ(response.tool_calls[1].arguments, "{}");
  EXPECT_EQ(response.tool_calls[1].id, "made_call_1");
  EXPECT_EQ(response.tool_calls[2].arguments, R"({"y":2})");
  EXPECT_EQ(response.tool_calls[2].id, "made_call_2") << "an id is had by one call alone";
  const auto finish = [&](std::string_view reason) {
    return whole(format, R"({"choices": [{"message": {"content": "x"}, "finish_reason": )" +
                             std::string(reason) + "}]}")
        .finish;
  };
  EXPECT_EQ(finish("\"length\""), Finish::length);
  EXPECT_EQ(finish("\"content_filter\""), Finish::refused);
  EXPECT_EQ(finish("null"), Finish::stop);
  const ChatResponse refused =
      whole(format, R"({"choices": [{"message": {"content": null, "refusal": "I will not"}}]})");
  EXPECT_EQ(refused.finish, Finish::refused);
  EXPECT_EQ(refused.text, "I will not");
}

TEST(OpenAiFormat, WhatIsNoReply) {
  const OpenAiFormat format(Dialect::openrouter());
  EXPECT_EQ(whole_fault(format, "{").fault, Fault::malformed);
  EXPECT_EQ(whole_fault(format, "{}").fault, Fault::malformed);
  EXPECT_EQ(whole_fault(format, R"({"choices": []})").fault, Fault::malformed);
  const ProviderFault fault = whole_fault(format, R"({"error": {"code": 429, "message": "slow",
    "metadata": {"provider_name": "X", "raw": "too much"}}})");
  EXPECT_EQ(fault.fault, Fault::rate_limited);
  EXPECT_EQ(fault.text, "slow (X: too much)");
  EXPECT_EQ(whole_fault(format, R"({"choices": [{"message": {"tool_calls": [{"id": "a", "function":
    {"name": "f", "arguments": "[1]"}}]}}]})")
                .fault,
            Fault::malformed);
}

TEST(OpenAiFormat, Stream) {
  const ChatResponse response = stream(OpenAiFormat(Dialect::groq()), R"(: OPENROUTER PROCESSING

data: {"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}

data: {"choices":[{"delta":{"content":"hé"}}],"usage":null}

data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]}}]}

data: {"choices":[{"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"g","arguments":"{\"y\""}}]}}]}

data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\":1}"}}]}}]}

data: {"choices":[{"delta":{"tool_calls":[{"index":1,"function":{"arguments":":2}"}}]}}]}

data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}],"x_groq":{"usage":{"prompt_tokens":5,"completion_tokens":6}}}

data: [DONE]

data: not looked at

)");
  EXPECT_EQ(response.text, "hé");
  ASSERT_EQ(response.tool_calls.size(), 2u);
  EXPECT_EQ(response.tool_calls[0].arguments, R"({"x":1})");
  EXPECT_EQ(response.tool_calls[1].arguments, R"({"y":2})");
  EXPECT_EQ(response.usage.output_tokens, 6u);
  EXPECT_EQ(response.finish, Finish::tool_calls);
}

TEST(OpenAiFormat, OneIndexForAllCallsIsSeenThrough) {
  const ChatResponse response = stream(
      OpenAiFormat(Dialect::openai()),
      R"(data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}},{"index":0,"id":"b","function":{"name":"g","arguments":"{}"}}]},"finish_reason":"stop"}]}

)");
  ASSERT_EQ(response.tool_calls.size(), 2u);
  EXPECT_EQ(response.tool_calls[1].name, "g");
}

TEST(OpenAiFormat, BrokenStreams) {
  const OpenAiFormat format(Dialect::openrouter());
  const std::string piece = "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n";
  EXPECT_EQ(stream_fault(format, piece).fault, Fault::interrupted);
  EXPECT_EQ(stream_fault(format, piece + "data: {oops\n\n").fault, Fault::malformed);
  EXPECT_EQ(stream_fault(format, "<html>").fault, Fault::malformed);
  const ProviderFault fault = stream_fault(
      format,
      piece +
          "data: {\"error\":{\"code\":502,"
          "\"message\":\"gone\"},\"choices\":[{\"delta\":{},\"finish_reason\":\"error\"}]}\n\n");
  EXPECT_EQ(fault.fault, Fault::unavailable);
  EXPECT_EQ(fault.text, "gone");
}

TEST(OpenAiFormat, HalfAPieceBehindTheLastWordTakesNothingAway) {
  const ChatResponse response =
      stream(OpenAiFormat(Dialect::openai()),
             "data: {\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\n"
             "data: {\"choices\":[],\"usage\":{\"prompt_tok");
  EXPECT_EQ(response.text, "x");
}

TEST(OpenAiFormat, CountsOfTokensCanBeAddedUp) {
  const ChatResponse response = whole(
      OpenAiFormat(Dialect::openai()),
      R"({"choices":[{"message":{"content":"x"}}],)"
      R"("usage":{"prompt_tokens":9223372036854775807,"completion_tokens":-9223372036854775808}})");
  EXPECT_LE(response.usage.input_tokens, 1'000'000'000'000u);
  EXPECT_EQ(response.usage.output_tokens, 0u);
}

// Each one has to be looked up among those before it.
TEST(OpenAiFormat, ToolCallsWithoutEndHoldNobodyUp) {
  const auto decoder = OpenAiFormat(Dialect::openai()).stream_decoder();
  const std::clock_t begin = std::clock();
  for (int event = 0; event < 4; ++event) {
    std::string calls;
    for (int call = 0; call < 45'000; ++call) {
      const std::string comma = call == 0 ? "" : ",";
      calls += comma + R"({"index":)" + std::to_string(event * 45'000 + call) + "}";
    }
    decoder->add(R"(data: {"choices":[{"delta":{"tool_calls":[)" + calls + "]}}]}\n\n",
                 [](std::string_view) {});
  }
  decoder->add("data: [DONE]\n\n", [](std::string_view) {});
  const Answer answer = decoder->finish([](std::string_view) {});
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 5);
  ASSERT_TRUE(std::holds_alternative<ProviderFault>(answer));
  EXPECT_THAT(std::get<ProviderFault>(answer).text, HasSubstr("too many tool calls"));
}

TEST(OpenAiFormat, ModelsThatNobodyCouldAskForAreLeftOut) {
  const OpenAiFormat format(Dialect::openai());
  EXPECT_EQ(std::get<0>(format.decode_models(
                R"({"data":[{"id":"a/b:free"},{"id":"\u001b[31mred"},{"id":"a b"},{"id":""}]})")),
            (std::vector<std::string>{"a/b:free"}));
}

TEST(OpenAiFormat, ErrorsAndModels) {
  const OpenAiFormat format(Dialect::openai());
  EXPECT_EQ(format.decode_error(401, R"({"error": {"message": "who?"}})").text, "who?");
  EXPECT_EQ(format.decode_error(400, R"({"error": "short"})").text, "short");
  EXPECT_EQ(format.decode_error(400, R"({"message": "flat"})").text, "flat");
  EXPECT_EQ(format.decode_error(502, "Bad Gateway").text, "Bad Gateway");
  const Models models = format.decode_models(R"({"data": [{"id": "a"}, {"x": 1}, {"id": "b"}]})");
  EXPECT_EQ(std::get<0>(models), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(std::get<1>(format.decode_models("{}")).fault, Fault::malformed);
}

}  // namespace
}  // namespace runtime::llm
