// What /etc/subuid and /etc/subgid give a user.
#pragma once

#include <optional>
#include <string_view>

#include "plan/plan.h"

namespace jail {

// The largest range that the lines "NAME:FIRST:COUNT" have for a user, by name or by number.
struct IdLine {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};
IdLine largest_range(std::string_view lines, std::string_view name, std::string_view number);

// The range of ids of the user; std::nullopt where one of the files has none.
std::optional<IdsOfJails> subordinate_ids(std::uint32_t uid);

}  // namespace jail
