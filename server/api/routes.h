// The table of routes: which handler answers which request, and who may call it.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/sandbox/cancel.h"
#include "runtime/service/principal.h"
#include "server/api/query.h"
#include "server/http/body_budget.h"
#include "server/http/message.h"
#include "server/http/request_body.h"
#include "server/http/response_stream.h"
#include "server/http/socket.h"
#include "server/ports/port_call.h"

namespace server {

// The values of the names in braces of a pattern.
using PathParameters = std::vector<std::pair<std::string_view, std::string>>;
// Returns an empty text where there is none of that name.
const std::string& parameter_in(const PathParameters& parameters, std::string_view name);

// A request whose route was found and whose caller is known.
struct Call {
  RequestHead head;
  std::string body;
  runtime::Principal principal;
  bool is_known = true;  // false on an open route without a valid key
  PathParameters parameters;
  Parameters query;                  // a subset of Route::query
  runtime::Cancel gone;              // requested when nobody waits for the answer any more
  ResponseStream* stream = nullptr;  // for an answer in pieces; valid until the handler returns
  RequestBody* pieces = nullptr;     // as long, on a route that reads its body in pieces
  std::optional<PortCall> port = std::nullopt;  // set on a route that leads to a port

  // The part of the path that stands for `name`, which must be in the pattern.
  const std::string& parameter(std::string_view name) const {
    return parameter_in(parameters, name);
  }
};

inline runtime::Caller caller_of(const Call& call) {
  return {call.principal, call.head.request_id};
}

// A connection that becomes a WebSocket, whose route was found and whose caller is known.
struct Upgrade {
  Call call;  // without streams
  Socket socket;
  BodyBudget& budget;
  runtime::Cancel draining;  // requested when no new work is accepted any more
};

using UpgradeHandler = std::function<boost::asio::awaitable<void>(Upgrade)>;
using RouteHandler = std::function<boost::asio::awaitable<Response>(Call)>;

using runtime::Scope;

// The access to a route. Where no keys are configured everybody may call each route.
struct Access {
  enum class Shown : std::uint8_t { nothing, key, key_or_url } shown;
  std::optional<Scope> scope;  // the scope that the key needs; nullopt: any key is enough

  // Open routes exist since a load balancer has no key, and the interface's description is not
  // secret.
  static constexpr Access open() { return {Shown::nothing, std::nullopt}; }
  static constexpr Access key(Scope scope) { return {Shown::key, scope}; }
  // The code behind the route checks scopes itself, or answers only what the key is.
  static constexpr Access any_key() { return {Shown::key, std::nullopt}; }
  // A key, or a signed URL of the file in the path, for this operation.
  static constexpr Access key_or_url(Scope scope) { return {Shown::key_or_url, scope}; }

  constexpr bool is_open() const { return shown == Shown::nothing; }
  constexpr bool takes_url() const { return shown == Shown::key_or_url; }
};

// The work that a request causes, by which it is bounded.
enum class Cost : std::uint8_t {
  none,     // figures of the server itself: its operator can always read them
  record,   // reads or changes callers' records; counts against the rate of the key
  program,  // runs programs; counts as well, and is refused while the server stops
};

struct Route {
  std::string_view method;  // GET answers HEAD too, except for an upgrade
  // A pattern such as "/jobs/{id}": a name in braces stands for one segment, which must not be
  // empty; "{path...}" at the end stands for the rest, which may be empty.
  std::string_view pattern;
  Access access;
  Cost cost = Cost::record;
  RouteHandler handle;  // empty: the connection becomes a WebSocket, by `upgrade`
  // The allowed query parameters; any other is refused before the handler is called.
  QueryNames query = {};
  // Whether the route also exists below /api/v1. A plain pattern is the whole path.
  enum class Versions : std::uint8_t { both, plain } versions = Versions::both;
  std::string_view label = {};  // the name in metrics; empty: the pattern
  enum class Body : std::uint8_t {
    whole,   // in Call::body, at most HttpOptions::max_body_bytes
    pieces,  // the handler reads and bounds Call::pieces
    none,    // as whole, but may be left out together with its Content-Type
    form,    // as pieces: multipart/form-data, which pages of other sites must not send
  } body = Body::whole;
  // Whether the route leads to a server in a sandbox: it accepts any query and any type of body,
  // and may become a WebSocket. The sandbox's access token opens it as a key does.
  // A tunnel becomes a WebSocket always, and is opened by the same credentials.
  enum class Leads : std::uint8_t { here, to_port, to_tunnel } leads = Leads::here;
  UpgradeHandler upgrade = {};
  // Returns the problem why a connection stays with HTTP. Empty: every valid request for an upgrade
  // succeeds.
  std::function<std::optional<Response>(const Call&)> why_no_upgrade = {};
  // The form of refusals: problems by RFC 9457, or the envelopes of kubernetes_style.
  enum class Refusals : std::uint8_t { problems, envelopes } refusals = Refusals::problems;

  std::string_view name() const { return label.empty() ? pattern : label; }
  bool is_upgrade() const { return handle == nullptr; }
  bool reads_body() const { return body == Body::pieces || body == Body::form; }
};

// Filled before the server listens, and only read afterwards.
class RouteTable {
 public:
  struct Match {
    const Route* route = nullptr;  // null: the path is known but does not have the method
    std::string_view label;
    std::string methods;   // the methods of the path, in the form of the header Allow
    bool is_open = false;  // one of its methods has Access::open()
    Route::Refusals refusals = Route::Refusals::problems;
    PathParameters parameters;
  };

  // A route that takes the rest of a path is added behind those of paths that it would take.
  void add(Route route) { routes_.push_back(std::move(route)); }
  // Returns std::nullopt where no route has such a path.
  std::optional<Match> find(std::string_view method, std::string_view path) const;
  const std::vector<Route>& all() const { return routes_; }

 private:
  std::vector<Route> routes_;
};

}  // namespace server
