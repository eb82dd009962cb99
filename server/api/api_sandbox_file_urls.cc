// POST /v1/sandboxes/{id}/sign: signs URLs that allow one operation on one file of a sandbox
// without a key; and recognizes requests with such a URL.
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "runtime/json/utc_text.h"
#include "runtime/service/file_url.h"
#include "server/api/api.h"
#include "server/api/decode.h"
#include "server/api/guard.h"
#include "server/api/query.h"
#include "server/api/route_groups.h"
#include "server/api/sandbox_target.h"

namespace server {
namespace {

using boost::asio::awaitable;
using runtime::FileGrant;
using runtime::Refusal;
using runtime::Sandboxes;

using runtime::expires_parameter;
using runtime::signature_parameter;

std::string url_of(const RequestHead& head, const std::string& id, const FileGrant& grant,
                   const std::string& signature) {
  // The URL names the server as the request did.
  const auto host = head.header("Host");
  const std::string scheme = came_by_tls(head) ? "https://" : "http://";
  std::string url = host ? scheme + std::string(*host) : "";
  url += "/v1/sandboxes/" + id + "/files" + percent_encoded(grant.path, Slashes::stay);
  url += "?" + std::string(expires_parameter) + "=";
  url += std::to_string(grant.expires.time_since_epoch().count());
  return url + "&" + std::string(signature_parameter) + "=" + signature;
}

awaitable<Response> sign_url(runtime::Services services, const runtime::RequestRules* rules,
                             SandboxTarget target, Call call) {
  runtime::FileUrlRequest request;
  if (auto refusal = decode_into(call.body, runtime::file_url_fields(), *rules, request)) {
    co_return std::move(*refusal);
  }
  const auto expires = std::chrono::system_clock::now() + std::chrono::seconds(request.seconds);
  const FileGrant grant{.operation = request.operation,
                        .path = std::move(request.path),
                        .expires = std::chrono::ceil<std::chrono::seconds>(expires)};
  const std::string signature = services.sandboxes->sign(caller_of(call), *target.sandbox, grant);
  runtime::json::Writer writer;
  writer.begin_object();
  writer.key("url").string(url_of(call.head, target.sandbox->id(), grant, signature));
  writer.key("method").string(grant.operation == FileGrant::Operation::read ? "GET" : "PUT");
  writer.key("expires_at").string(runtime::json::utc_text(grant.expires)).end_object();
  co_return json_answer(std::move(writer));
}

struct ShownGrant {
  FileGrant grant;
  std::string signature;
};

// Returns std::nullopt where the URL is not a signed one: other parameters make it another URL.
std::optional<ShownGrant> grant_shown(const RequestHead& head, const RouteTable::Match& path) {
  const auto query =
      parameters_of(head.query, runtime::names_of(runtime::signed_url_query_fields()));
  const auto* const parameters = std::get_if<Parameters>(&query);
  auto file = path_of_file(parameter_in(path.parameters, "path"));
  if (parameters == nullptr || std::holds_alternative<Response>(file)) return std::nullopt;
  runtime::SignedUrlQuery url;
  if (runtime::read_parameters(*parameters, runtime::signed_url_query_fields(), url)) {
    return std::nullopt;
  }
  const bool reads = path.route->access.scope == Scope::read;
  ShownGrant shown;
  shown.grant.operation = reads ? FileGrant::Operation::read : FileGrant::Operation::write;
  shown.grant.path = std::get<std::string>(std::move(file));
  shown.grant.expires = std::chrono::sys_seconds(std::chrono::seconds(url.expires));
  shown.signature = std::move(url.signature);
  return shown;
}

}  // namespace

void add_sandbox_file_url_route(const RouteParts& parts) {
  parts.table.add({"POST", "/v1/sandboxes/{id}/sign", Access::key(Scope::sandboxes), Cost::record,
                   for_target<sandbox_target>(parts.services, sign_url, &parts.rules), QueryNames(),
                   Route::Versions::plain});
}

Response Api::no_key(const Route* route) {
  std::string detail = "expected a valid key in Authorization: Bearer or in X-API-Key";
  if (route != nullptr && route->access.takes_url()) detail += ", or a signed URL as it was made";
  return problem(RefusalCode::unauthorized, std::move(detail), {{"WWW-Authenticate", "Bearer"}});
}

bool Api::has_signature(const RequestHead& head, const Route& route) {
  return route.access.takes_url() && has_parameter(head.query, signature_parameter);
}

std::optional<Response> Api::check_signature(const RequestHead& head, Matched& matched) const {
  const auto shown = grant_shown(head, matched.path);
  if (!shown || services_.sandboxes == nullptr) return no_key(matched.path.route);
  const auto found = services_.sandboxes->find_by_signature(
      parameter_in(matched.path.parameters, "id"), shown->grant, shown->signature);
  if (const auto* const refusal = std::get_if<Refusal>(&found)) {
    const bool is_wrong = refusal->code == RefusalCode::no_such_sandbox;
    return is_wrong ? no_key(matched.path.route) : problem(*refusal);
  }
  const std::string& owner = std::get<Sandboxes::Found>(found)->owner();
  matched.principal = runtime::Principal{.tenant = owner, .key = {}, .allowed = shown->grant};
  if (authentication_.needs_key()) matched.principal->key = authentication_.key_of(owner);
  return std::nullopt;
}

}  // namespace server
