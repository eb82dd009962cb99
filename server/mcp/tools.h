// What language models can do here, each tool over the same service as every other door.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/json/reader.h"
#include "runtime/json/writer.h"
#include "runtime/sandbox/cancel.h"
#include "runtime/service/request_rules.h"
#include "runtime/service/services.h"

namespace server {

// Which tools there are: all of them, or those that work in one sandbox, which is not named then.
enum class ToolScope : std::uint8_t { all_sandboxes, one_sandbox };

// Thread-safe.
class McpTools {
 public:
  // What is passed by reference outlives it.
  McpTools(const runtime::Services& services, const runtime::RequestRules& rules)
      : services_(services), rules_(rules) {}

  static bool has(std::string_view name, ToolScope scope);
  // An array of tools with their schemas.
  void write_list(runtime::json::Writer& writer, ToolScope scope) const;

  struct Result {
    std::string json{};  // an object
    // The tool did not do what it was asked for, and this is what the model should know; `json` has
    // the same for programs.
    std::optional<std::string> failure = std::nullopt;
  };
  // Of a tool that is there. `sandbox`: the id of the one that it works in; empty: all of them.
  boost::asio::awaitable<Result> call(std::string_view name, runtime::json::Object arguments,
                                      runtime::Caller caller, runtime::Cancel cancel,
                                      std::string sandbox) const;

 private:
  const runtime::Services services_;
  const runtime::RequestRules& rules_;
};

}  // namespace server
