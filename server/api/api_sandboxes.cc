// The routes of living sandboxes: create, show, change and end them.
#include <optional>
#include <utility>
#include <variant>

#include "runtime/json/writer.h"
#include "runtime/service/list_queries.h"
#include "runtime/service/sandbox_json.h"
#include "server/api/decode.h"
#include "server/api/query.h"
#include "server/api/route_groups.h"
#include "server/api/sandbox_target.h"

namespace server {
namespace {

using boost::asio::awaitable;
using runtime::Refusal;
using runtime::Sandboxes;

// The answer contains the token only for a key that may open ports: one that only reads may not.
Response answer_of(const runtime::Services& services, const Call& call,
                   const runtime::Sandbox& sandbox, int status = 200) {
  using runtime::TokenShown;
  const bool is_for_ports = call.principal.may(Scope::sandboxes);
  runtime::json::Writer writer;
  runtime::write_sandbox(writer, *services.sandboxes, sandbox,
                         is_for_ports ? TokenShown::yes : TokenShown::as_null);
  return json_answer(std::move(writer), status);
}

awaitable<Response> create_sandbox(runtime::Services services, const runtime::RequestRules* rules,
                                   Call call) {
  auto request = runtime::default_sandbox(*rules);
  const auto read = object_of(call.body);
  if (const auto* refusal = std::get_if<Response>(&read)) co_return *refusal;
  const auto wrong = runtime::read_fields(*std::get<runtime::json::Value>(read).as_object(),
                                          runtime::sandbox_fields(), *rules, request,
                                          runtime::elsewhere_than_in_sandbox);
  if (wrong) co_return problem(*wrong);
  if (const auto refusal = runtime::check_sandbox(request)) co_return problem(*refusal);
  const auto made = co_await services.sandboxes->create(caller_of(call), std::move(request));
  if (const auto* refusal = std::get_if<Refusal>(&made)) co_return problem(*refusal);
  const auto& sandbox = *std::get<Sandboxes::Found>(made);
  services.logger.info("sandbox created",
                       {{"request_id", call.head.request_id}, {"sandbox_id", sandbox.id()}});
  Response response = answer_of(services, call, sandbox, 201);
  response.headers.push_back({"Location", "/v1/sandboxes/" + sandbox.id()});
  co_return response;
}

// Parameters with this before the name of an entry of the metadata.
constexpr std::string_view metadata_prefix = "metadata.";

void take_metadata(Parameters& parameters, Sandboxes::Query& query) {
  std::erase_if(parameters, [&](const auto& parameter) {
    const auto& [name, value] = parameter;
    if (!name.starts_with(metadata_prefix)) return false;
    query.metadata[name.substr(metadata_prefix.size())] = value;
    return true;
  });
}

QueryNames list_parameters() {
  QueryNames names = runtime::names_of(runtime::sandbox_query_fields());
  names.push_back(metadata_prefix);
  return names;
}

awaitable<Response> list_sandboxes(runtime::Services services, Call call) {
  Sandboxes::Query query;
  Parameters parameters = std::move(call.query);
  take_metadata(parameters, query);
  if (auto refusal = read_query(parameters, runtime::sandbox_query_fields(), query)) {
    co_return std::move(*refusal);
  }
  const auto page = services.sandboxes->list(call.principal, query);
  runtime::json::Writer writer;
  writer.begin_object().key("sandboxes").begin_array();
  for (const auto& sandbox : page.sandboxes)
    runtime::write_sandbox(writer, *services.sandboxes, *sandbox);
  writer.end_array().key("next_cursor");
  page.has_more ? writer.string(std::to_string(page.sandboxes.back()->number())) : writer.null();
  writer.end_object();
  co_return json_answer(std::move(writer));
}

awaitable<Response> show_sandbox(runtime::Services services, Call call) {
  const auto found = services.sandboxes->find(call.principal, call.parameter("id"));
  if (const auto* refusal = std::get_if<Refusal>(&found)) co_return problem(*refusal);
  co_return answer_of(services, call, *std::get<Sandboxes::Found>(found));
}

awaitable<Response> change_sandbox(runtime::Services services, const runtime::RequestRules* rules,
                                   SandboxTarget target, Call call) {
  runtime::SandboxChange change;
  if (auto refusal = decode_into(call.body, runtime::sandbox_change_fields(), *rules, change)) {
    co_return std::move(*refusal);
  }
  const auto refused =
      co_await services.sandboxes->change(caller_of(call), target.sandbox, std::move(change));
  co_return refused ? problem(*refused) : answer_of(services, call, *target.sandbox);
}

using Change = awaitable<std::optional<Refusal>> (Sandboxes::*)(runtime::Caller, Sandboxes::Found);

// Pauses or resumes the sandbox.
awaitable<Response> do_to_sandbox(runtime::Services services, const runtime::RequestRules* rules,
                                  Change change, SandboxTarget target, Call call) {
  if (auto refusal = refuse_fields(call.body, *rules)) co_return std::move(*refusal);
  const auto refused = co_await (services.sandboxes->*change)(caller_of(call), target.sandbox);
  co_return refused ? problem(*refused) : answer_of(services, call, *target.sandbox);
}

awaitable<Response> renew_token(runtime::Services services, const runtime::RequestRules* rules,
                                SandboxTarget target, Call call) {
  if (auto refusal = refuse_fields(call.body, *rules)) co_return std::move(*refusal);
  co_await services.sandboxes->renew_token(caller_of(call), target.sandbox);
  co_return answer_of(services, call, *target.sandbox);
}

awaitable<Response> delete_sandbox(runtime::Services services, Call call) {
  const auto found = services.sandboxes->find(call.principal, call.parameter("id"));
  if (const auto* refusal = std::get_if<Refusal>(&found)) co_return problem(*refusal);
  co_await services.sandboxes->remove(caller_of(call), std::get<Sandboxes::Found>(found));
  co_return no_content();
}

}  // namespace

void add_sandbox_routes(const RouteParts& parts) {
  using Versions = Route::Versions;
  parts.table.add({"POST", "/v1/sandboxes", Access::key(Scope::sandboxes), Cost::program,
                   bound(create_sandbox, parts.services, &parts.rules), QueryNames(),
                   Versions::plain});
  parts.table.add({"GET", "/v1/sandboxes", Access::key(Scope::read), Cost::record,
                   bound(list_sandboxes, parts.services), list_parameters(), Versions::plain});
  parts.table.add({"GET", "/v1/sandboxes/{id}", Access::key(Scope::read), Cost::record,
                   bound(show_sandbox, parts.services), QueryNames(), Versions::plain});
  parts.table.add({"PATCH", "/v1/sandboxes/{id}", Access::key(Scope::sandboxes), Cost::record,
                   for_target<sandbox_target>(parts.services, change_sandbox, &parts.rules),
                   QueryNames(), Versions::plain});
  parts.table.add(
      {"POST", "/v1/sandboxes/{id}/pause", Access::key(Scope::sandboxes), Cost::record,
       for_target<sandbox_target>(parts.services, do_to_sandbox, &parts.rules, &Sandboxes::pause),
       QueryNames(), Versions::plain, std::string_view(), Route::Body::none});
  parts.table.add(
      {"POST", "/v1/sandboxes/{id}/resume", Access::key(Scope::sandboxes), Cost::record,
       for_target<sandbox_target>(parts.services, do_to_sandbox, &parts.rules, &Sandboxes::resume),
       QueryNames(), Versions::plain, std::string_view(), Route::Body::none});
  parts.table.add({"POST", "/v1/sandboxes/{id}/token", Access::key(Scope::sandboxes), Cost::record,
                   for_target<sandbox_target>(parts.services, renew_token, &parts.rules),
                   QueryNames(), Versions::plain, std::string_view(), Route::Body::none});
  parts.table.add({"DELETE", "/v1/sandboxes/{id}", Access::key(Scope::sandboxes), Cost::record,
                   bound(delete_sandbox, parts.services), QueryNames(), Versions::plain});
}

}  // namespace server
