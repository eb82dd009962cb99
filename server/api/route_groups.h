// Groups of routes, each of which adds itself to the table.
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

// The handler that calls `function` with `first...`, copied, before the call.
template <class Function, class... First>
RouteHandler bound(Function function, First... first) {
  return [function, first...](Call call) { return function(first..., std::move(call)); };
}

// `rules` outlives the table.
void add_stream_routes(RouteTable& table, const runtime::Services& services,
                       const runtime::RequestRules& rules);
void add_execute_route(RouteTable& table, const runtime::Services& services,
                       const runtime::RequestRules& rules);
void add_benchmark_route(RouteTable& table, const runtime::Services& services,
                         const runtime::RequestRules& rules);
void add_job_routes(RouteTable& table, const runtime::Services& services);
void add_lesson_routes(RouteTable& table, const runtime::Services& services);
// What follows needs Services::sandboxes.
void add_sandbox_routes(RouteTable& table, const runtime::Services& services,
                        const runtime::RequestRules& rules);
void add_sandbox_process_routes(RouteTable& table, const runtime::Services& services,
                                const runtime::RequestRules& rules);
void add_sandbox_file_routes(RouteTable& table, const runtime::Services& services,
                             const runtime::RequestRules& rules);
void add_sandbox_file_url_route(RouteTable& table, const runtime::Services& services,
                                const runtime::RequestRules& rules);
// `followers` is that of all who follow.
void add_sandbox_event_routes(RouteTable& table, const runtime::Services& services,
                              const std::shared_ptr<runtime::Followers>& followers);
void add_sandbox_logs_route(RouteTable& table, const runtime::Services& services,
                            const std::shared_ptr<runtime::Followers>& followers);
void add_sandbox_metrics_route(RouteTable& table, const runtime::Services& services);
void add_sandbox_search_route(RouteTable& table, const runtime::Services& services);
void add_sandbox_watch_route(RouteTable& table, const runtime::Services& services);
void add_sandbox_terminal_route(RouteTable& table, const runtime::Services& services,
                                const runtime::RequestRules& rules);
// `rules` outlives the table.
void add_webhook_routes(RouteTable& table, const runtime::Services& services,
                        const runtime::RequestRules& rules);
// `proxy` outlives the table.
void add_sandbox_port_routes(RouteTable& table, const PortProxy& proxy);
// `allowed_hosts` outlives the table.
void add_mcp_routes(RouteTable& table, const runtime::Services& services,
                    const runtime::RequestRules& rules, const std::string& version,
                    const std::vector<std::string>& allowed_hosts);

// Sandboxes by name, as clients of services on Kubernetes know them.
namespace kubernetes_style {

// `rules` outlives the table `all`. `rate`: how often each key may ask.
void add_sandbox_routes(RouteTable& all, const runtime::Services& services,
                        const runtime::RequestRules& rules, std::optional<RequestRate> rate);
void add_output_routes(RouteTable& all, const runtime::Services& services,
                       const runtime::RequestRules& rules);
void add_file_routes(RouteTable& all, const runtime::Services& services);
void add_terminal_route(RouteTable& all, const runtime::Services& services,
                        const runtime::RequestRules& rules);

}  // namespace kubernetes_style

}  // namespace server
