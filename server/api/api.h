// The routes. Turns requests into calls of the runtime and what comes back into responses.
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
  std::optional<RequestRate> key_rate;  // of each key; without keys, of all callers together
  std::function<RateLimit::Clock::time_point()> clock = &RateLimit::Clock::now;
  std::string ports_domain;  // empty: ports of sandboxes have no host names
  PortOptions ports;
  runtime::RequestRules execute;
  runtime::ProgramRoot root;
};

// `providers`: the names of those that tasks may use.
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

  // From now on no program is taken any more; what can be read can still be read. Thread-safe.
  void drain() { draining_.request(); }

  const RouteTable& routes() const { return routes_; }

 private:
  // What admit() found out about a request.
  struct Matched final : RequestContext {
    RouteTable::Match path;                       // without a label where no route has the path
    std::optional<runtime::Principal> principal;  // nothing: no valid key was shown
    Parameters query;                             // where it is not refused
    std::optional<PortCall> port;                 // where the route leads to one
  };

  void add_own_routes();
  Response health(const Call& call) const;
  Response stats() const;
  Response metrics() const;
  // Fills `matched.query` in.
  std::optional<Response> why_refused(const RequestHead& head, Matched& matched) const;
  static Call call_of(Request request, const Matched& matched, runtime::Cancel gone);
  // Finds the route, and which port it leads to.
  void match(const RequestHead& head, Matched& matched) const;
  // Fills `matched.port` in.
  std::optional<Response> why_port_refused(const RequestHead& head, Matched& matched) const;
  std::variant<runtime::Sandboxes::Found, Response> sandbox_of_port(const RequestHead& head,
                                                                    const Matched& matched) const;
  // 401 on a route; null: where there is none.
  static Response no_key(const Route* route);
  // Whether the request shows a signature where one may be shown. It is judged by that alone then,
  // also where a key is shown as well.
  static bool has_signature(const RequestHead& head, const Route& route);
  // Makes `matched.principal` the principal of who has a signed URL.
  std::optional<Response> check_signature(const RequestHead& head, Matched& matched) const;
  // Whether the key is for what the route does. Without a principal it is a route for everybody.
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
