// The routes of servers that run in sandboxes, and the access to them.
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "runtime/service/declared_ports.h"
#include "server/api/api.h"
#include "server/api/guard.h"
#include "server/api/query.h"
#include "server/api/route_groups.h"
#include "server/ports/port_access.h"
#include "server/ports/port_proxy.h"

namespace server {
namespace {

using boost::asio::awaitable;
using runtime::Refusal;
using runtime::Sandboxes;

// A path that has the routes' form, for a request that names its port in Host.
constexpr std::string_view path_of_any_port = "/v1/sandboxes/id/ports/1/";

const std::vector<std::string_view> tunnel_parameters = {"port", access_token_parameter};

awaitable<void> open_tunnel(const PortProxy& proxy, Upgrade upgrade) {
  Call& call = upgrade.call;
  co_await proxy.tunnel(std::move(upgrade.socket), std::move(call.head), std::move(*call.port),
                        std::move(call.gone));
}

// Sets the port from the query.
std::optional<Response> read_tunnel_query(const RequestHead& head, PortTarget& target) {
  const auto query = parameters_of(head.query, tunnel_parameters);
  if (const auto* const refusal = std::get_if<Refusal>(&query)) return problem(*refusal);
  for (const auto& [name, value] : std::get<Parameters>(query)) {
    if (name == tunnel_parameters.front()) target.port = value;
  }
  return std::nullopt;
}

awaitable<Response> ask_port(const PortProxy& proxy, Call call) {
  auto& pieces = *call.pieces;
  auto& stream = *call.stream;
  co_return co_await proxy.serve(std::move(call.head), std::move(*call.port), pieces, stream,
                                 std::move(call.gone));
}

Response no_credential() {
  return problem(RefusalCode::unauthorized,
                 "expected a valid key, or the sandbox's access_token in X-Access-Token or in the "
                 "parameter access_token",
                 {{"WWW-Authenticate", "Bearer"}});
}

Response of_another_site() {
  return problem(RefusalCode::other_site,
                 "a page of another site may not use this port; open its address yourself, or show "
                 "the sandbox's access_token");
}

std::optional<Response> check_upgrade(const RequestHead& head) {
  const bool has_body =
      head.header("Transfer-Encoding") || head.header("Content-Length").value_or("0") != "0";
  if (head.method != "GET" || has_body) {
    return problem(RefusalCode::bad_request, "Upgrade: expected a GET without a body");
  }
  return check_websocket_key(head);
}

// Redirects a browser where that is needed, before the server inside sees anything of the request.
std::optional<Response> redirection(const RequestHead& head, const PortCall& call) {
  // Relative addresses in a page are resolved against the path up to its last slash.
  if (call.target.path.empty()) {
    const std::string query = head.query.empty() ? "" : "?" + head.query;
    Response response;
    response.status = 308;
    response.content_type.clear();
    response.headers.push_back({"Location", call.target.prefix() + "/" + query});
    return response;
  }
  if (!has_token_in_query(head) || !opens_a_page(head)) return std::nullopt;
  // The token may have been renewed since it was checked. A client that shows the old one must not
  // get the new one.
  const auto token = token_shown(head);
  if (!token || !call.sandbox->access_token().is(*token)) return std::nullopt;
  return to_address_without_token(head, call.target, *token);
}

// The sandbox that the token opens, where the call then ends with the token.
Sandboxes::Or<Sandboxes::Found> found_by_token(const Sandboxes& sandboxes, std::string_view token,
                                               PortCall& call) {
  auto found = sandboxes.find_by_token(call.target.id, token);
  if (std::holds_alternative<Refusal>(found)) return found;
  auto access = std::get<Sandboxes::Found>(found)->access_by(token);
  // It has been renewed in between.
  if (!access) return Refusal{.code = RefusalCode::no_such_sandbox, .detail = "no such sandbox"};
  call.access = std::move(*access);
  return found;
}

std::variant<Sandboxes::Found, Response> found_or_why(Sandboxes::Or<Sandboxes::Found> found) {
  if (const auto* refusal = std::get_if<Refusal>(&found)) return problem(*refusal);
  return std::get<Sandboxes::Found>(std::move(found));
}

}  // namespace

void add_sandbox_port_routes(const RouteParts& parts) {
  using Body = Route::Body;
  using Leads = Route::Leads;
  using Versions = Route::Versions;
  const std::string_view no_label;
  const RouteHandler ask = [&ports = parts.ports](Call call) {
    return ask_port(ports, std::move(call));
  };
  // Redirects to the same path with a slash at the end.
  parts.table.add({"GET", "/v1/sandboxes/{id}/ports/{port}", Access::key(Scope::sandboxes),
                   Cost::record, ask, QueryNames(), Versions::plain, no_label, Body::pieces,
                   Leads::to_port});
  parts.table.add({"GET", "/v1/sandboxes/{id}/ports/{port}/{path...}",
                   Access::key(Scope::sandboxes), Cost::record, ask, QueryNames(), Versions::plain,
                   no_label, Body::pieces, Leads::to_port});
  parts.table.add({"POST", "/v1/sandboxes/{id}/ports/{port}/{path...}",
                   Access::key(Scope::sandboxes), Cost::record, ask, QueryNames(), Versions::plain,
                   no_label, Body::pieces, Leads::to_port});
  parts.table.add({"PUT", "/v1/sandboxes/{id}/ports/{port}/{path...}",
                   Access::key(Scope::sandboxes), Cost::record, ask, QueryNames(), Versions::plain,
                   no_label, Body::pieces, Leads::to_port});
  parts.table.add({"PATCH", "/v1/sandboxes/{id}/ports/{port}/{path...}",
                   Access::key(Scope::sandboxes), Cost::record, ask, QueryNames(), Versions::plain,
                   no_label, Body::pieces, Leads::to_port});
  parts.table.add({"DELETE", "/v1/sandboxes/{id}/ports/{port}/{path...}",
                   Access::key(Scope::sandboxes), Cost::record, ask, QueryNames(), Versions::plain,
                   no_label, Body::pieces, Leads::to_port});
  parts.table.add({"OPTIONS", "/v1/sandboxes/{id}/ports/{port}/{path...}",
                   Access::key(Scope::sandboxes), Cost::record, ask, QueryNames(), Versions::plain,
                   no_label, Body::pieces, Leads::to_port});
  parts.table.add(
      {"GET",
       "/v1/sandboxes/{id}/tunnel",
       Access::key(Scope::sandboxes),
       Cost::record,
       {},
       tunnel_parameters,
       Versions::plain,
       no_label,
       Body::whole,
       Leads::to_tunnel,
       [&ports = parts.ports](Upgrade upgrade) { return open_tunnel(ports, std::move(upgrade)); }});
  // The same for the port that a sandbox is asked at where none is named.
  parts.table.add({"GET", "/sandbox/{id}", Access::key(Scope::sandboxes), Cost::record, ask,
                   QueryNames(), Versions::plain, no_label, Body::pieces, Leads::to_port});
  parts.table.add({"GET", "/sandbox/{id}/{path...}", Access::key(Scope::sandboxes), Cost::record,
                   ask, QueryNames(), Versions::plain, no_label, Body::pieces, Leads::to_port});
  parts.table.add({"POST", "/sandbox/{id}/{path...}", Access::key(Scope::sandboxes), Cost::record,
                   ask, QueryNames(), Versions::plain, no_label, Body::pieces, Leads::to_port});
  parts.table.add({"PUT", "/sandbox/{id}/{path...}", Access::key(Scope::sandboxes), Cost::record,
                   ask, QueryNames(), Versions::plain, no_label, Body::pieces, Leads::to_port});
  parts.table.add({"PATCH", "/sandbox/{id}/{path...}", Access::key(Scope::sandboxes), Cost::record,
                   ask, QueryNames(), Versions::plain, no_label, Body::pieces, Leads::to_port});
  parts.table.add({"DELETE", "/sandbox/{id}/{path...}", Access::key(Scope::sandboxes), Cost::record,
                   ask, QueryNames(), Versions::plain, no_label, Body::pieces, Leads::to_port});
  parts.table.add({"OPTIONS", "/sandbox/{id}/{path...}", Access::key(Scope::sandboxes),
                   Cost::record, ask, QueryNames(), Versions::plain, no_label, Body::pieces,
                   Leads::to_port});
}

void Api::match(const RequestHead& head, Matched& matched) const {
  auto target = port_of_host(head.header("Host").value_or(""), options_.ports_domain);
  const std::string_view path = target ? path_of_any_port : std::string_view(head.path);
  if (auto found = routes_.find(head.method, path)) matched.path = std::move(*found);
  const Route* const route = matched.path.route;
  if (!target && (route == nullptr || route->leads == Route::Leads::here)) return;
  if (target) {
    target->path = head.path.starts_with('/') ? head.path : "/";
  } else {
    target.emplace();
    target->id = parameter_in(matched.path.parameters, "id");
    target->port = parameter_in(matched.path.parameters, "port");
    if (target->port.empty()) target->place = "/sandbox/" + target->id;
    if (route->pattern.ends_with("...}")) {
      target->path = "/" + parameter_in(matched.path.parameters, "path");
    }
  }
  matched.port.emplace();
  matched.port->target = std::move(*target);
}

std::variant<Sandboxes::Found, Response> Api::sandbox_of_port(const RequestHead& head,
                                                              Matched& matched) const {
  const Sandboxes& sandboxes = *services_.sandboxes;
  const std::string& id = matched.port->target.id;
  const bool has_key = authentication_.needs_key() && matched.principal;
  if (const auto token = token_shown(head)) {
    auto found = found_by_token(sandboxes, *token, *matched.port);
    const auto* const refusal = std::get_if<Refusal>(&found);
    const bool is_wrong = refusal != nullptr && refusal->code == RefusalCode::no_such_sandbox;
    if (!is_wrong) return found_or_why(std::move(found));
    if (!has_key) return no_credential();
  }
  if (has_key) {
    if (auto refusal = check_scope(*matched.path.route, matched.principal)) {
      return std::move(*refusal);
    }
    return found_or_why(sandboxes.find_living(*matched.principal, id));
  }
  for (const std::string& token : tokens_in_cookies(head)) {
    auto found = found_by_token(sandboxes, token, *matched.port);
    if (!std::holds_alternative<Sandboxes::Found>(found)) continue;
    if (!comes_from_own_pages(head, Ambient::cookie)) return of_another_site();
    return std::get<Sandboxes::Found>(std::move(found));
  }
  if (authentication_.needs_key()) return no_credential();
  if (!comes_from_own_pages(head, Ambient::nothing)) return of_another_site();
  return found_or_why(sandboxes.find_living(runtime::Principal(), id));
}

std::optional<Response> Api::why_no_tunnel(const RequestHead& head, PortCall& call) const {
  if (!asks_for_websocket(head)) {
    return problem(RefusalCode::upgrade_required, "this path speaks WebSocket",
                   {{"Upgrade", "websocket"}});
  }
  if (is_draining()) return stopping();
  call.is_upgrade = true;
  return check_upgrade(head);
}

std::optional<Response> Api::why_port_refused(const RequestHead& head, Matched& matched) const {
  if (services_.sandboxes == nullptr) return problem(RefusalCode::no_such_path, "no such path");
  PortCall& call = *matched.port;
  const bool is_tunnel = matched.path.route->leads == Route::Leads::to_tunnel;
  if (is_tunnel) {
    if (auto refusal = read_tunnel_query(head, call.target)) return refusal;
  }
  auto found = sandbox_of_port(head, matched);
  if (auto* const refusal = std::get_if<Response>(&found)) return std::move(*refusal);
  call.sandbox = std::get<Sandboxes::Found>(std::move(found));
  // A visitor with only a token counts for the owner.
  const bool shows_key = matched.principal && matched.principal->key;
  const std::size_t counted =
      shows_key ? *matched.principal->key : authentication_.key_of(call.sandbox->owner());
  if (auto refusal = check_rate(counted)) return refusal;
  if (!is_tunnel && call.target.port.empty()) {
    call.target.port = std::to_string(runtime::port_of_choice(call.sandbox->request().ports));
  }
  const auto port = port_number(call.target.port);
  if (!port) return problem(RefusalCode::bad_request, "port: expected 1 .. 65535");
  call.port = *port;
  if (is_tunnel) return why_no_tunnel(head, call);
  const auto token = bearer_token(head);
  call.key_is_authorization = token && authentication_.principal_of(*token);
  // A service worker would answer for our whole origin from then on.
  if (call.target.form == PortForm::path && head.header("Service-Worker")) {
    return problem(RefusalCode::service_worker,
                   "Service-Worker: none may come from a port below this server's origin");
  }
  if (auto elsewhere = redirection(head, call)) return elsewhere;
  if (!asks_for_websocket(head)) return std::nullopt;
  if (is_draining()) return stopping();
  call.is_upgrade = true;
  return check_upgrade(head);
}

}  // namespace server
