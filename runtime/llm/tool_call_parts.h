// Tool calls as they come in pieces, put together.
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

// An id that a provider gave none for; it is not sent back to who never saw it.
std::string made_call_id(std::size_t number);
bool is_made_call_id(std::string_view id);

class ToolCallParts {
 public:
  // The call at `index`; nothing: the last one goes on, unless `id` says that another begins. Some
  // providers give every call the same index: a new id begins a new call there, too.
  ToolCall& at(std::optional<std::int64_t> index, const std::string& id);

  bool empty() const { return parts_.empty(); }
  // Each with a name, an id of its own and an object as arguments, or what is wrong.
  std::variant<std::vector<ToolCall>, ProviderFault> finish();

 private:
  struct Part {
    std::int64_t index = 0;
    ToolCall call;
  };

  std::vector<Part> parts_;
};

// The calls into the response, and how it ended by them; nothing where they are sound.
std::optional<ProviderFault> take_calls(ToolCallParts& parts, ChatResponse& response);

}  // namespace runtime::llm
