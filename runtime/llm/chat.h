// A conversation with a language model as values, the same for every provider.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace runtime::llm {

// A model's request to call a tool.
struct ToolCall {
  std::string id;  // unique within a response; ours where the provider gives none
  std::string name;
  std::string arguments;       // a JSON object, as text
  std::string provider_state;  // data that the provider wants back with the call; may be empty
};

enum class Speaker : std::uint8_t { system, user, assistant, tool };

struct Message {
  Speaker speaker = Speaker::user;
  std::string text;
  std::vector<ToolCall> tool_calls;  // for an assistant
  std::string tool_call_id;          // for a tool: the ToolCall whose result this is
  std::string tool_name;             // for a tool
  bool tool_failed = false;
};

struct Tool {
  std::string name;
  std::string description;
  std::string parameters;  // a JSON schema of an object
};

enum class ToolChoice : std::uint8_t { automatic, required, none };

// The required form of the answer's text: JSON by this schema.
struct AnswerSchema {
  std::string name;    // letters, digits and _
  std::string schema;  // a JSON schema; every property required, additionalProperties false
};

struct ChatRequest {
  std::string model;  // empty: the model configured for the provider
  std::vector<Message> messages;
  std::optional<double> temperature;  // nullopt: the provider's default; 0 is sent as 0
  std::uint32_t max_output_tokens = 4096;
  std::optional<AnswerSchema> schema;
  std::vector<Tool> tools;
  ToolChoice tool_choice = ToolChoice::automatic;
};

struct Usage {
  std::uint64_t input_tokens = 0;
  std::uint64_t output_tokens = 0;
};

enum class Finish : std::uint8_t {
  stop,
  length,      // cut at max_output_tokens
  tool_calls,  // asks for calls of tools
  refused,     // by the model or by the provider's filter
};

struct ChatResponse {
  std::string text;
  std::vector<ToolCall> tool_calls;
  Finish finish = Finish::stop;
  Usage usage;
  std::string model;                     // as named by the provider
  std::string request_id;                // the provider's id; empty where it gives none
  std::chrono::milliseconds latency{0};  // of all tries together, including the waits between
  std::uint32_t tries = 1;
};

}  // namespace runtime::llm
