#include "server/cli/jobs/job_ids.h"

#include <vector>

#include "runtime/json/members.h"
#include "runtime/observe/uuid.h"
#include "runtime/service/list_queries.h"
#include "server/api/query.h"
#include "server/cli/sandbox/json_text.h"

namespace server::client {
namespace {

namespace json = runtime::json;

jail::Error unreadable() {
  return {jail::ErrorKind::closed, "the server's answer is not what was asked for", 0, {}};
}

bool looks_like_id(std::string_view word) {
  constexpr std::string_view characters = "0123456789abcdef-";
  return !word.empty() && word.find_first_not_of(characters) == word.npos && word.front() != '-';
}

jail::Error has_several(const std::string& word, const std::vector<std::string>& ids) {
  return {jail::ErrorKind::refused,
          "the ids of several jobs begin with " + word + ": " + ids[0] + " and " + ids[1], 0,
          "give more of the id"};
}

}  // namespace

bool may_begin_id(std::string_view word) {
  return word.size() >= fewest_characters && looks_like_id(word) && !runtime::is_uuid(word);
}

jail::Error with_fewest_characters(jail::Error refusal, std::string_view word) {
  if (word.size() < fewest_characters && looks_like_id(word)) {
    refusal.hint = "an id may be cut to its first " + std::to_string(fewest_characters) +
                   " characters, not to fewer";
  }
  return refusal;
}

jail::Result<std::string> whole_job_id(ServerClient& client, const std::string& word) {
  if (!may_begin_id(word)) return word;
  const runtime::Field& page_size = *runtime::find_field(runtime::job_query_fields(), "limit");
  const std::string first = "/jobs?limit=" + json::number_text(page_size.max);
  std::vector<std::string> found;
  std::string cursor;
  do {
    const auto answer =
        client.get(cursor.empty() ? first : first + "&cursor=" + percent_encoded(cursor));
    if (!answer) return answer.error();
    const auto page = json::parse(*answer, "answer");
    const json::Array* const jobs = page ? array_in(*page, "jobs") : nullptr;
    if (jobs == nullptr) return unreadable();
    for (const json::Value& job : *jobs) {
      std::string id = json::text_member(&job, "job_id");
      if (id.starts_with(word)) found.push_back(std::move(id));
    }
    if (found.size() > 1) return has_several(word, found);
    cursor = json::text_member(&*page, "next_cursor");
  } while (!cursor.empty());
  return found.empty() ? word : found.front();
}

}  // namespace server::client
