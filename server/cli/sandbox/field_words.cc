#include "server/cli/sandbox/field_words.h"

#include <charconv>
#include <span>
#include <string_view>
#include <utility>

#include "server/cli/option_words.h"

namespace server::client {
namespace {

using Word = std::pair<std::string_view, std::string_view>;

// Fields of sandboxes and of lists. Those of programs are known to option_words.h.
constexpr Word fields[] = {{"copy_of: ", ""},
                           {"disk_kind: ", "--disk-kind: "},
                           {"events: ", "--event: "},
                           {"idle_seconds: ", "--idle: "},
                           {"limit: ", "--limit: "},
                           {"limits: cpu: ", "--cpu: "},
                           {"limits: disk_mb: ", "--disk: "},
                           {"limits: memory_mb: ", "--memory: "},
                           {"limits: processes: ", "--processes: "},
                           {"metadata: ", "--metadata: "},
                           {"name: ", "--name: "},
                           {"network: secrets", "--secret"},
                           {"on_timeout: ", "--on-timeout: "},
                           {"previous_seconds: ", "--previous: "},
                           {"size_mb: ", "--size: "},
                           {"state: ", "--state: "},
                           {"status: ", "--status: "},
                           {"tail: ", "--tail: "},
                           {"url: ", "--url: "},
                           {"working_directory: ", "--workdir: "}};

constexpr Word phrases[] = {
    {"a larger size_mb makes room for more",
     "`agent-sandbox volume change --size` makes room for more"},
    {"auto_resume is false", "was created with --no-auto-resume; sandbox resume lets it go on"},
    {"disk_kind: directory", "--disk-kind directory"},
    {"recursive=true removes", "-r removes"}};

// The longer name stands before the one that it contains.
constexpr Word limits[] = {{"limits.memory_mb", "--memory of sandbox create"},
                           {"limits.disk_mb", "--disk of sandbox create"},
                           {"memory_limit_mb", "--memory"},
                           {"idle_seconds", "--idle"},
                           {"timeout_seconds", "--timeout"}};

// Replaces the first of `words` that is in `text`.
std::string with_first(std::string text, std::span<const Word> words) {
  for (const auto& [from, to] : words) {
    const std::size_t at = text.find(from);
    if (at != text.npos) return text.replace(at, from.size(), to);
  }
  return text;
}

// The text without the place that a rule or a secret has in its list, "allow[0]: " or "[0]: ": an
// option has no place, and the text says which one is meant.
std::string without_place(std::string text, std::string_view before) {
  const std::size_t from = text.find(before);
  const std::size_t to = text.find("]: ");
  if (from == text.npos || to == text.npos || to < from) return text;
  const bool is_number = text.find_first_not_of("0123456789", from + before.size()) == to;
  return is_number ? text.erase(from, to + 3 - from) : text;
}

std::string of_a_sandbox(const std::string& detail) {
  for (const auto& [field, option] : fields) {
    if (!detail.starts_with(field)) continue;
    std::string text = std::string(option) + detail.substr(field.size());
    if (option == "--secret") return "--secret: " + without_place(text.substr(8), "[");
    constexpr std::string_view verb = ": expected ";
    const std::size_t at = text.find(verb);
    return at == text.npos ? text : text.replace(at, verb.size(), ": the server expects ");
  }
  return in_options_for_server(detail);
}

}  // namespace

std::string refusal_in_options(const std::string& detail) {
  const std::string text = with_first(of_a_sandbox(detail), phrases);
  return text.starts_with("--allow: ") ? without_place(text, "allow[") : text;
}

std::string refusal_in_options(std::string text, const std::vector<runtime::VolumeMount>& volumes) {
  constexpr std::string_view field = "volumes: [";
  constexpr std::string_view end = "]: ";
  if (!text.starts_with(field)) return text;
  std::size_t index = 0;
  const char* const last = text.data() + text.size();
  const auto [after, error] = std::from_chars(text.data() + field.size(), last, index);
  if (error != std::errc() || index >= volumes.size()) return text;
  if (!std::string_view(after, last).starts_with(end)) return text;
  std::string why(after + end.size(), last);
  for (const std::string_view member : {"volume: ", "path: "}) {
    if (why.starts_with(member)) why.erase(0, member.size());
  }
  const runtime::VolumeMount& mount = volumes[index];
  return "--volume " + mount.volume + ":" + mount.path + (mount.is_read_only ? ":ro" : "") + ": " +
         why;
}

std::string refusal_of_a_volume(std::string text, const std::string& name) {
  constexpr std::string_view option = "--name: ";
  if (text == "no such volume") return text + ": " + name;
  return text.starts_with(option) ? "NAME: " + text.substr(option.size()) : text;
}

std::string refusal_of_a_webhook(std::string text, const std::string& id) {
  constexpr std::string_view option = "--url: ";
  if (text == "no such webhook") return text + ": " + id;
  return id.empty() && text.starts_with(option) ? "URL: " + text.substr(option.size()) : text;
}

std::string remedy_in_options(std::string remedy) { return with_first(std::move(remedy), limits); }

}  // namespace server::client
