// Why an operation was not done, though nothing is wrong with what was asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace runtime {

struct Refusal {
  enum class Reason : std::uint8_t {
    busy,             // too many programs run or wait
    caller_limit,     // too many of this caller's
    host_exhausted,   // the host has no processes, descriptors or memory for a jail
    too_slow,         // the host did not start it in time
    failed,           // a failure of ours; the log has the reason
    invalid,          // what was asked for cannot be, and the detail names the field
    no_provider,      // no model is configured that could do it, or not the one that is named
    not_found,        // there is no such thing, or it is somebody else's
    conflict,         // not as things stand
    forbidden,        // nobody may, or not with this key
    disk_full,        // the disk limit of a sandbox is met
    bad_gateway,      // a server in a sandbox cannot be reached, or breaks the rules
    gateway_timeout,  // one does not answer in time
  };

  Reason reason = Reason::failed;
  std::string detail;  // for the caller; says nothing about the host
  std::optional<std::int64_t> limit = std::nullopt;
  std::optional<std::int64_t> used = std::nullopt;
  std::string_view remedy{};  // empty: the detail says it
  std::string_view code{};    // what exactly it was; empty: name_of(reason)
};

// "caller_limit"
std::string_view name_of(Refusal::Reason reason) noexcept;

}  // namespace runtime
