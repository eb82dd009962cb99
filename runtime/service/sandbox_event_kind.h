// The kinds of sandboxes' events, and the names that callers see.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace runtime {

enum class SandboxEventKind : std::uint8_t {
  created,
  changed,
  process_started,
  process_ended,
  file_written,
  file_removed,
  file_moved,
  directory_made,
  file_read,
  url_signed,
  pause_asked,
  paused,
  resume_asked,
  resumed,
  delete_asked,
  ended,
  forgotten,
  egress_allowed,
  egress_refused,
  egress_ended,
  memory_given_back,
  restarted,
};

inline constexpr std::size_t sandbox_event_kinds =
    static_cast<std::size_t>(SandboxEventKind::restarted) + 1;

// Returns a stable name: "process_started".
std::string_view name_of(SandboxEventKind kind) noexcept;
// Returns std::nullopt where no kind has that name.
std::optional<SandboxEventKind> sandbox_event_kind_named(std::string_view name) noexcept;
// All names, separated by ", ".
std::string sandbox_event_kind_names();

}  // namespace runtime
