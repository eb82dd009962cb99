// The parts that all tools share. Belongs to McpTools.
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
  std::string sandbox{};  // the sandbox in which the tools work; empty: their arguments name one
};

using ToolResult = McpTools::Result;

// The schema of a tool's arguments.
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
  // Its arguments, including the sandbox in which it works where `scope` is all_sandboxes.
  ToolArguments (*arguments)(const runtime::RequestRules&, ToolScope scope);
  // Annotations by https://modelcontextprotocol.io/specification/2025-11-25/schema,
  // ToolAnnotations.
  std::optional<runtime::Scope> scope;  // the scope that the caller needs; nullopt: the tool checks
                                        // it itself
  bool reads_only;
  bool destroys;
  bool is_for_one_sandbox;  // works in a sandbox, and so also where there is only one
  boost::asio::awaitable<ToolResult> (*call)(ToolContext, runtime::json::Object);
};

ToolResult failed(const runtime::Refusal& refusal);
// Refuses arguments; `why` begins with the name of one.
ToolResult failed(std::string why);
ToolResult done(runtime::json::Writer writer);

// The argument that names the sandbox in which a tool works; the fields of such a tool begin with
// it.
inline constexpr std::string_view sandbox_argument = "sandbox";

std::span<const Tool> program_and_sandbox_tools() noexcept;  // execute_code, create_sandbox, ...
std::span<const Tool> in_sandbox_tools() noexcept;           // run_command, read_file, ...
std::span<const Tool> executor_tools() noexcept;             // createSandbox, sandboxExecutor, ...

// Calls `tool` if the caller has the scope that it needs; otherwise the result says that it is
// missing.
boost::asio::awaitable<ToolResult> call_tool(const Tool& tool, ToolContext context,
                                             runtime::json::Object arguments);

// Returns the tool of that name that works in a sandbox; null where there is none.
const Tool* find_in_sandbox_tool(std::string_view name);

// Writes an array of the tools that are available in `scope`, with their schemas.
void write_tools(runtime::json::Writer& writer, const runtime::RequestRules& rules,
                 ToolScope scope);

}  // namespace server
