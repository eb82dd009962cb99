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

// What stands for the names in braces of a pattern.
using PathParameters = std::vector<std::pair<std::string_view, std::string>>;
// Empty where there is none of that name.
const std::string& parameter_in(const PathParameters& parameters, std::string_view name);

// A request whose route is found and whose caller is known.
struct Call {
  RequestHead head;
  std::string body;
  runtime::Principal principal;
  bool is_known = true;  // false on an open route where no valid key was shown
  PathParameters parameters;
  Parameters query;                  // some of Route::query
  runtime::Cancel gone;              // nobody waits for the answer any more
  ResponseStream* stream = nullptr;  // for an answer in pieces, until the handler returns
  RequestBody* pieces = nullptr;     // as long, on a route that reads its body in pieces
  std::optional<PortCall> port = std::nullopt;  // on a route that leads to a port

  // The part of the path that stands for `name`, which the pattern has.
  const std::string& parameter(std::string_view name) const {
    return parameter_in(parameters, name);
  }
};

inline runtime::Caller caller_of(const Call& call) {
  return {call.principal, call.head.request_id};
}

// A connection that becomes a WebSocket, whose route is found and whose caller is known.
struct Upgrade {
  Call call;  // without streams
  Socket socket;
  BodyBudget& budget;
  runtime::Cancel draining;  // no new work is taken any more
};

using UpgradeHandler = std::function<boost::asio::awaitable<void>(Upgrade)>;
using RouteHandler = std::function<boost::asio::awaitable<Response>(Call)>;

using runtime::Scope;

// Says who may call a route. Where no keys are configured everybody may call each.
struct Access {
  enum class Shown : std::uint8_t { nothing, key, key_or_url } shown;
  std::optional<Scope> scope;  // that the key needs; nothing: any key will do

  // A load balancer has no key; the interface is no secret.
  static constexpr Access open() { return {Shown::nothing, std::nullopt}; }
  static constexpr Access key(Scope scope) { return {Shown::key, scope}; }
  // What is behind the route checks scopes itself, or says nothing but what the key is.
  static constexpr Access any_key() { return {Shown::key, std::nullopt}; }
  // A key, or a signed URL of the file that the path names, for this operation.
  static constexpr Access key_or_url(Scope scope) { return {Shown::key_or_url, scope}; }

  constexpr bool is_open() const { return shown == Shown::nothing; }
  constexpr bool takes_url() const { return shown == Shown::key_or_url; }
};

// What a request makes the server do, by which it is bounded.
enum class Cost : std::uint8_t {
  none,     // figures of the server itself: its operator sees them whatever callers do
  record,   // looks up or changes what callers have; counts against the rate of its key
  program,  // runs programs; counts as well, and is refused while the server stops
};

struct Route {
  std::string_view method;  // GET answers HEAD too, but for an upgrade
  // "/jobs/{id}": a name in braces stands for one segment, which is not empty; "{path...}" at the
  // end for all that is left, which may be.
  std::string_view pattern;
  Access access;
  Cost cost = Cost::record;
  RouteHandler handle;  // empty: the connection becomes a WebSocket, for `upgrade`
  // The parameters that may stand behind the ?; any other is refused before the handler is called.
  QueryNames query = {};
  // Also below /api/v1. A pattern that is plain is the whole path.
  enum class Versions : std::uint8_t { both, plain } versions = Versions::both;
  std::string_view label = {};  // in metrics; empty: the pattern
  enum class Body : std::uint8_t {
    whole,   // at most HttpOptions::max_body_bytes, in Call::body
    pieces,  // the handler reads Call::pieces, and bounds it
    none,    // as whole, and may be left out with its Content-Type
    form,    // as pieces: multipart/form-data, which pages of other sites may not send
  } body = Body::whole;
  // To a server in a sandbox, which any query and any type of body is for; it may become a
  // WebSocket. The sandbox's access token opens it as a key does.
  enum class Leads : std::uint8_t { here, to_port } leads = Leads::here;
  UpgradeHandler upgrade = {};
  // Why a connection stays with HTTP; empty: it becomes a WebSocket whenever it is asked for well.
  std::function<std::optional<Response>(const Call&)> why_no_upgrade = {};
  // How whoever is refused hears of it: as RFC 9457 says, or in the envelopes of kubernetes_style.
  enum class Refusals : std::uint8_t { problems, envelopes } refusals = Refusals::problems;

  std::string_view name() const { return label.empty() ? pattern : label; }
  bool is_upgrade() const { return handle == nullptr; }
  bool reads_body() const { return body == Body::pieces || body == Body::form; }
};

// Filled before the server listens, and then only read.
class RouteTable {
 public:
  struct Match {
    const Route* route = nullptr;  // null: the path is known, and has no such method
    std::string_view label;
    std::string methods;   // of the path, as Allow names them
    bool is_open = false;  // one of its methods is Access::open()
    Route::Refusals refusals = Route::Refusals::problems;
    PathParameters parameters;
  };

  void add(Route route) { routes_.push_back(std::move(route)); }
  // Nothing where no route has such a path.
  std::optional<Match> find(std::string_view method, std::string_view path) const;
  const std::vector<Route>& all() const { return routes_; }

 private:
  std::vector<Route> routes_;
};

}  // namespace server
