#include "server/cli/sandbox/sandbox_names.h"

#include <algorithm>
#include <string_view>

#include "runtime/json/members.h"
#include "server/api/query.h"
#include "server/cli/sandbox/json_text.h"

namespace server::client {
namespace {

namespace json = runtime::json;

constexpr std::size_t id_characters = 26;

bool is_of_an_id(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= '2' && letter <= '7');
}

}  // namespace

std::map<std::string, std::string> sandbox_names(ServerClient& client) {
  std::map<std::string, std::string> names;
  for (const std::string_view state : {"running", "paused"}) {
    std::string cursor;
    do {
      std::string path = "/v1/sandboxes?limit=200&state=" + std::string(state);
      if (!cursor.empty()) path += "&cursor=" + percent_encoded(cursor);
      const auto answer = client.get(std::move(path));
      const auto page = answer ? json::parse(*answer, "answer") : answer.error();
      const json::Array* const sandboxes = page ? array_in(*page, "sandboxes") : nullptr;
      if (sandboxes == nullptr || sandboxes->empty()) break;
      for (const json::Value& sandbox : *sandboxes) {
        const std::string name = json::text_member(&sandbox, "name");
        if (!name.empty()) names.emplace(json::text_member(&sandbox, "id"), name);
      }
      cursor = json::text_member(&*page, "next_cursor");
    } while (!cursor.empty());
  }
  return names;
}

std::string with_sandbox_name(ServerClient& client, std::string text) {
  constexpr std::string_view word = "sandbox ";
  const std::size_t at = text.find(word);
  if (at == text.npos) return text;
  const auto from = text.begin() + static_cast<std::ptrdiff_t>(at + word.size());
  const std::string id(from, std::find_if_not(from, text.end(), is_of_an_id));
  if (id.size() != id_characters) return text;
  const auto answer = client.get(sandbox_path(id));
  const auto sandbox = answer ? json::parse(*answer, "answer") : answer.error();
  const std::string name = sandbox ? json::text_member(&*sandbox, "name") : std::string();
  return name.empty() ? text : text.replace(at + word.size(), id.size(), name);
}

}  // namespace server::client
