// A conversation with every feature, and the ways to read an answer.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "runtime/llm/wire_format.h"

namespace runtime::llm {

inline Message message(Speaker speaker, std::string text) {
  Message made;
  made.speaker = speaker;
  made.text = std::move(text);
  return made;
}

inline Message result(std::string id, std::string name, std::string text) {
  Message made = message(Speaker::tool, std::move(text));
  made.tool_call_id = std::move(id);
  made.tool_name = std::move(name);
  return made;
}

// A conversation with every feature.
inline ChatRequest talk() {
  ChatRequest request;
  request.messages.push_back(message(Speaker::system, "be brief"));
  request.messages.push_back(message(Speaker::user, "weather?"));
  Message called = message(Speaker::assistant, "");
  called.tool_calls.push_back(
      {.id = "c1", .name = "get", .arguments = R"({"city":"Prague"})", .provider_state = "sig"});
  called.tool_calls.push_back(
      {.id = "made_call_1", .name = "time", .arguments = "{}", .provider_state = {}});
  request.messages.push_back(std::move(called));
  request.messages.push_back(result("c1", "get", "sunny"));
  request.messages.push_back(result("made_call_1", "time", "no clock"));
  request.messages.back().tool_failed = true;
  request.temperature = 0;
  request.max_output_tokens = 99;
  request.schema = {.name = "answer", .schema = R"({"type":"object"})"};
  request.tools.push_back(
      {.name = "get", .description = "weather", .parameters = R"({"type":"object"})"});
  request.tool_choice = ToolChoice::required;
  return request;
}

inline Endpoint endpoint(std::string url) {
  Endpoint made;
  made.provider = "p";
  made.base_url = std::move(url);
  made.api_key = Secret("k");
  made.model = "m/1";
  return made;
}

inline std::string header(const HttpRequest& request, std::string_view name) {
  for (const auto& [key, value] : request.headers) {
    if (key == name) return value;
  }
  return "none";
}

// Reads the same answer whole and byte by byte.
inline ChatResponse stream(const WireFormat& format, std::string_view text) {
  ChatResponse first;
  for (const std::size_t piece : {text.size(), std::size_t{1}, std::size_t{7}}) {
    const auto decoder = format.stream_decoder();
    std::string said;
    const OnText on_text = [&](std::string_view part) { said += part; };
    for (std::size_t at = 0; at < text.size(); at += piece) {
      decoder->add(text.substr(at, piece), on_text);
    }
    Answer answer = decoder->finish(on_text);
    if (const auto* fault = std::get_if<ProviderFault>(&answer)) {
      ADD_FAILURE() << fault->text;
      return {};
    }
    first = std::get<ChatResponse>(std::move(answer));
    EXPECT_EQ(said, first.text);
  }
  return first;
}

inline ProviderFault stream_fault(const WireFormat& format, std::string_view text) {
  const auto decoder = format.stream_decoder();
  decoder->add(text, [](std::string_view) {});
  Answer answer = decoder->finish([](std::string_view) {});
  if (auto* fault = std::get_if<ProviderFault>(&answer)) return *fault;
  ADD_FAILURE() << "was read as an answer";
  return {};
}

inline ChatResponse whole(const WireFormat& format, std::string_view body) {
  Answer answer = format.decode_reply(body);
  if (const auto* fault = std::get_if<ProviderFault>(&answer)) {
    ADD_FAILURE() << fault->text;
    return {};
  }
  return std::get<ChatResponse>(std::move(answer));
}

inline ProviderFault whole_fault(const WireFormat& format, std::string_view body) {
  Answer answer = format.decode_reply(body);
  if (auto* fault = std::get_if<ProviderFault>(&answer)) return *fault;
  ADD_FAILURE() << "was read as an answer";
  return {};
}

}  // namespace runtime::llm
