// Which path is what.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace server {

enum class Route : std::uint8_t {
  benchmark,
  execute,
  health,
  jobs,
  job,
  lessons,
  lesson,
  metrics,
  openapi,
  stats,
  stream
};

struct RouteMatch {
  Route route;
  std::string_view label;    // the same for all paths of a route, for metrics: "/jobs/{id}"
  std::string_view methods;  // as Allow names them
  std::string_view id;       // of a job or a lesson; a part of the path
};

std::optional<RouteMatch> match_route(std::string_view path);

// True for one of `methods`, a list as in RouteMatch.
bool is_allowed_method(std::string_view methods, std::string_view method);

}  // namespace server
