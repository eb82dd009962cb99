// createSandbox, sandboxExecutor and related tools: sandboxes by name and environment, each with
// tools of its own, which one tool calls. Clients of other sandbox servers know these tools.
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/service/field_readers.h"
#include "runtime/service/named_sandbox.h"
#include "runtime/service/sandbox_json.h"
#include "server/mcp/tool.h"

namespace server {
namespace {

using boost::asio::awaitable;
using runtime::Complaint;
using runtime::Field;
using runtime::Refusal;
using runtime::RequestField;
using runtime::RequestRules;
using runtime::Sandboxes;
using runtime::SandboxRequest;
using runtime::Scope;
using runtime::json::Object;
using runtime::json::Value;
using runtime::json::Writer;

constexpr std::uint32_t max_listed = 1000;

struct NamedArguments {
  std::string name;
  std::string tool;
  Object arguments;
};

constexpr RequestField<NamedArguments> field_of_name(std::string_view name) {
  return {{.name = name,
           .type = Field::Type::text,
           .min = 1,
           .max = 64,
           .unit = "bytes",
           .description = "The name or id of a sandbox, from createSandbox or listSandbox.",
           .is_required = true},
          runtime::read_text<&NamedArguments::name>};
}

Complaint read_object(const Field& field, const Value& value, const RequestRules& rules,
                      NamedArguments& given) {
  if (value.as_object() == nullptr) return runtime::expectation(field, rules);
  given.arguments = *value.as_object();
  return std::nullopt;
}

constexpr RequestField<NamedArguments> of_a_name[] = {field_of_name("name")};
constexpr RequestField<NamedArguments> of_executing[] = {
    field_of_name("sandbox_name"),
    {{.name = "tool_name",
      .type = Field::Type::text,
      .min = 1,
      .max = 64,
      .unit = "bytes",
      .description = "The name of one of the tools that createSandbox returned.",
      .is_required = true},
     runtime::read_text<&NamedArguments::tool>},
    {{.name = "arguments",
      .expected = "an object",
      .default_json = "{}",
      .description = "The arguments of that tool.",
      .schema = {{"type", R"("object")"}}},
     read_object}};

// The fields of a sandbox that these tools accept.
const std::vector<RequestField<SandboxRequest>>& creation_fields() {
  static const auto fields = [] {
    auto name = *runtime::find_row(runtime::sandbox_fields(), "name");
    name.field.description = "Lower-case letters, digits and -; one is made where it is left out.";
    auto environment = *runtime::find_row(runtime::sandbox_fields(), "template");
    environment.field.name = "environment";
    return std::vector<RequestField<SandboxRequest>>{name, environment};
  }();
  return fields;
}

const std::string& name_of(const runtime::Sandbox& sandbox) {
  return sandbox.request().name.empty() ? sandbox.id() : sandbox.request().name;
}

awaitable<ToolResult> create_by_environment(ToolContext context, Object arguments) {
  auto request = runtime::default_sandbox(context.rules);
  const auto wrong =
      runtime::read_fields<SandboxRequest>(arguments, creation_fields(), context.rules, request);
  if (wrong) co_return failed(*wrong);
  const auto made = co_await runtime::create_named(*context.services.sandboxes, context.caller,
                                                   std::move(request));
  if (const auto* refusal = std::get_if<Refusal>(&made)) co_return failed(*refusal);
  const auto& sandbox = *std::get<Sandboxes::Found>(made);
  Writer writer;
  writer.begin_object().key("name").string(name_of(sandbox)).key("id").string(sandbox.id());
  writer.key("tools");
  write_tools(writer, context.rules, ToolScope::one_sandbox);
  writer.end_object();
  co_return done(std::move(writer));
}

// Returns the sandbox of that name; the result says why there is none.
std::variant<Sandboxes::Found, ToolResult> named_sandbox(const ToolContext& context,
                                                         const Object& arguments) {
  NamedArguments given;
  const auto wrong =
      runtime::read_fields<NamedArguments>(arguments, of_a_name, context.rules, given);
  if (wrong) return failed(*wrong);
  const auto found = context.services.sandboxes->find(context.caller.principal, given.name);
  if (const auto* refusal = std::get_if<Refusal>(&found)) return failed(*refusal);
  return std::get<Sandboxes::Found>(found);
}

awaitable<ToolResult> show_named(ToolContext context, Object arguments) {
  auto found = named_sandbox(context, arguments);
  if (auto* failure = std::get_if<ToolResult>(&found)) co_return std::move(*failure);
  Writer writer;
  runtime::write_sandbox(writer, *context.services.sandboxes, *std::get<Sandboxes::Found>(found));
  co_return done(std::move(writer));
}

awaitable<ToolResult> remove_named(ToolContext context, Object arguments) {
  auto found = named_sandbox(context, arguments);
  if (auto* failure = std::get_if<ToolResult>(&found)) co_return std::move(*failure);
  const auto sandbox = std::get<Sandboxes::Found>(found);
  co_await context.services.sandboxes->remove(context.caller, sandbox);
  Writer writer;
  writer.begin_object().key("name").string(name_of(*sandbox));
  writer.key("message").string("Sandbox " + name_of(*sandbox) + " deleted successfully");
  writer.end_object();
  co_return done(std::move(writer));
}

awaitable<ToolResult> list_names(ToolContext context, Object arguments) {
  if (!arguments.empty()) co_return failed("expected no arguments");
  Sandboxes::Query query;
  query.states = {runtime::Sandbox::State::running, runtime::Sandbox::State::paused};
  query.limit = max_listed;
  const auto page = context.services.sandboxes->list(context.caller.principal, query);
  Writer writer;
  writer.begin_object().key("sandboxes").begin_array();
  for (const auto& sandbox : page.sandboxes) {
    writer.begin_object().key("name").string(name_of(*sandbox)).key("id").string(sandbox->id());
    const bool is_paused = sandbox->state() == runtime::Sandbox::State::paused;
    writer.key("state").string(is_paused ? "paused" : "running").end_object();
  }
  writer.end_array().key("truncated").boolean(page.has_more).end_object();
  co_return done(std::move(writer));
}

awaitable<ToolResult> execute_in_named(ToolContext context, Object arguments) {
  NamedArguments given;
  const auto wrong =
      runtime::read_fields<NamedArguments>(arguments, of_executing, context.rules, given);
  if (wrong) co_return failed(*wrong);
  const Tool* const tool = find_in_sandbox_tool(given.tool);
  if (tool == nullptr) {
    co_return failed("tool_name: expected one of the tools that createSandbox returned");
  }
  context.sandbox = std::move(given.name);
  co_return co_await call_tool(*tool, std::move(context), std::move(given.arguments));
}

ToolArguments arguments_of_a_name(const RequestRules& rules, ToolScope) {
  return arguments_of<NamedArguments>(of_a_name, rules);
}

constexpr Tool executor_rows[] = {
    {"createSandbox", "Create a sandbox by environment",
     "Makes a sandbox that lives, and returns its name with the tools that work in it; call those "
     "with sandboxExecutor. create_sandbox does the same with limits, times and variables.",
     [](const RequestRules& rules, ToolScope) {
       return arguments_of<SandboxRequest>(creation_fields(), rules);
     },
     Scope::sandboxes, false, false, false, create_by_environment},
    {"getSandbox", "Look at a sandbox by name", "How a sandbox is, or why it ended.",
     arguments_of_a_name, Scope::read, true, false, false, show_named},
    {"deleteSandbox", "Delete a sandbox by name", "Ends a sandbox, with its processes and files.",
     arguments_of_a_name, Scope::sandboxes, false, true, false, remove_named},
    {"listSandbox", "List the names of sandboxes", "The names of the sandboxes that live.",
     [](const RequestRules&, ToolScope) { return ToolArguments(); }, Scope::read, true, false,
     false, list_names},
    {"sandboxExecutor", "Call a tool of a sandbox",
     "Calls a tool that works in a sandbox, such as run_command, and returns what it returns.",
     [](const RequestRules& rules, ToolScope) {
       return arguments_of<NamedArguments>(of_executing, rules);
     },
     std::nullopt, false, true, false, execute_in_named}};

}  // namespace

std::span<const Tool> executor_tools() noexcept { return executor_rows; }

}  // namespace server
