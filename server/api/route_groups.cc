#include "server/api/route_groups.h"

namespace server {
namespace {

using RouteGroup = void (*)(const RouteParts& parts);

constexpr RouteGroup all_groups[] = {
    add_benchmark_route,
    add_execute_route,
    add_job_routes,
    add_lesson_routes,
    add_mcp_routes,
    add_sandbox_event_routes,
    add_sandbox_file_routes,
    add_sandbox_file_url_route,
    add_sandbox_logs_route,
    add_sandbox_metrics_route,
    add_sandbox_port_routes,
    add_sandbox_process_routes,
    add_sandbox_routes,
    add_sandbox_search_route,
    add_sandbox_terminal_route,
    add_sandbox_watch_route,
    add_stream_routes,
    add_template_routes,
    add_volume_routes,
    add_webhook_routes,
    kubernetes_style::add_file_routes,
    kubernetes_style::add_output_routes,
    kubernetes_style::add_pool_routes,
    kubernetes_style::add_sandbox_routes,
    kubernetes_style::add_terminal_route,
};

}  // namespace

void add_route_groups(const RouteParts& parts) {
  for (const RouteGroup add : all_groups) add(parts);
}

}  // namespace server
