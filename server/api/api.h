// The routes. Translates requests into calls of the runtime, and their results into responses.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/config/config.h"
#include "runtime/sandbox/program_root.h"
#include "runtime/service/authentication.h"
#include "runtime/service/services.h"
#include "server/api/decode.h"
#include "server/api/rate_limit.h"
#include "server/api/routes.h"
#include "server/http/handler.h"
#include "server/ports/port_proxy.h"

namespace server {

struct ApiOptions {
  std::string version;
  std::vector<runtime::ApiKey> keys;
  enum class HostCheck { any, local } host_check = HostCheck::local;
  std::vector<std::string> allowed_hosts;
  std::optional<RequestRate> key_rate;  // for each key; without keys, for all callers together
  std::function<RateLimit::Clock::time_point()> clock = &RateLimit::Clock::now;
  std::string ports_domain;  // empty: ports of sandboxes have no host names
  PortOptions ports;
  runtime::RequestRules execute;
  runtime::ProgramRoot root;
};

// `providers` are the names of those that tasks may use.
ApiOptions api_options(const runtime::Config& config, runtime::ProgramRoot root,
                       std::vector<runtime::Template> templates, std::string version,
                       const std::vector<std::string>& providers = {});

class Api final : public Handler {
 public:
  Api(ApiOptions options, runtime::Services services);

  Admittance admit(const RequestHead& head) const override;
  boost::asio::awaitable<Response> handle(Request request, runtime::Cancel gone) override;
  boost::asio::awaitable<void> upgrade(Socket socket, Request request, BodyBudget& budget,
                                       runtime::Cancel gone) override;
  void on_response(const RequestHead& head, const RequestContext* context, int status) override;

  // No program is accepted from now on; reading still works. Thread-safe.
  void drain() { draining_.request(); }

  const RouteTable& routes() const { return routes_; }

 private:
  // What admit() finds out about a request.
  struct Matched final : RequestContext {
    RouteTable::Match path;                       // without a label where no route has the path
    std::optional<runtime::Principal> principal;  // nullopt: no valid key was shown
    Parameters query;                             // set where the request is not refused
    std::optional<PortCall> port;                 // set where the route leads to a port
  };

  void add_own_routes();
  Response health(const Call& call) const;
  Response stats() const;
  Response metrics() const;
  // Sets `matched.query` as well.
  std::optional<Response> why_refused(const RequestHead& head, Matched& matched) const;
  static Call call_of(Request request, const Matched& matched, runtime::Cancel gone);
  // Finds the route, and the port that it leads to.
  void match(const RequestHead& head, Matched& matched) const;
  // Sets `matched.port` as well.
  std::optional<Response> why_port_refused(const RequestHead& head, Matched& matched) const;
  // Sets `call.is_upgrade` as well.
  std::optional<Response> why_no_tunnel(const RequestHead& head, PortCall& call) const;
  std::variant<runtime::Sandboxes::Found, Response> sandbox_of_port(const RequestHead& head,
                                                                    Matched& matched) const;
  // The answer 401 on a route; null: for a path without a route.
  static Response no_key(const Route* route);
  // Returns whether the request shows a signature on a route that accepts one. Then only the
  // signature is judged, even where a key is shown as well.
  static bool has_signature(const RequestHead& head, const Route& route);
  // Sets `matched.principal` to the principal of a signed URL's holder.
  std::optional<Response> check_signature(const RequestHead& head, Matched& matched) const;
  // Checks that the key has the scope of the route. Without a principal the route must be open to
  // everybody.
  static std::optional<Response> check_scope(const Route& route,
                                             const std::optional<runtime::Principal>& principal);
  std::optional<Response> check_rate(std::size_t key) const;
  bool is_draining() const { return draining_.requested(); }
  std::optional<runtime::Principal> principal_of(const RequestHead& head) const;
  std::chrono::duration<double> uptime() const;

  const ApiOptions options_;
  runtime::LiveJobs live_jobs_;
  runtime::Services services_;  // not changed after the constructor
  const runtime::Authentication authentication_;
  const std::unique_ptr<RateLimit> rate_limit_;  // null: no bound
  const std::chrono::steady_clock::time_point started_;
  const runtime::Cancel draining_;
  const PortProxy port_proxy_;
  RouteTable routes_;
};

}  // namespace server
