// Assembles tool calls that come in pieces.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/llm/chat.h"
#include "runtime/llm/wire_format.h"

namespace runtime::llm {

// An id for a call for which the provider gave none; it is not sent back to that provider.
std::string made_call_id(std::size_t number);
bool is_made_call_id(std::string_view id);

class ToolCallParts {
 public:
  // Returns the call at `index`; without an index, the last one, unless `id` says that another
  // begins. Some providers give every call the same index: a new id begins a new call there, too.
  ToolCall& at(std::optional<std::int64_t> index, const std::string& id);

  bool empty() const { return parts_.empty(); }
  // Returns the calls, each with a name, an id of its own and an object as arguments; or the fault.
  std::variant<std::vector<ToolCall>, ProviderFault> finish();

 private:
  struct Part {
    std::int64_t index = 0;
    ToolCall call;
  };

  std::vector<Part> parts_;
};

// Puts the calls into the response, and sets how it ended by them; returns std::nullopt where they
// are valid.
std::optional<ProviderFault> take_calls(ToolCallParts& parts, ChatResponse& response);

}  // namespace runtime::llm
