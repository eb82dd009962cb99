#include "runtime/llm/tool_call_parts.h"

#include <algorithm>
#include <set>
#include <utility>

#include "runtime/json/reader.h"
#include "runtime/json/writer.h"
#include "runtime/llm/wire_json.h"

namespace runtime::llm {
namespace {

constexpr std::string_view made_prefix = "made_call_";
constexpr std::size_t max_calls = 256;

}  // namespace

std::string made_call_id(std::size_t number) {
  return std::string(made_prefix) + std::to_string(number);
}

bool is_made_call_id(std::string_view id) { return id.starts_with(made_prefix); }

ToolCall& ToolCallParts::at(std::optional<std::int64_t> index, const std::string& id) {
  const auto found = std::find_if(parts_.rbegin(), parts_.rend(),
                                  [&](const Part& part) { return !index || part.index == *index; });
  const bool other =
      found != parts_.rend() && !id.empty() && !found->call.id.empty() && found->call.id != id;
  if (found != parts_.rend() && !other) {
    if (found->call.id.empty()) found->call.id = id;
    return found->call;
  }
  // finish() refuses all of them; searching ever more of them would block the thread.
  if (parts_.size() > max_calls) return parts_.back().call;
  Part part;
  part.index = index ? *index : static_cast<std::int64_t>(parts_.size());
  part.call.id = id;
  return parts_.emplace_back(std::move(part)).call;
}

std::variant<std::vector<ToolCall>, ProviderFault> ToolCallParts::finish() {
  if (parts_.size() > max_calls) return malformed("the answer has too many tool calls");
  std::set<std::string> ids;
  for (const Part& part : parts_) ids.insert(part.call.id);
  std::set<std::string> taken;
  std::size_t made = 0;
  std::vector<ToolCall> calls;
  for (Part& part : parts_) {
    ToolCall& call = part.call;
    if (call.name.empty()) return malformed("a tool call has no name");
    if (call.arguments.empty()) call.arguments = "{}";
    const auto arguments = json::parse(call.arguments, "its arguments");
    if (!arguments || arguments->as_object() == nullptr) {
      return malformed("the call of the tool " + json::quoted(call.name) +
                       " has arguments that are no JSON object: " + json::quoted(call.arguments));
    }
    while (call.id.empty() || taken.contains(call.id)) {
      std::string id = made_call_id(++made);
      call.id = ids.contains(id) ? std::string() : std::move(id);
    }
    taken.insert(call.id);
    calls.push_back(std::move(call));
  }
  parts_.clear();
  return calls;
}

std::optional<ProviderFault> take_calls(ToolCallParts& parts, ChatResponse& response) {
  auto calls = parts.finish();
  if (auto* fault = std::get_if<ProviderFault>(&calls)) {
    // An answer that was cut in the middle of its arguments is not the provider's fault.
    if (response.finish != Finish::length) return std::move(*fault);
    return std::nullopt;
  }
  response.tool_calls = std::move(*std::get_if<0>(&calls));
  if (!response.tool_calls.empty() && response.finish == Finish::stop) {
    response.finish = Finish::tool_calls;
  }
  if (response.tool_calls.empty() && response.finish == Finish::tool_calls) {
    response.finish = Finish::stop;
  }
  return std::nullopt;
}

}  // namespace runtime::llm
