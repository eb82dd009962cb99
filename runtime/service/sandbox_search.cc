#include "runtime/service/sandbox_search.h"

#include <chrono>
#include <utility>

namespace runtime {
namespace {

constexpr std::chrono::seconds max_time_of_a_search{10};
// Other work with files has its turn in between.
constexpr std::chrono::milliseconds time_of_a_turn{50};

SearchFindings findings_of(const TextSearch& search, const std::string& path, bool is_late) {
  const std::string prefix = path + (path.ends_with('/') ? "" : "/");
  SearchFindings findings{search.matches(), is_late || search.is_cut()};
  for (TextMatch& match : findings.matches) match.path = prefix + match.path;
  return findings;
}

}  // namespace

boost::asio::awaitable<std::variant<SearchFindings, Refusal>> search_files(
    Sandboxes& sandboxes, Caller caller, Sandboxes::Found sandbox, SearchQuery query, Noted noted,
    Cancel cancel) {
  auto open = [files = sandbox->files(), path = query.path] { return files.open_directory(path); };
  auto directory = co_await sandboxes.do_file_work(*sandbox, std::move(open));
  if (!directory) co_return Sandboxes::refusal_of_file(directory.error());
  if (noted == Noted::yes) {
    sandboxes.note_file(caller, *sandbox, SandboxEventKind::file_read, query.path);
  }
  TextSearch search(std::move(*directory), query.text, query.limit);
  const auto deadline = std::chrono::steady_clock::now() + max_time_of_a_search;
  bool is_late = false;
  for (bool has_more = true; has_more && !is_late;) {
    auto run = [search = &search] {
      return search->run(std::chrono::steady_clock::now() + time_of_a_turn);
    };
    const auto ran = co_await sandboxes.do_file_work(*sandbox, std::move(run));
    if (!ran) co_return Sandboxes::refusal_of_file(ran.error());
    has_more = *ran;
    is_late = has_more && (cancel.requested() || std::chrono::steady_clock::now() >= deadline);
  }
  co_return findings_of(search, query.path, is_late);
}

}  // namespace runtime
