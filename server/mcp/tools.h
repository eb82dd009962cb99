// The tools for language models, each over the same service as every other door.
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

// Which tools are available: all of them, or those that work in one given sandbox, which their
// arguments do not name.
enum class ToolScope : std::uint8_t { all_sandboxes, one_sandbox };

// Thread-safe.
class McpTools {
 public:
  // Referenced objects must outlive it.
  McpTools(const runtime::Services& services, const runtime::RequestRules& rules)
      : services_(services), rules_(rules) {}

  static bool has(std::string_view name, ToolScope scope);
  // Writes an array of tools with their schemas.
  void write_list(runtime::json::Writer& writer, ToolScope scope) const;

  struct Result {
    std::string json{};  // an object
    // The reason for the model why the tool did not do its work; `json` has the same for programs.
    std::optional<std::string> failure = std::nullopt;
  };
  // Calls a tool that exists. `sandbox` is the id of the sandbox in which it works; empty: its
  // arguments name one.
  boost::asio::awaitable<Result> call(std::string_view name, runtime::json::Object arguments,
                                      runtime::Caller caller, runtime::Cancel cancel,
                                      std::string sandbox) const;

 private:
  const runtime::Services services_;
  const runtime::RequestRules& rules_;
};

}  // namespace server
