#include "parent/subordinate_ids.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace jail {
namespace {

std::string text_of(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<std::uint32_t> number_in(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Returns the name of the user with this number, or the number itself where no user has it. Reads
// the file without glibc's look-ups, which a static program lacks in part.
std::string name_of(const std::string& number) {
  const std::string users = text_of("/etc/passwd");
  for (const std::string_view line : split(users, '\n')) {
    const auto fields = split(line, ':');
    if (fields.size() > 2 && fields[2] == number) return std::string(fields[0]);
  }
  return number;
}

}  // namespace

IdLine largest_range(std::string_view lines, std::string_view name, std::string_view number) {
  IdLine largest;
  for (const std::string_view line : split(lines, '\n')) {
    const auto fields = split(line, ':');
    if (fields.size() != 3 || (fields[0] != name && fields[0] != number)) continue;
    const auto first = number_in(fields[1]);
    const auto count = number_in(fields[2]);
    if (first && count && *count > largest.count) largest = {*first, *count};
  }
  return largest;
}

std::optional<IdsOfJails> subordinate_ids(std::uint32_t uid) {
  const std::string number = std::to_string(uid);
  const std::string name = name_of(number);
  const IdLine users = largest_range(text_of("/etc/subuid"), name, number);
  const IdLine groups = largest_range(text_of("/etc/subgid"), name, number);
  const std::uint32_t count = std::min(users.count, groups.count);
  if (count == 0) return std::nullopt;
  return IdsOfJails{users.first, groups.first, count};
}

}  // namespace jail
