// What the tools have in common. Belongs to McpTools.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/json/reader.h"
#include "runtime/json/writer.h"
#include "runtime/service/field.h"
#include "server/mcp/tools.h"

namespace server {

struct ToolContext {
  const runtime::Services& services;
  const runtime::RequestRules& rules;
  runtime::Caller caller;
  runtime::Cancel cancel;
  std::string sandbox{};  // in which the tools work; empty: their arguments name one
};

using ToolResult = McpTools::Result;

// What its schema says of the arguments of a tool.
struct ToolArguments {
  std::string properties = "{}";
  std::vector<std::string> required{};
};

template <class Request>
ToolArguments arguments_of(std::span<const runtime::RequestField<Request>> fields,
                           const runtime::RequestRules& rules) {
  return {runtime::properties_of(fields, rules), runtime::required_names(fields)};
}

struct Tool {
  std::string_view name;
  std::string_view title;
  std::string_view description;
  // Its arguments, with the sandbox that it works in where `scope` is all_sandboxes.
  ToolArguments (*arguments)(const runtime::RequestRules&, ToolScope scope);
  // https://modelcontextprotocol.io/specification/2025-11-25/schema, ToolAnnotations
  std::optional<runtime::Scope> scope;  // that the caller needs; nothing: the tool asks itself
  bool reads_only;
  bool destroys;
  bool is_for_one_sandbox;  // works in a sandbox, and so also where that is the only one
  boost::asio::awaitable<ToolResult> (*call)(ToolContext, runtime::json::Object);
};

ToolResult failed(const runtime::Refusal& refusal);
// Refuses arguments; `why` begins with the name of one.
ToolResult failed(std::string why);
ToolResult done(runtime::json::Writer writer);

// The member of a schema by which tools are told which sandbox they work in; fields of a tool that
// works in one begin with it.
inline constexpr std::string_view sandbox_argument = "sandbox";

std::span<const Tool> program_and_sandbox_tools() noexcept;  // execute_code, create_sandbox, ...
std::span<const Tool> in_sandbox_tools() noexcept;           // run_command, read_file, ...
std::span<const Tool> executor_tools() noexcept;             // createSandbox, sandboxExecutor, ...

// Calls `tool` for a caller who has the scope that it needs; the result says that it is missing.
boost::asio::awaitable<ToolResult> call_tool(const Tool& tool, ToolContext context,
                                             runtime::json::Object arguments);

// The one of that name that works in a sandbox; null where there is none.
const Tool* find_in_sandbox_tool(std::string_view name);

// An array of the tools that there are in `scope`, with their schemas.
void write_tools(runtime::json::Writer& writer, const runtime::RequestRules& rules,
                 ToolScope scope);

}  // namespace server
