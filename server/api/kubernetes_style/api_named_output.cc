// Commands, output, events and usage of named sandboxes.
#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/json/utc_text.h"
#include "runtime/json/writer.h"
#include "runtime/service/field_readers.h"
#include "runtime/service/process_output.h"
#include "runtime/service/sandbox_json.h"
#include "server/api/decode.h"
#include "server/api/kubernetes_style/envelope.h"
#include "server/api/kubernetes_style/queries.h"
#include "server/api/kubernetes_style/sandbox_view.h"
#include "server/api/kubernetes_style/table.h"
#include "server/api/query.h"
#include "server/api/route_groups.h"
#include "server/api/sandbox_target.h"

namespace server::kubernetes_style {
namespace {

using boost::asio::awaitable;
using runtime::Complaint;
using runtime::Field;
using runtime::OutputEncoding;
using runtime::Refusal;
using runtime::RequestField;
using runtime::RequestRules;
using runtime::Sandboxes;
using runtime::SandboxUsage;
using runtime::json::Value;
using runtime::json::Writer;
using Clock = std::chrono::system_clock;

constexpr std::chrono::minutes longest_command{5};
constexpr std::size_t max_names = 100;
// For each stream: as JSON it may be six times as long.
constexpr std::size_t max_output_bytes = 256u << 10;

constexpr std::size_t max_log_bytes = 1u << 20;

std::string now_text() { return runtime::json::utc_text(Clock::now()); }

struct CommandRequest {
  std::string command;
};

constexpr RequestField<CommandRequest> command_rows[] = {
    {{.name = "command",
      .type = Field::Type::text,
      .min = 1,
      .max = 65536,
      .unit = "bytes",
      .description = "What bash executes."},
     runtime::read_text<&CommandRequest::command>}};

std::variant<runtime::ProcessRequest, Response> decode_command(const std::string& body,
                                                               const RequestRules& rules) {
  CommandRequest read;
  if (auto refusal = decode_into<CommandRequest>(body, command_rows, rules, read)) {
    return std::move(*refusal);
  }
  if (read.command.empty() || runtime::has_nul(read.command)) {
    return problem(RefusalCode::bad_request, "command: expected a string for a shell, without NUL");
  }
  runtime::ProcessRequest request;
  request.argv = {"bash", "-c", std::move(read.command)};
  request.timeout = longest_command;
  return request;
}

awaitable<Response> run_command(runtime::Services services, const RequestRules* rules,
                                SandboxTarget target, Call call) {
  auto read = decode_command(call.body, *rules);
  if (auto* refusal = std::get_if<Response>(&read)) co_return std::move(*refusal);
  auto request = std::get<runtime::ProcessRequest>(std::move(read));
  const std::string executed_at = now_text();
  const auto started = co_await services.sandboxes->start_process(caller_of(call), target.sandbox,
                                                                  std::move(request), call.gone);
  if (const auto* refusal = std::get_if<Refusal>(&started)) co_return problem(*refusal);
  const auto process = std::get<std::shared_ptr<runtime::LivingProcess>>(started);
  const auto output = co_await runtime::output_to_the_end(process, call.gone, max_output_bytes);
  if (!output.has_ended) co_return stopping();
  co_await Sandboxes::settle(target.sandbox, *process);
  const auto report = process->state().report;
  Writer writer;
  writer.begin_object().key("sandbox").string(name_of(*target.sandbox));
  writer.key("output").json(runtime::output_json(output.out.bytes, OutputEncoding::utf8));
  writer.key("errorOutput").json(runtime::output_json(output.err.bytes, OutputEncoding::utf8));
  writer.key("exitCode");
  report.ended == jail::Ended::exited ? writer.integer(report.exit_code) : writer.null();
  writer.key("outcome").string(
      services.sandboxes->outcome_of_process(*target.sandbox, *process, report).code);
  writer.key("truncated").boolean(output.out.is_truncated || output.err.is_truncated);
  writer.key("executedAt").string(executed_at).end_object();
  co_return enveloped(std::move(writer));
}

// Returns the last lines of the kept output of all its processes, in the order in which it came.
// Other requests have their turn between two pages.
awaitable<std::string> last_lines_of(std::shared_ptr<const runtime::LivingSandbox> living,
                                     std::size_t lines) {
  const auto executor = co_await boost::asio::this_coro::executor;
  const std::uint64_t end = living->output({.from = UINT64_MAX}).next;
  runtime::OutputQuery query;
  query.from = std::max(living->output_tail({}, lines), end - std::min(end, max_log_bytes));
  std::string text;
  while (query.from < end) {
    const runtime::OutputPage page = living->output(query);
    for (const auto& entry : page.entries) text += entry.piece.bytes;
    query.from = page.next;
    co_await boost::asio::post(executor, boost::asio::use_awaitable);
  }
  if (text.size() > max_log_bytes) text.erase(0, text.size() - max_log_bytes);
  co_return text;
}

awaitable<Response> show_logs(runtime::Services, SandboxTarget target, Call call) {
  LinesQuery query;
  if (auto refusal = read_query(call.query, lines_query_fields(), query)) {
    co_return std::move(*refusal);
  }
  std::string logs;
  if (auto living = target.sandbox->living()) logs = co_await last_lines_of(living, query.lines);
  Writer writer;
  writer.begin_object().key("sandbox").string(name_of(*target.sandbox));
  writer.key("pod").string(target.sandbox->id()).key("container").string("sandbox");
  writer.key("logs").json(runtime::output_json(logs, OutputEncoding::utf8));
  writer.key("fetchedAt").string(now_text()).end_object();
  co_return enveloped(std::move(writer));
}

// Returns the query, or a refusal.
std::variant<runtime::SandboxEventQuery, Response> read_event_query(
    const runtime::Services& services, const Call& call) {
  runtime::SandboxEventQuery query;
  query.owner = call.principal.tenant;
  query.is_newest_first = true;
  NamedEventsQuery asked;
  if (auto refusal = read_query(call.query, events_query_fields(), asked)) {
    return std::move(*refusal);
  }
  query.limit = asked.limit;
  if (asked.sandbox.empty()) return query;
  const auto found = services.sandboxes->find(call.principal, asked.sandbox);
  if (const auto* refusal = std::get_if<Refusal>(&found)) return problem(*refusal);
  query.owner = std::get<Sandboxes::Found>(found)->owner();
  query.sandbox = std::get<Sandboxes::Found>(found)->id();
  return query;
}

awaitable<Response> list_named_events(runtime::Services services, Call call) {
  auto query = read_event_query(services, call);
  if (auto* refusal = std::get_if<Response>(&query)) co_return std::move(*refusal);
  auto wanted = std::get<runtime::SandboxEventQuery>(std::move(query));
  const auto page = co_await services.sandboxes->events(std::move(wanted));
  if (!page) {
    services.logger.error("events cannot be read", {{"request_id", call.head.request_id},
                                                    {"error", page.error().message()}});
    co_return problem(
        RefusalCode::internal_server_error,
        "events cannot be read; the server's log has the reason under this request's id");
  }
  Writer writer;
  writer.begin_object().key("items").begin_array();
  for (const runtime::SandboxEvent& event : page->events) {
    const auto found = services.sandboxes->find(call.principal, event.sandbox);
    const auto* const sandbox = std::get_if<Sandboxes::Found>(&found);
    writer.begin_object().key("sandbox");
    writer.string(sandbox == nullptr ? event.sandbox : name_of(**sandbox));
    writer.key("reason").string(event.kind).key("message").string(event.detail);
    writer.key("timestamp").string(runtime::json::utc_text(event.at)).end_object();
  }
  writer.end_array().end_object();
  co_return enveloped(std::move(writer));
}

struct MetricsRequest {
  std::vector<std::string> names;
};

Complaint read_names(const Field& field, const Value& value, const RequestRules& rules,
                     MetricsRequest& request) {
  const auto* const list = value.as_array();
  if (list == nullptr || list->empty() || list->size() > max_names) {
    return runtime::expectation(field, rules);
  }
  for (const Value& item : *list) {
    if (item.as_string() == nullptr) return runtime::expectation(field, rules);
    request.names.push_back(*item.as_string());
  }
  return std::nullopt;
}

constexpr RequestField<MetricsRequest> metrics_rows[] = {
    {{.name = "names", .expected = "a list of 1 .. 100 names of sandboxes", .is_required = true},
     read_names}};

// The thousandths of a processor that it has used on average since its latest sample, or since it
// was created.
std::int64_t millicores(const runtime::Sandbox& sandbox, const SandboxUsage& usage) {
  const auto samples = sandbox.usage_history().between(Clock::time_point::min(), usage.at);
  const auto since = samples.empty() ? sandbox.created() : samples.back().at;
  const auto before = samples.empty() ? std::chrono::microseconds(0) : samples.back().cpu;
  const auto time = std::chrono::duration_cast<std::chrono::microseconds>(usage.at - since);
  if (time.count() <= 0 || usage.cpu <= before) return 0;
  return (usage.cpu - before) * 1000 / time;
}

void write_use(Writer& writer, const runtime::Sandbox& sandbox, const SandboxUsage& usage) {
  writer.begin_object().key("cpuMilli").integer(millicores(sandbox, usage));
  writer.key("memoryBytes").integer(static_cast<std::int64_t>(usage.memory_bytes));
  writer.key("memoryMB").number(static_cast<double>(usage.memory_bytes) / (1u << 20));
  writer.key("sampledAt").string(runtime::json::utc_text(usage.at)).end_object();
}

Refusal named(const std::string& name, Refusal refusal) {
  refusal.detail = "names: " + runtime::json::quoted(name) + ": " + refusal.detail;
  return refusal;
}

awaitable<Response> show_use(runtime::Services services, const RequestRules* rules, Call call) {
  MetricsRequest request;
  if (auto refusal = decode_into<MetricsRequest>(call.body, metrics_rows, *rules, request)) {
    co_return std::move(*refusal);
  }
  std::sort(request.names.begin(), request.names.end());
  request.names.erase(std::unique(request.names.begin(), request.names.end()), request.names.end());
  Writer writer;
  writer.begin_object().key("items").begin_object();
  for (const std::string& name : request.names) {
    const auto found = services.sandboxes->find_living(call.principal, name);
    if (const auto* refusal = std::get_if<Refusal>(&found)) {
      co_return problem(named(name, *refusal));
    }
    const auto& sandbox = std::get<Sandboxes::Found>(found);
    const auto usage = co_await services.sandboxes->usage(sandbox);
    if (!usage) co_return problem(named(name, Sandboxes::refusal_of_file(usage.error())));
    writer.key(name);
    write_use(writer, *sandbox, *usage);
  }
  writer.end_object().end_object();
  co_return enveloped(std::move(writer));
}

}  // namespace

void add_output_routes(const RouteParts& parts) {
  using Versions = Route::Versions;
  Table table(parts.table);
  table.add({"POST", "/api/v1/terminal/sandbox/{id}", Access::key(Scope::sandboxes), Cost::program,
             for_target<active_sandbox>(parts.services, run_command, &parts.rules), QueryNames(),
             Versions::plain});
  table.add({"GET", "/api/v1/logs/sandbox/{id}", Access::key(Scope::read), Cost::record,
             for_target<sandbox_target>(parts.services, show_logs),
             runtime::names_of(lines_query_fields()), Versions::plain});
  table.add({"GET", "/api/v1/events", Access::key(Scope::read), Cost::record,
             bound(list_named_events, parts.services), runtime::names_of(events_query_fields()),
             Versions::plain});
  table.add({"POST", "/api/v1/sandbox/metrics", Access::key(Scope::read), Cost::record,
             bound(show_use, parts.services, &parts.rules), QueryNames(), Versions::plain});
}

}  // namespace server::kubernetes_style
