// GET /v1/sandboxes/{id}/metrics: the current usage of a sandbox, and that of the last hour.
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "runtime/json/writer.h"
#include "runtime/service/sandbox_json.h"
#include "runtime/service/sandbox_queries.h"
#include "runtime/service/usage_history.h"
#include "server/api/query.h"
#include "server/api/route_groups.h"
#include "server/api/sandbox_target.h"

namespace server {
namespace {

using boost::asio::awaitable;
using runtime::Refusal;
using runtime::Sandboxes;
using runtime::SandboxUsage;
using runtime::UsageHistory;
using runtime::json::Writer;

awaitable<Response> show_metrics(runtime::Services services, Call call) {
  runtime::UsageQuery query;
  if (auto refusal = read_query(call.query, runtime::usage_query_fields(), query)) {
    co_return std::move(*refusal);
  }
  const auto found = services.sandboxes->find(call.principal, call.parameter("id"));
  if (const auto* refusal = std::get_if<Refusal>(&found)) co_return problem(*refusal);
  const auto& sandbox = std::get<Sandboxes::Found>(found);
  std::optional<SandboxUsage> now;
  if (!sandbox->end()) {
    auto usage = co_await services.sandboxes->usage(sandbox);
    const bool has_ended = !usage && usage.error().kind == jail::ErrorKind::closed;
    if (!usage && !has_ended) co_return problem(Sandboxes::refusal_of_file(usage.error()));
    if (usage) now = *usage;
  }
  Writer writer;
  writer.begin_object().key("now");
  now ? runtime::write_usage(writer, *now) : static_cast<void>(writer.null());
  writer.key("limits");
  runtime::write_usage_limits(writer, *services.sandboxes, *sandbox);
  writer.key("network");
  runtime::write_egress_use(writer, services.sandboxes->egress_use(*sandbox));
  writer.key("interval_seconds").integer(UsageHistory::interval.count());
  writer.key("samples").begin_array();
  for (const SandboxUsage& sample : sandbox->usage_history().between(query.from, query.to)) {
    runtime::write_usage(writer, sample);
  }
  writer.end_array().end_object();
  co_return json_answer(std::move(writer));
}

}  // namespace

void add_sandbox_metrics_route(const RouteParts& parts) {
  parts.table.add({"GET", "/v1/sandboxes/{id}/metrics", Access::key(Scope::read), Cost::record,
                   bound(show_metrics, parts.services),
                   runtime::names_of(runtime::usage_query_fields()), Route::Versions::plain});
}

}  // namespace server
