// GET /v1/sandboxes/{id}/search: lines of files in a sandbox that lives, in which a text stands.
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "runtime/json/writer.h"
#include "runtime/service/sandbox_search.h"
#include "server/api/query.h"
#include "server/api/refusals.h"
#include "server/api/route_groups.h"
#include "server/api/sandbox_target.h"

namespace server {
namespace {

using boost::asio::awaitable;
using runtime::Refusal;
using runtime::SearchQuery;

constexpr std::uint32_t max_matches = 1000;
constexpr std::size_t max_query_bytes = 1024;

// `query` has the default of its path. A problem where something is wrong.
std::optional<Response> read_search(const Parameters& parameters, SearchQuery& query) {
  if (auto refusal = read_path(parameters, query.path)) return refusal;
  if (const auto limit = parameters.find("limit"); limit != parameters.end()) {
    const auto complaint = read_limit(limit->second, max_matches, query.limit);
    if (complaint) return problem(400, *complaint);
  }
  const auto given = parameters.find("query");
  auto text = given == parameters.end() ? std::string() : form_decoded(given->second);
  const bool is_text = text && !text->empty() && text->size() <= max_query_bytes &&
                       text->find_first_of(std::string_view("\n\0", 2)) == text->npos;
  if (!is_text) return problem(400, "query: expected 1 .. 1024 bytes without line feeds and NULs");
  query.text = std::move(*text);
  return std::nullopt;
}

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
  if (auto refusal = read_search(call.query, query)) co_return std::move(*refusal);
  const auto noted = call.head.method == "GET" ? runtime::Noted::yes : runtime::Noted::no;
  const auto found = co_await runtime::search_files(
      *services.sandboxes, caller_of(call), target.sandbox, std::move(query), noted, call.gone);
  if (const auto* refusal = std::get_if<Refusal>(&found)) co_return response_of(*refusal);
  if (call.gone.requested()) co_return stopping();
  co_return answer_of(std::get<runtime::SearchFindings>(found));
}

}  // namespace

void add_sandbox_search_route(RouteTable& table, const runtime::Services& services) {
  table.add({"GET", "/v1/sandboxes/{id}/search", Access::key, Cost::record,
             for_target<active_sandbox>(services, search), QueryNames{"path", "query", "limit"},
             Route::Versions::plain});
}

}  // namespace server
