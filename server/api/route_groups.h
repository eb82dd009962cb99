// The groups of routes, each of which adds itself to the table.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/service/followers.h"
#include "runtime/service/services.h"
#include "server/api/decode.h"
#include "server/api/rate_limit.h"
#include "server/api/routes.h"
#include "server/ports/port_proxy.h"

namespace server {

// Returns a handler that calls `function` with copies of `first...` and the call.
template <class Function, class... First>
RouteHandler bound(Function function, First... first) {
  return [function, first...](Call call) { return function(first..., std::move(call)); };
}

// The objects that handlers use. Referenced objects must outlive the table; this struct need not.
struct RouteParts {
  RouteTable& table;
  const runtime::Services& services;
  const runtime::RequestRules& rules;
  const PortProxy& ports;
  const std::string& version;
  const std::vector<std::string>& allowed_hosts;  // in addition to the local ones
  std::optional<RequestRate> key_rate;            // the rate of each key's requests
  std::shared_ptr<runtime::Followers> followers;  // bounds all callers who follow events
};

// Adds the routes of every group.
void add_route_groups(const RouteParts& parts);

// The groups. A new one is declared here and gets a line in route_groups.cc.
void add_benchmark_route(const RouteParts& parts);
void add_execute_route(const RouteParts& parts);
void add_job_routes(const RouteParts& parts);
void add_lesson_routes(const RouteParts& parts);
void add_mcp_routes(const RouteParts& parts);
void add_sandbox_event_routes(const RouteParts& parts);
void add_sandbox_file_routes(const RouteParts& parts);
void add_sandbox_file_url_route(const RouteParts& parts);
void add_sandbox_logs_route(const RouteParts& parts);
void add_sandbox_metrics_route(const RouteParts& parts);
void add_sandbox_port_routes(const RouteParts& parts);
void add_sandbox_process_routes(const RouteParts& parts);
void add_sandbox_routes(const RouteParts& parts);
void add_sandbox_search_route(const RouteParts& parts);
void add_sandbox_terminal_route(const RouteParts& parts);
void add_sandbox_watch_route(const RouteParts& parts);
void add_stream_routes(const RouteParts& parts);
void add_template_routes(const RouteParts& parts);
void add_volume_routes(const RouteParts& parts);
void add_webhook_routes(const RouteParts& parts);

// Sandboxes by name, as clients of services on Kubernetes expect them.
namespace kubernetes_style {

void add_file_routes(const RouteParts& parts);
void add_output_routes(const RouteParts& parts);
void add_pool_routes(const RouteParts& parts);
void add_sandbox_routes(const RouteParts& parts);
void add_terminal_route(const RouteParts& parts);

}  // namespace kubernetes_style

}  // namespace server
