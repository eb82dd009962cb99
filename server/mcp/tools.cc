#include "server/mcp/tools.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include "runtime/service/programs.h"
#include "runtime/service/request_fields.h"
#include "runtime/service/sandbox_json.h"
#include "server/mcp/tool.h"

namespace server {
namespace {

using boost::asio::awaitable;
using runtime::Refusal;
using runtime::RequestRules;
using runtime::Sandboxes;
using runtime::Scope;
using runtime::json::Object;
using runtime::json::Writer;

awaitable<ToolResult> execute_code(ToolContext context, Object arguments) {
  auto request = runtime::default_program(context.rules);
  auto wrong = runtime::read_fields(arguments, runtime::program_fields(), context.rules, request);
  if (!wrong) wrong = runtime::check_program(request, context.rules);
  if (wrong) co_return failed(*wrong);
  runtime::RunOptions options;
  options.cancel = context.cancel.child();
  auto ran =
      co_await runtime::run_program(context.services, context.caller, runtime::make_execution(),
                                    std::move(request), std::move(options));
  if (const auto* refusal = std::get_if<Refusal>(&ran)) co_return failed(*refusal);
  ToolResult result;
  result.json = std::move(std::get<runtime::ProgramOutcome>(ran).result);
  co_return result;
}

awaitable<ToolResult> create_sandbox(ToolContext context, Object arguments) {
  auto request = runtime::default_sandbox(context.rules);
  auto wrong = runtime::read_fields(arguments, runtime::sandbox_fields(), context.rules, request);
  if (!wrong) wrong = runtime::check_sandbox(request);
  if (wrong) co_return failed(*wrong);
  const auto made = co_await context.services.sandboxes->create(context.caller, std::move(request));
  if (const auto* refusal = std::get_if<Refusal>(&made)) co_return failed(*refusal);
  Writer writer;
  runtime::write_sandbox(writer, *context.services.sandboxes, *std::get<Sandboxes::Found>(made));
  co_return done(std::move(writer));
}

awaitable<ToolResult> list_sandboxes(ToolContext context, Object arguments) {
  if (!arguments.empty()) co_return failed("expected no arguments");
  Sandboxes::Query query;
  query.states = {runtime::Sandbox::State::running, runtime::Sandbox::State::paused};
  const auto page = context.services.sandboxes->list(context.caller.principal, query);
  Writer writer;
  writer.begin_object().key("sandboxes").begin_array();
  for (const auto& sandbox : page.sandboxes) {
    runtime::write_sandbox(writer, *context.services.sandboxes, *sandbox);
  }
  writer.end_array().end_object();
  co_return done(std::move(writer));
}

constexpr Tool program_and_sandbox_rows[] = {
    {"execute_code", "Execute code",
     "Runs one program in a fresh sandbox of its own and returns what it printed, its exit status "
     "and why it ended. Nothing is kept between calls; for that, create a sandbox and use "
     "run_code or run_command.",
     [](const RequestRules& rules, ToolScope) {
       return arguments_of(runtime::program_fields(), rules);
     },
     Scope::execute, false, false, false, execute_code},
    {"create_sandbox", "Create a sandbox",
     "Makes a sandbox that lives: processes run in it and share its files until it is killed or "
     "its time is over. Returns it with its id.",
     [](const RequestRules& rules, ToolScope) {
       return arguments_of(runtime::sandbox_fields(), rules);
     },
     Scope::sandboxes, false, false, false, create_sandbox},
    {"list_sandboxes", "List sandboxes", "The sandboxes that live.",
     [](const RequestRules&, ToolScope) { return ToolArguments(); }, Scope::read, true, false,
     false, list_sandboxes}};

template <class Visit>
void visit_tools(ToolScope scope, Visit visit) {
  for (const auto group : {program_and_sandbox_tools(), in_sandbox_tools(), executor_tools()}) {
    for (const Tool& tool : group) {
      if (scope == ToolScope::all_sandboxes || tool.is_for_one_sandbox) visit(tool);
    }
  }
}

const Tool* find_tool(std::string_view name, ToolScope scope) {
  const Tool* found = nullptr;
  visit_tools(scope, [&](const Tool& tool) {
    if (tool.name == name) found = &tool;
  });
  return found;
}

void write_tool(Writer& writer, const RequestRules& rules, const Tool& tool, ToolScope scope) {
  writer.begin_object().key("name").string(tool.name).key("title").string(tool.title);
  writer.key("description").string(tool.description);
  writer.key("inputSchema").begin_object().key("type").string("object");
  const ToolArguments arguments = tool.arguments(rules, scope);
  writer.key("properties").json(arguments.properties);
  writer.key("required").begin_array();
  for (const std::string& name : arguments.required) writer.string(name);
  writer.end_array().key("additionalProperties").boolean(false).end_object();
  writer.key("annotations").begin_object();
  writer.key("readOnlyHint").boolean(tool.reads_only);
  writer.key("destructiveHint").boolean(tool.destroys);
  writer.key("openWorldHint").boolean(false).end_object().end_object();
}

}  // namespace

ToolResult failed(const Refusal& refusal) {
  const std::string remedy(runtime::remedy_of(refusal));
  Writer writer;
  writer.begin_object();
  runtime::write_refusal(writer, refusal);
  writer.end_object();
  return {.json = std::move(writer).take(),
          .failure = remedy.empty() ? refusal.detail : refusal.detail + "; " + remedy};
}

ToolResult failed(std::string why) { return failed(runtime::refuse_request(std::move(why))); }

ToolResult done(Writer writer) { return {.json = std::move(writer).take()}; }

std::span<const Tool> program_and_sandbox_tools() noexcept { return program_and_sandbox_rows; }

awaitable<ToolResult> call_tool(const Tool& tool, ToolContext context, Object arguments) {
  if (tool.scope) {
    const auto refusal = runtime::missing_scope(context.caller.principal, *tool.scope);
    if (refusal) co_return failed(*refusal);
  }
  co_return co_await tool.call(std::move(context), std::move(arguments));
}

const Tool* find_in_sandbox_tool(std::string_view name) {
  return find_tool(name, ToolScope::one_sandbox);
}

void write_tools(Writer& writer, const RequestRules& rules, ToolScope scope) {
  writer.begin_array();
  visit_tools(scope, [&](const Tool& tool) { write_tool(writer, rules, tool, scope); });
  writer.end_array();
}

bool McpTools::has(std::string_view name, ToolScope scope) {
  return find_tool(name, scope) != nullptr;
}

void McpTools::write_list(Writer& writer, ToolScope scope) const {
  write_tools(writer, rules_, scope);
}

awaitable<ToolResult> McpTools::call(std::string_view name, Object arguments,
                                     runtime::Caller caller, runtime::Cancel cancel,
                                     std::string sandbox) const {
  const auto scope = sandbox.empty() ? ToolScope::all_sandboxes : ToolScope::one_sandbox;
  ToolContext context{services_, rules_, std::move(caller), std::move(cancel), std::move(sandbox)};
  co_return co_await call_tool(*find_tool(name, scope), std::move(context), std::move(arguments));
}

}  // namespace server
