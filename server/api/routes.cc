#include "server/api/routes.h"

#include <array>

namespace server {
namespace {

constexpr std::string_view versioned = "/api/v1";
constexpr std::string_view read_only = "GET, HEAD";

struct Entry {
  std::string_view path;
  Route route;
  std::string_view methods;
  enum class Where : std::uint8_t { both, plain } where = Where::both;
};

// `both`: below /api/v1 too.
constexpr std::array<Entry, 10> entries = {{
    {"/benchmark", Route::benchmark, "POST"},
    {"/execute", Route::execute, "POST"},
    {"/health", Route::health, read_only},
    {"/jobs", Route::jobs, read_only},
    {"/lessons", Route::lessons, "GET, HEAD, DELETE"},
    {"/stats", Route::stats, read_only},
    {"/stream", Route::stream, "GET"},
    {"/ws/stream", Route::stream, "GET", Entry::Where::plain},
    {"/metrics", Route::metrics, read_only, Entry::Where::plain},
    {"/openapi.json", Route::openapi, read_only},
}};

// What has an id behind its path.
constexpr std::array<Entry, 2> parents = {{
    {"/jobs/", Route::job, "GET, HEAD, DELETE"},
    {"/lessons/", Route::lesson, "DELETE"},
}};

std::string_view label_of(Route route) {
  return route == Route::job ? "/jobs/{id}" : "/lessons/{id}";
}

}  // namespace

std::optional<RouteMatch> match_route(std::string_view path) {
  const bool is_versioned = path.starts_with("/api/v1/");
  if (is_versioned) path.remove_prefix(versioned.size());
  for (const Entry& entry : entries) {
    if (entry.path != path || (is_versioned && entry.where == Entry::Where::plain)) continue;
    const std::string_view label = entry.route == Route::stream ? "/stream" : entry.path;
    return RouteMatch{entry.route, label, entry.methods, {}};
  }
  for (const Entry& entry : parents) {
    if (!path.starts_with(entry.path)) continue;
    const std::string_view id = path.substr(entry.path.size());
    if (id.empty() || id.find('/') != id.npos) continue;
    return RouteMatch{entry.route, label_of(entry.route), entry.methods, id};
  }
  return std::nullopt;
}

bool is_allowed_method(std::string_view methods, std::string_view method) {
  while (!methods.empty()) {
    const std::size_t comma = methods.find(", ");
    if (methods.substr(0, comma) == method) return true;
    methods.remove_prefix(comma == methods.npos ? methods.size() : comma + 2);
  }
  return false;
}

}  // namespace server
