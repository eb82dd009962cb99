#include "runtime/service/sandbox_event_kind.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>

namespace runtime {
namespace {

// The names are in the order of the enumerators.
constexpr std::array<std::string_view, 22> kind_names = {
    "created",           "changed",        "process_started", "process_ended",
    "file_written",      "file_removed",   "file_moved",      "directory_made",
    "file_read",         "url_signed",     "pause_asked",     "paused",
    "resume_asked",      "resumed",        "delete_asked",    "ended",
    "forgotten",         "egress_allowed", "egress_refused",  "egress_ended",
    "memory_given_back", "restarted"};
static_assert(kind_names.size() == sandbox_event_kinds);

}  // namespace

std::string_view name_of(SandboxEventKind kind) noexcept {
  return kind_names[static_cast<std::size_t>(kind)];
}

std::optional<SandboxEventKind> sandbox_event_kind_named(std::string_view name) noexcept {
  const auto found = std::find(kind_names.begin(), kind_names.end(), name);
  if (found == kind_names.end()) return std::nullopt;
  return static_cast<SandboxEventKind>(std::distance(kind_names.begin(), found));
}

std::string sandbox_event_kind_names() {
  std::string names;
  for (const std::string_view name : kind_names) {
    if (!names.empty()) names += ", ";
    names += name;
  }
  return names;
}

}  // namespace runtime
