#include "server/http/file_conditions.h"

#include <algorithm>

namespace server {
namespace {

std::optional<std::string> text_of(const RequestHead& head, std::string_view name) {
  const auto value = head.header(name);
  if (!value) return std::nullopt;
  return std::string(*value);
}

std::string_view without_blanks(std::string_view text) {
  const std::size_t first = std::min(text.find_first_not_of(" \t"), text.size());
  text.remove_prefix(first);
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

enum class Weak : std::uint8_t { differ, are_the_same };

// Whether the value of If-Match or If-None-Match names the version. No version of ours has a comma
// in its ETag, and none is weak.
bool names(std::string_view list, const std::string& etag, Weak weak) {
  if (without_blanks(list) == "*") return true;
  while (!list.empty()) {
    std::string_view one = list.substr(0, list.find(','));
    list.remove_prefix(std::min(one.size() + 1, list.size()));
    one = without_blanks(one);
    if (weak == Weak::are_the_same && one.starts_with("W/")) one.remove_prefix(2);
    if (one == etag) return true;
  }
  return false;
}

}  // namespace

std::string etag_of(const struct stat& status) {
  return "\"" + std::to_string(status.st_ino) + "-" + std::to_string(status.st_size) + "-" +
         std::to_string(status.st_mtim.tv_sec) + "." + std::to_string(status.st_mtim.tv_nsec) +
         "\"";
}

FileConditions::FileConditions(const RequestHead& head)
    : match_(text_of(head, "If-Match")), none_match_(text_of(head, "If-None-Match")) {}

FileConditions::Verdict FileConditions::judge(const std::optional<std::string>& etag,
                                              Use use) const {
  if (match_ && (!etag || !names(*match_, *etag, Weak::differ))) return Verdict::failed;
  if (none_match_ && etag && names(*none_match_, *etag, Weak::are_the_same)) {
    return use == Use::read ? Verdict::not_modified : Verdict::failed;
  }
  return Verdict::met;
}

Response FileConditions::refusal(const std::optional<std::string>& etag) {
  const std::string detail =
      etag ? "the file has another version than If-Match or If-None-Match wants; its ETag is " +
                 *etag
           : "If-Match: there is no such file";
  return problem(RefusalCode::precondition_failed, detail);
}

}  // namespace server
