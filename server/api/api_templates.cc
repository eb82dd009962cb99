// The templates that a request may name.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/json/writer.h"
#include "server/api/route_groups.h"
#include "server/api/sandbox_target.h"

namespace server {
namespace {

// The number of the template's jails that wait now; 0 where it keeps none.
std::uint32_t ready_of(const runtime::Template& of, const std::vector<runtime::PoolReport>& pools) {
  const auto pool = std::find_if(pools.begin(), pools.end(),
                                 [&](const auto& report) { return report.name == of.name; });
  return pool == pools.end() ? 0 : pool->state.ready;
}

// The number of waiting jails depends on what all callers do, so it is a figure of the whole
// server.
std::optional<std::vector<runtime::PoolReport>> pools_for(const runtime::Services& services,
                                                          const Call& call) {
  if (!call.principal.may(Scope::metrics)) return std::nullopt;
  return services.runner.state().pools;
}

void write_template(runtime::json::Writer& writer, const runtime::Template& one,
                    const std::optional<std::vector<runtime::PoolReport>>& pools) {
  writer.begin_object().key("name").string(one.name);
  writer.key("language").string(name_of(one.language));
  writer.key("imports").begin_array();
  for (const std::string& module : one.imports) writer.string(module);
  writer.end_array();
  if (pools) writer.key("ready").integer(ready_of(one, *pools));
  writer.end_object();
}

boost::asio::awaitable<Response> list_templates(runtime::Services services,
                                                const runtime::RequestRules* rules, Call call) {
  const auto pools = pools_for(services, call);
  runtime::json::Writer writer;
  writer.begin_object().key("templates").begin_array();
  for (const runtime::Template& one : rules->templates) write_template(writer, one, pools);
  writer.end_array().end_object();
  co_return json_answer(std::move(writer));
}

boost::asio::awaitable<Response> show_template(runtime::Services services,
                                               const runtime::RequestRules* rules, Call call) {
  const auto one = std::ranges::find(rules->templates, call.parameter("name"),
                                     [](const runtime::Template& each) { return each.name; });
  if (one == rules->templates.end()) {
    co_return problem(RefusalCode::no_such_template, "no such template");
  }
  runtime::json::Writer writer;
  write_template(writer, *one, pools_for(services, call));
  co_return json_answer(std::move(writer));
}

}  // namespace

void add_template_routes(const RouteParts& parts) {
  using Versions = Route::Versions;
  parts.table.add({"GET", "/v1/templates", Access::key(Scope::read), Cost::record,
                   bound(list_templates, parts.services, &parts.rules), QueryNames(),
                   Versions::plain});
  parts.table.add({"GET", "/v1/templates/{name}", Access::key(Scope::read), Cost::record,
                   bound(show_template, parts.services, &parts.rules), QueryNames(),
                   Versions::plain});
}

}  // namespace server
