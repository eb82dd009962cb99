// GET /v1/sandboxes/{id}/search: lines that contain a text, in files of a living sandbox.
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "runtime/json/writer.h"
#include "runtime/service/sandbox_queries.h"
#include "runtime/service/sandbox_search.h"
#include "server/api/query.h"
#include "server/api/route_groups.h"
#include "server/api/sandbox_target.h"

namespace server {
namespace {

using boost::asio::awaitable;
using runtime::Refusal;
using runtime::SearchQuery;

Response answer_of(const runtime::SearchFindings& findings) {
  runtime::json::Writer writer;
  writer.begin_object().key("matches").begin_array();
  for (const runtime::TextMatch& match : findings.matches) {
    writer.begin_object().key("path").string(match.path);
    writer.key("line").integer(static_cast<std::int64_t>(match.line));
    writer.key("text").string(match.text).end_object();
  }
  writer.end_array().key("truncated").boolean(findings.is_cut).end_object();
  return json_answer(std::move(writer));
}

awaitable<Response> search(runtime::Services services, SandboxTarget target, Call call) {
  SearchQuery query{.path = target.sandbox->request().working_directory, .text = {}};
  if (auto refusal = read_query(call.query, runtime::search_query_fields(), query)) {
    co_return std::move(*refusal);
  }
  const auto noted = call.head.method == "GET" ? runtime::Noted::yes : runtime::Noted::no;
  const auto found = co_await runtime::search_files(
      *services.sandboxes, caller_of(call), target.sandbox, std::move(query), noted, call.gone);
  if (const auto* refusal = std::get_if<Refusal>(&found)) co_return problem(*refusal);
  if (call.gone.requested()) co_return stopping();
  co_return answer_of(std::get<runtime::SearchFindings>(found));
}

}  // namespace

void add_sandbox_search_route(const RouteParts& parts) {
  parts.table.add({"GET", "/v1/sandboxes/{id}/search", Access::key(Scope::read), Cost::record,
                   for_target<active_sandbox>(parts.services, search),
                   runtime::names_of(runtime::search_query_fields()), Route::Versions::plain});
}

}  // namespace server
