#include "server/cli/sandbox/refused_process.h"

#include <algorithm>
#include <set>
#include <span>

#include "runtime/json/members.h"
#include "runtime/json/reader.h"
#include "server/cli/exit_codes.h"
#include "server/cli/sandbox/json_text.h"

namespace server::client {
namespace {

namespace json = runtime::json;

constexpr std::size_t tail_bytes = 4096;

struct RefusedLimit {
  std::string_view words;
  std::string_view limit;
  std::string_view before;
  std::string_view after;
};

constexpr std::string_view refused_process =
    "the command seems to have been refused a process or thread: the sandbox may have ";
constexpr std::string_view more_processes = " at once; sandbox resize --processes gives more";
constexpr std::string_view refused_space =
    "the command seems to have been refused space: what the sandbox may have on a disk is ";
constexpr std::string_view more_space = " MB; sandbox resize --disk gives more";

constexpr std::string_view not_allowed =
    "the sandbox may not reach it; sandbox change --allow names what it may";
constexpr std::string_view no_network =
    "network: the sandbox reaches nothing; sandbox change --allow HOST:PORT lets it";

constexpr RefusedLimit refused_limits[] = {
    {"Resource temporarily unavailable", "processes", refused_process, more_processes},
    {"can't start new thread", "processes", refused_process, more_processes},
    {"No space left on device", "disk_mb", refused_space, more_space},
    {"File size limit exceeded", "disk_mb", refused_space, more_space},
    {"File too large", "disk_mb", refused_space, more_space}};

// What programs say when the proxy answers 403, and when no name is found because there is no
// network.
constexpr std::string_view refused_words[] = {"403", "Forbidden"};
constexpr std::string_view unreachable_words[] = {"Could not resolve",
                                                  "Name or service not known",
                                                  "Temporary failure in name resolution",
                                                  "Network is unreachable",
                                                  "EAI_AGAIN",
                                                  "ENOTFOUND"};

bool has_any(std::string_view text, std::span<const std::string_view> words) {
  return std::ranges::any_of(words,
                             [&](std::string_view word) { return text.find(word) != text.npos; });
}

// The server tells the first refusal of a destination and counts the next ones, so the latest one
// that it told is said where none came since the process began.
void tell_refused_connections(ServerClient& client, const std::string& id,
                              std::string_view started_at) {
  const auto answer = client.get(sandbox_path(id) + "/events?kind=egress_refused&limit=20");
  const auto page = answer ? json::parse(*answer, "answer") : answer.error();
  const json::Array* const events = page ? array_in(*page, "events") : nullptr;
  if (events == nullptr) return;
  std::set<std::string> told;
  for (const json::Value& event : *events) {
    if (!told.empty() && json::text_member(&event, "at") < started_at) break;
    const json::Value* const detail = json::member(event, "detail");
    if (detail == nullptr) continue;
    const std::string destination = shown(*detail, "destination");
    if (!told.insert(destination).second) continue;
    const std::string reason = shown(*detail, "reason");
    server::fail(
        0, "network: " + destination + ": " +
               std::string(reason == "no rule names it" ? not_allowed : std::string_view(reason)));
  }
}

void tell_limit(const RefusedLimit& row, const json::Value& sandbox) {
  const json::Value* const limits = json::member(sandbox, "limits");
  if (limits == nullptr) return;
  server::fail(0, std::string(row.before) + shown(*limits, row.limit) + std::string(row.after));
}

}  // namespace

void Tail::add(std::string_view bytes) {
  text_ += bytes.substr(bytes.size() - std::min(bytes.size(), tail_bytes));
  if (text_.size() > tail_bytes) text_.erase(0, text_.size() - tail_bytes);
}

void tell_refused(ServerClient& client, const std::string& id, const json::Value& process,
                  std::string_view error_tail) {
  const RefusedLimit* const row = std::ranges::find_if(
      refused_limits,
      [&](const RefusedLimit& each) { return error_tail.find(each.words) != error_tail.npos; });
  const bool has_limit = row != std::end(refused_limits);
  if (!has_limit && has_any(error_tail, refused_words)) {
    return tell_refused_connections(client, id, json::text_member(&process, "started_at"));
  }
  if (!has_limit && !has_any(error_tail, unreachable_words)) return;
  const auto answer = client.get(sandbox_path(id));
  const auto sandbox = answer ? json::parse(*answer, "answer") : answer.error();
  if (!sandbox) return;
  if (has_limit) return tell_limit(*row, *sandbox);
  if (json::text_member(&*sandbox, "network") == "none") server::fail(0, std::string(no_network));
}

}  // namespace server::client
