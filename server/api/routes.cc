#include "server/api/routes.h"

#include <algorithm>

#include "server/api/query.h"

namespace server {
namespace {

constexpr std::string_view version_prefix = "/api/v1/";
constexpr std::string_view rest = "...}";

// Takes the text up to the next slash, and removes the slash.
std::string_view take_segment(std::string_view& path) {
  const std::size_t slash = path.find('/');
  const std::string_view segment = path.substr(0, slash);
  path.remove_prefix(slash == path.npos ? path.size() : slash + 1);
  return segment;
}

// Returns std::nullopt where `path` does not match `pattern`.
std::optional<PathParameters> match(std::string_view pattern, std::string_view path) {
  const auto slashes = [](std::string_view text) {
    return std::count(text.begin(), text.end(), '/');
  };
  const bool takes_rest = pattern.ends_with(rest);
  if (takes_rest ? slashes(path) < slashes(pattern) : slashes(path) != slashes(pattern)) {
    return std::nullopt;
  }
  PathParameters parameters;
  while (!pattern.empty()) {
    const std::string_view expected = take_segment(pattern);
    if (takes_rest && pattern.empty()) {
      parameters.emplace_back(expected.substr(1, expected.size() - 1 - rest.size()), path);
      break;
    }
    const std::string_view segment = take_segment(path);
    if (!expected.starts_with('{')) {
      if (segment != expected) return std::nullopt;
    } else if (segment.empty()) {
      return std::nullopt;
    } else {
      // What cannot be decoded is a name of nothing, and stays as it is for the refusal.
      std::string value = percent_decoded(segment).value_or(std::string(segment));
      parameters.emplace_back(expected.substr(1, expected.size() - 2), std::move(value));
    }
  }
  // The pattern "/" consists of its slash alone.
  if (!takes_rest && !path.empty()) return std::nullopt;
  return parameters;
}

bool answers(const Route& route, std::string_view method) {
  return method == route.method ||
         (method == "HEAD" && route.method == "GET" && !route.is_upgrade());
}

void add_methods(std::string& methods, const Route& route) {
  methods += (methods.empty() ? "" : ", ") + std::string(route.method);
  if (answers(route, "HEAD")) methods += ", HEAD";
}

}  // namespace

const std::string& parameter_in(const PathParameters& parameters, std::string_view name) {
  static const std::string none;
  for (const auto& [known, value] : parameters) {
    if (known == name) return value;
  }
  return none;
}

std::optional<RouteTable::Match> RouteTable::find(std::string_view method,
                                                  std::string_view path) const {
  const std::string_view whole = path;
  if (path.starts_with(version_prefix)) path.remove_prefix(version_prefix.size() - 1);
  std::optional<Match> found;
  bool has_own = false;
  for (const Route& route : routes_) {
    const bool is_plain = route.versions == Route::Versions::plain;
    auto parameters = match(route.pattern, is_plain ? whole : path);
    // A path that a route of its own has is no part of another one's rest, whatever the method.
    const bool takes_rest = route.pattern.ends_with(rest);
    if (!parameters || (has_own && takes_rest)) continue;
    has_own = has_own || !takes_rest;
    if (!found) found.emplace();
    if (found->label.empty()) {
      found->label = route.name();
      found->refusals = route.refusals;
    }
    add_methods(found->methods, route);
    found->is_open = found->is_open || route.access.is_open();
    if (found->route != nullptr || !answers(route, method)) continue;
    found->route = &route;
    found->parameters = std::move(*parameters);
  }
  return found;
}

}  // namespace server
