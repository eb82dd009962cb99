// Pools, configuration and telemetry: what these are of a server that has no cluster.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "runtime/json/writer.h"
#include "server/api/kubernetes_style/create_request.h"
#include "server/api/kubernetes_style/envelope.h"
#include "server/api/kubernetes_style/quantity.h"
#include "server/api/kubernetes_style/table.h"
#include "server/api/route_groups.h"
#include "server/api/sandbox_target.h"

namespace server::kubernetes_style {
namespace {

using boost::asio::awaitable;
using runtime::PoolReport;
using runtime::json::Writer;

constexpr std::string_view telemetry_kinds[] = {"summary", "timeseries", "by_user", "durations",
                                                "logs"};
constexpr std::string_view why_no_telemetry =
    "this server keeps no history of its figures: GET /metrics has them for Prometheus, GET /stats "
    "since its start, and GET /v1/audit what happened in sandboxes";

void write_count(Writer& writer, std::string_view name, std::uint64_t count) {
  writer.key(name).integer(static_cast<std::int64_t>(count));
}

void write_pool(Writer& writer, const PoolReport& pool) {
  writer.begin_object().key("name").string(pool.name);
  write_count(writer, "size", pool.state.target);
  write_count(writer, "ready", pool.state.ready);
  write_count(writer, "refilling", pool.state.refilling);
  write_count(writer, "leased", pool.state.leased);
  write_count(writer, "leases", pool.state.leases);
  write_count(writer, "misses", pool.state.misses);
  write_count(writer, "cold", pool.cold);
  write_count(writer, "failures", pool.state.failures);
  writer.end_object();
}

awaitable<Response> list_pools(runtime::Services services, Call) {
  Writer writer;
  writer.begin_object().key("items").begin_array();
  for (const PoolReport& pool : services.runner.state().pools) write_pool(writer, pool);
  writer.end_array().end_object();
  co_return enveloped(std::move(writer));
}

Response no_such_pool(const std::string& name) {
  return problem(RefusalCode::no_such_template, "no such pool: " + name);
}

awaitable<Response> show_pool(runtime::Services services, Call call) {
  const std::string& name = call.parameter("name");
  const auto pools = services.runner.state().pools;
  const auto pool = std::ranges::find(pools, name, &PoolReport::name);
  if (pool == pools.end()) co_return no_such_pool(name);
  Writer writer;
  write_pool(writer, *pool);
  co_return enveloped(std::move(writer));
}

awaitable<Response> refuse_to_empty(runtime::Services services, Call call) {
  const std::string& name = call.parameter("name");
  const auto pools = services.runner.state().pools;
  const bool is_known = std::ranges::find(pools, name, &PoolReport::name) != pools.end();
  if (!is_known) co_return no_such_pool(name);
  co_return problem(RefusalCode::not_permitted,
                    "the jails that wait belong to no caller: the server makes and ends them "
                    "itself, and the operator says how many there are (SANDBOX_POOL_SIZE)");
}

void write_templates(Writer& writer, const runtime::RequestRules& rules) {
  writer.begin_object().key("items").begin_array();
  for (const runtime::Template& one : rules.templates) {
    writer.begin_object().key("name").string(one.name);
    writer.key("language").string(name_of(one.language)).key("imports").begin_array();
    for (const std::string& module : one.imports) writer.string(module);
    writer.end_array().key("pool").begin_object();
    write_count(writer, "size", one.pool.usual);
    write_count(writer, "minSize", one.pool.least);
    write_count(writer, "maxSize", one.pool.most);
    writer.end_object().end_object();
  }
  writer.end_array().end_object();
}

std::int64_t whole_minutes(std::chrono::milliseconds time) {
  return std::chrono::duration_cast<std::chrono::minutes>(time).count();
}

// What a new sandbox has where its request says nothing, and what it may have.
Response runtime_of(const runtime::Services& services, const runtime::RequestRules& rules) {
  const auto& options = services.sandboxes->options();
  const auto read = decode_create("{}", rules, options.cores);
  if (const auto* refusal = std::get_if<Response>(&read)) return *refusal;
  const auto& usual = std::get<runtime::SandboxRequest>(read);
  Writer writer;
  writer.begin_object().key("defaults").begin_object();
  writer.key("timeout").integer(whole_minutes(usual.timeout)).key("idle_timeout");
  usual.idle ? writer.integer(whole_minutes(*usual.idle)) : writer.null();
  writer.key("workdir").string(usual.working_directory);
  writer.key("memory_limit").string(mebibytes_text(usual.memory_mb)).end_object();
  writer.key("limits").begin_object();
  writer.key("timeout").integer(whole_minutes(rules.max_lifetime));
  writer.key("cpu_limit").string(millicores_text(options.cores));
  writer.key("memory_limit").string(mebibytes_text(rules.ceilings.memory_limit_mb));
  write_count(writer, "sandboxes", options.most);
  write_count(writer, "sandboxes_of_a_caller", options.max_per_owner);
  writer.end_object().end_object();
  return enveloped(std::move(writer));
}

Response no_such_configuration(const std::string& kind) {
  if (kind != "blueprint") {
    return problem(RefusalCode::no_such_path, "no such configuration: " + kind);
  }
  return problem(RefusalCode::no_such_path,
                 "there is no blueprint: a sandbox is a jail of this host and no pod, and its "
                 "template says what it has");
}

awaitable<Response> show_configuration(runtime::Services services,
                                       const runtime::RequestRules* rules, Call call) {
  const std::string& kind = call.parameter("kind");
  if (kind == "runtime") co_return runtime_of(services, *rules);
  if (kind != "templates") co_return no_such_configuration(kind);
  Writer writer;
  write_templates(writer, *rules);
  co_return enveloped(std::move(writer));
}

awaitable<Response> refuse_to_configure(Call call) {
  const std::string& kind = call.parameter("kind");
  if (kind == "templates") {
    co_return problem(RefusalCode::not_permitted,
                      "templates are files of the operator (SANDBOX_TEMPLATES_DIR), which the "
                      "server reads when it starts; no request changes them");
  }
  if (kind == "runtime") {
    co_return problem(RefusalCode::not_permitted,
                      "settings are the operator's, in the server's file and environment, which it "
                      "reads when it starts; no request changes them");
  }
  co_return no_such_configuration(kind);
}

awaitable<Response> show_telemetry(Call call) {
  const std::string& kind = call.parameter("kind");
  if (kind == "status") {
    Writer writer;
    writer.begin_object().key("enabled").boolean(false);
    writer.key("message").string(why_no_telemetry).end_object();
    co_return enveloped(std::move(writer));
  }
  const bool is_known = std::ranges::find(telemetry_kinds, kind) != std::end(telemetry_kinds);
  co_return problem(RefusalCode::no_such_path,
                    is_known ? std::string(why_no_telemetry) : "no such telemetry: " + kind);
}

}  // namespace

void add_pool_routes(const RouteParts& parts) {
  using Versions = Route::Versions;
  Table table(parts.table);
  table.add({"GET", "/api/v1/pool", Access::key(Scope::metrics), Cost::none,
             bound(list_pools, parts.services), QueryNames(), Versions::plain});
  table.add({"GET", "/api/v1/pool/sandbox/{name}", Access::key(Scope::metrics), Cost::none,
             bound(show_pool, parts.services), QueryNames(), Versions::plain});
  table.add({"DELETE", "/api/v1/pool/{name}", Access::key(Scope::metrics), Cost::none,
             bound(refuse_to_empty, parts.services), QueryNames(), Versions::plain});
  table.add({"GET", "/api/v1/config/{kind}", Access::key(Scope::read), Cost::none,
             bound(show_configuration, parts.services, &parts.rules), QueryNames(),
             Versions::plain});
  table.add({"POST", "/api/v1/config/{kind}", Access::key(Scope::sandboxes), Cost::none,
             refuse_to_configure, QueryNames(), Versions::plain});
  table.add({"GET", "/api/v1/telemetry/{kind}", Access::key(Scope::metrics), Cost::none,
             show_telemetry, QueryNames({"from", "to"}), Versions::plain});
}

}  // namespace server::kubernetes_style
