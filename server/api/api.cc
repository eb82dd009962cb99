#include "server/api/api.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "server/api/encode.h"
#include "server/api/guard.h"
#include "server/api/kubernetes_style/envelope.h"
#include "server/api/openapi.h"
#include "server/api/route_groups.h"

namespace server {
namespace {

std::optional<RequestRate> rate_of_keys(const runtime::Config& config) {
  const runtime::Rate& rate = config.api_key_rate;
  if (rate.requests == 0) return std::nullopt;
  return RequestRate{.interval = std::chrono::nanoseconds(rate.time) / rate.requests,
                     .burst = config.api_key_burst > 0 ? config.api_key_burst : rate.requests};
}

std::unique_ptr<RateLimit> rate_limit_of(const ApiOptions& options) {
  if (!options.key_rate) return nullptr;
  return std::make_unique<RateLimit>(*options.key_rate,
                                     std::max<std::size_t>(1, options.keys.size()));
}

std::string_view status_class(int status) {
  switch (status / 100) {
    case 1:
      return "1xx";
    case 2:
      return "2xx";
    case 4:
      return "4xx";
    default:
      return "5xx";
  }
}

// Returns a problem in the form that clients of its route expect; any other answer unchanged.
Response as_refused(Route::Refusals form, Response response) {
  const bool is_problem = response.content_type == "application/problem+json";
  if (form == Route::Refusals::problems || !is_problem) return response;
  return kubernetes_style::in_envelope(response);
}

// Clients put the version before a path themselves, so that one whose URL ends with it asks for
// /v1/v1/sandboxes; and not all paths have a version.
std::string no_such_path_text(const RouteTable& routes, const RequestHead& head) {
  constexpr std::string_view version = "/v1";
  const std::string_view path = head.path;
  const bool has_version =
      path.starts_with(version) && path.substr(version.size()).starts_with('/');
  const bool is_one_without =
      has_version && routes.find(head.method, path.substr(version.size())).has_value();
  return is_one_without ? "no such path; without /v1 it is one" : "no such path";
}

boost::asio::awaitable<Response> at_once(Response response) { co_return response; }

}  // namespace

ApiOptions api_options(const runtime::Config& config, runtime::ProgramRoot root,
                       std::vector<runtime::Template> templates, std::string version,
                       const std::vector<std::string>& providers) {
  ApiOptions options;
  options.version = std::move(version);
  options.keys = runtime::api_keys_of(config);
  const bool local = runtime::is_loopback(config.api_host);
  options.host_check = local ? ApiOptions::HostCheck::local : ApiOptions::HostCheck::any;
  options.allowed_hosts = config.api_allowed_hosts;
  options.key_rate = rate_of_keys(config);
  options.ports_domain = config.sandbox_ports_domain;
  options.ports.head_timeout = config.sandbox_ports_timeout;
  options.execute = runtime::rules_of(config, root, std::move(templates), providers);
  options.root = std::move(root);
  return options;
}

Api::Api(ApiOptions options, runtime::Services services)
    : options_(std::move(options)),
      services_(services),
      authentication_(options_.keys, services.jobs),
      rate_limit_(rate_limit_of(options_)),
      started_(std::chrono::steady_clock::now()),
      port_proxy_(services_, options_.ports) {
  services_.live_jobs = &live_jobs_;
  add_route_groups({.table = routes_,
                    .services = services_,
                    .rules = options_.execute,
                    .ports = port_proxy_,
                    .version = options_.version,
                    .allowed_hosts = options_.allowed_hosts,
                    .key_rate = options_.key_rate,
                    .followers = std::make_shared<runtime::Followers>()});
  add_own_routes();
}

void Api::add_own_routes() {
  using Versions = Route::Versions;
  routes_.add({"GET", "/health", Access::open(), Cost::none,
               [this](Call call) { return at_once(health(call)); }});
  routes_.add({"GET", "/healthz", Access::open(), Cost::none,
               [this](Call call) { return at_once(health(call)); }, QueryNames(), Versions::plain});
  routes_.add({"GET", "/stats", Access::key(Scope::metrics), Cost::none,
               [this](Call) { return at_once(stats()); }});
  routes_.add({"GET", "/metrics", Access::key(Scope::metrics), Cost::none,
               [this](Call) { return at_once(metrics()); }, QueryNames(), Versions::plain});
  routes_.add(
      {"GET", "/", Access::open(), Cost::none,
       [](Call) {
         Response response;
         response.body =
             R"({"name":"agent-sandbox","documentation":"/openapi.json","health":"/health"})";
         return at_once(std::move(response));
       },
       QueryNames(), Versions::plain});
  routes_.add({"GET", "/openapi.json", Access::open(), Cost::none, [this](Call) {
                 Response response;
                 response.body = openapi_json(options_.execute);
                 return at_once(std::move(response));
               }});
}

Admittance Api::admit(const RequestHead& head) const {
  auto matched = std::make_shared<Matched>();
  match(head, *matched);
  matched->principal = principal_of(head);
  Admittance admittance;
  admittance.refusal = why_refused(head, *matched);
  if (admittance.refusal) {
    admittance.refusal = as_refused(matched->path.refusals, std::move(*admittance.refusal));
  }
  const Route* const route = matched->path.route;
  admittance.is_upgrade =
      route != nullptr && (matched->port ? matched->port->is_upgrade : route->is_upgrade());
  admittance.reads_body = route != nullptr && route->reads_body() && !admittance.is_upgrade;
  admittance.context = std::move(matched);
  return admittance;
}

std::optional<Response> Api::why_refused(const RequestHead& head, Matched& matched) const {
  const bool has_own_name = matched.port && matched.port->target.form == PortForm::host;
  if (!has_own_name && options_.host_check == ApiOptions::HostCheck::local &&
      !is_local_host(head, options_.allowed_hosts)) {
    return problem(RefusalCode::misdirected_request,
                   "Host: this server answers to localhost only; API_ALLOWED_HOSTS adds names");
  }
  const RouteTable::Match& path = matched.path;
  const Route* const route = path.route;
  if (route != nullptr && matched.port) return why_port_refused(head, matched);
  const bool is_signed = route != nullptr && has_signature(head, *route);
  if (is_signed) {
    if (auto refusal = check_signature(head, matched)) return refusal;
  }
  // A client without a key learns nothing about paths except which ones are open.
  const bool is_open = route == nullptr ? path.is_open : route->access.is_open();
  if (!matched.principal && !is_open) {
    return no_key(route);
  }
  if (path.label.empty()) {
    return problem(RefusalCode::no_such_path, no_such_path_text(routes_, head));
  }
  if (route == nullptr) {
    return problem(RefusalCode::method_not_allowed, "expected " + path.methods,
                   {{"Allow", path.methods}});
  }
  if (!is_signed) {
    if (auto refusal = check_scope(*route, matched.principal)) return refusal;
  }
  if (route->cost == Cost::program && is_draining()) {
    services_.metrics.rejected.add({"stopping"});
    return stopping();
  }
  if (route->cost != Cost::none) {
    const auto principal = matched.principal.value_or(runtime::Principal());
    if (auto refusal = check_rate(principal.key.value_or(0))) return refusal;
  }
  if (!is_signed) {
    auto query = parameters_of(head.query, route->query);
    if (const auto* refusal = std::get_if<runtime::Refusal>(&query)) return problem(*refusal);
    matched.query = std::get<Parameters>(std::move(query));
  }
  // A browser names the page that sends a request, and asks us before it sends JSON for another
  // site.
  const bool may_be_bare =
      route->body == Route::Body::none && !head.header("Content-Type") && !head.header("Origin");
  if (route->body == Route::Body::form) {
    if (!is_own_origin(head, options_.allowed_hosts)) {
      return problem(RefusalCode::other_site, "Origin: a page of another site");
    }
  } else if (head.method == "POST" && !is_json(head) && !may_be_bare) {
    return problem(RefusalCode::unsupported_media_type, "Content-Type: expected application/json");
  }
  if (route->is_upgrade()) {
    if (route->why_no_upgrade != nullptr) {
      Request request;
      request.head = head;
      const Call call = call_of(std::move(request), matched, runtime::Cancel());
      if (auto refusal = route->why_no_upgrade(call)) return refusal;
    }
    return why_no_websocket(head, options_.allowed_hosts);
  }
  if (head.header("Content-Encoding")) {
    return problem(RefusalCode::unsupported_media_type, "Content-Encoding: expected none");
  }
  return std::nullopt;
}

std::optional<Response> Api::check_scope(const Route& route,
                                         const std::optional<runtime::Principal>& principal) {
  if (!route.access.scope) return std::nullopt;
  const auto refusal =
      runtime::missing_scope(principal.value_or(runtime::Principal()), *route.access.scope);
  return refusal ? std::optional(problem(*refusal)) : std::nullopt;
}

// The time is rounded up to whole seconds, so that a client that waits for it is not too early.
std::optional<Response> Api::check_rate(std::size_t key) const {
  if (rate_limit_ == nullptr) return std::nullopt;
  const auto wait = rate_limit_->take(key, options_.clock());
  if (wait.count() == 0) return std::nullopt;
  const std::string seconds = std::to_string(std::chrono::ceil<std::chrono::seconds>(wait).count());
  services_.metrics.rejected.add({"rate"});
  return problem(RefusalCode::rate_limit,
                 "too many requests in a short time; try again in " + seconds + " s",
                 {{"Retry-After", seconds}});
}

Call Api::call_of(Request request, const Matched& matched, runtime::Cancel gone) {
  Call call{.head = std::move(request.head),
            .body = std::move(request.body),
            .principal = matched.principal.value_or(runtime::Principal()),
            .is_known = matched.principal.has_value(),
            .parameters = matched.path.parameters,
            .query = matched.query,
            .gone = std::move(gone),
            .stream = request.stream,
            .pieces = request.pieces,
            .port = matched.port};
  if (call.port) call.port->peer = std::move(request.peer);
  return call;
}

boost::asio::awaitable<Response> Api::handle(Request request, runtime::Cancel gone) {
  const auto context = request.context;
  const auto& matched = static_cast<const Matched&>(*context);
  Call call = call_of(std::move(request), matched, std::move(gone));
  Response response = co_await matched.path.route->handle(std::move(call));
  co_return as_refused(matched.path.refusals, std::move(response));
}

boost::asio::awaitable<void> Api::upgrade(Socket socket, Request request, BodyBudget& budget,
                                          runtime::Cancel gone) {
  const auto context = request.context;
  const auto& matched = static_cast<const Matched&>(*context);
  Call call = call_of(std::move(request), matched, std::move(gone));
  if (call.port && !matched.path.route->is_upgrade()) {
    co_await port_proxy_.upgrade(std::move(socket), std::move(call.head), std::move(*call.port),
                                 std::move(call.gone));
    co_return;
  }
  Upgrade upgrade{.call = std::move(call),
                  .socket = std::move(socket),
                  .budget = budget,
                  .draining = draining_};
  co_await matched.path.route->upgrade(std::move(upgrade));
}

void Api::on_response(const RequestHead& head, const RequestContext* context, int status) {
  const auto* const matched = static_cast<const Matched*>(context);
  const bool is_route = matched != nullptr && !matched->path.label.empty();
  services_.metrics.responses.add({is_route ? matched->path.label : "other", status_class(status)});
  if (!head.method.empty()) return;
  if (status == 503) services_.metrics.rejected.add({"connections"});
  if (status == 429) services_.metrics.rejected.add({"peer"});
}

Response Api::health(const Call& call) const {
  std::optional<HealthDetails> details;
  if (call.is_known && call.principal.may(Scope::metrics)) {
    details = HealthDetails{.version = options_.version,
                            .uptime = uptime(),
                            .runner = services_.runner.state(),
                            .root = options_.root};
  }
  Response response;
  // A load balancer looks only at the status.
  if (is_draining()) {
    response.status = 503;
    response.headers.push_back({"Retry-After", "5"});
  }
  response.body = encode_health(is_draining() ? "draining" : "ok", details);
  return response;
}

// Without configured keys all callers are one principal.
std::optional<runtime::Principal> Api::principal_of(const RequestHead& head) const {
  if (!authentication_.needs_key()) return runtime::Principal();
  return principal_shown(head, authentication_);
}

std::chrono::duration<double> Api::uptime() const {
  return std::chrono::steady_clock::now() - started_;
}

}  // namespace server
