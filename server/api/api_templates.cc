// The templates that a request may name.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/json/writer.h"
#include "server/api/route_groups.h"

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
boost::asio::awaitable<Response> show_templates(runtime::Services services,
                                                const runtime::RequestRules* rules, Call call) {
  const bool shows_ready = call.principal.may(Scope::metrics);
  const auto pools =
      shows_ready ? services.runner.state().pools : std::vector<runtime::PoolReport>();
  runtime::json::Writer writer;
  writer.begin_object().key("templates").begin_array();
  for (const runtime::Template& one : rules->templates) {
    writer.begin_object().key("name").string(one.name);
    writer.key("language").string(name_of(one.language));
    writer.key("imports").begin_array();
    for (const std::string& module : one.imports) writer.string(module);
    writer.end_array();
    if (shows_ready) writer.key("ready").integer(ready_of(one, pools));
    writer.end_object();
  }
  writer.end_array().end_object();
  Response response;
  response.body = std::move(writer).take();
  co_return response;
}

}  // namespace

void add_template_route(const RouteParts& parts) {
  parts.table.add({"GET", "/v1/templates", Access::key(Scope::read), Cost::record,
                   bound(show_templates, parts.services, &parts.rules), QueryNames(),
                   Route::Versions::plain});
}

}  // namespace server
