// GET /v1/sandboxes/{id}/search: lines of files in a sandbox that lives, in which a text stands.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "runtime/json/writer.h"
#include "runtime/living/text_search.h"
#include "runtime/service/sandbox_json.h"
#include "server/api/query.h"
#include "server/api/refusals.h"
#include "server/api/route_groups.h"
#include "server/api/sandbox_target.h"

namespace server {
namespace {

using boost::asio::awaitable;
using runtime::Sandboxes;
using runtime::TextSearch;

constexpr std::uint32_t max_matches = 1000;
constexpr std::size_t max_query_bytes = 1024;
constexpr std::chrono::seconds most_time_of_a_search{10};
// Others have their turn with files in between.
constexpr std::chrono::milliseconds time_of_a_turn{50};

struct SearchQuery {
  std::string path;
  std::string text;
  std::uint32_t limit = 100;
};

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

Response answer_of(const TextSearch& search, const std::string& path, bool is_late) {
  runtime::json::Writer writer;
  writer.begin_object().key("matches").begin_array();
  for (const runtime::TextMatch& match : search.matches()) {
    writer.begin_object();
    writer.key("path").string(path + (path.ends_with('/') ? "" : "/") + match.path);
    writer.key("line").integer(static_cast<std::int64_t>(match.line));
    writer.key("text").string(match.text).end_object();
  }
  writer.end_array().key("truncated").boolean(is_late || search.is_cut()).end_object();
  return json_answer(std::move(writer));
}

awaitable<Response> search_files(runtime::Services services, SandboxTarget target, Call call) {
  SearchQuery query{.path = target.sandbox->request().working_directory, .text = {}};
  if (auto refusal = read_search(call.query, query)) co_return std::move(*refusal);
  Sandboxes& sandboxes = *services.sandboxes;
  auto open = [files = target.sandbox->files(), path = query.path] {
    return files.open_directory(path);
  };
  auto directory = co_await sandboxes.do_file_work(*target.sandbox, std::move(open));
  if (!directory) co_return response_of(Sandboxes::refusal_of_file(directory.error()));
  if (call.head.method == "GET") {
    sandboxes.note_file(caller_of(call), *target.sandbox, runtime::SandboxEventKind::file_read,
                        query.path);
  }
  TextSearch search(std::move(*directory), query.text, query.limit);
  const auto deadline = std::chrono::steady_clock::now() + most_time_of_a_search;
  bool is_late = false;
  for (bool has_more = true; has_more && !is_late;) {
    auto run = [search = &search] {
      return search->run(std::chrono::steady_clock::now() + time_of_a_turn);
    };
    const auto ran = co_await sandboxes.do_file_work(*target.sandbox, std::move(run));
    if (!ran) co_return response_of(Sandboxes::refusal_of_file(ran.error()));
    if (call.gone.requested()) co_return stopping();
    has_more = *ran;
    is_late = has_more && std::chrono::steady_clock::now() >= deadline;
  }
  co_return answer_of(search, query.path, is_late);
}

}  // namespace

void add_sandbox_search_route(RouteTable& table, const runtime::Services& services) {
  table.add({"GET", "/v1/sandboxes/{id}/search", Access::key, Cost::record,
             for_target<active_sandbox>(services, search_files),
             QueryNames{"path", "query", "limit"}, Route::Versions::plain});
}

}  // namespace server
