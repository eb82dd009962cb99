// The request for a sandbox in the units of this interface: minutes, millicores, "128Mi".
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/service/request_rules.h"
#include "runtime/service/sandbox_requests.h"
#include "server/http/message.h"

namespace server::kubernetes_style {

struct CreateRequest {
  runtime::SandboxRequest sandbox;
  std::uint64_t cpu_millicores = 0;        // the request; 0: none is given
  std::uint64_t cpu_limit_millicores = 0;  // the limit; 0: none is given
  std::uint64_t memory_bytes = 0;          // 0: none is given
  std::optional<std::int64_t> timeout;     // in units of is_later
  std::optional<std::int64_t> idle_timeout;
  // Whether it has a field that only later clients of this interface send: they count in seconds,
  // where earlier ones count in minutes.
  bool is_later = false;
};

std::span<const runtime::RequestField<CreateRequest>> create_fields() noexcept;

// Reads a body of either kind. A member that is null, "", 0, [] or {} counts as left out: clients
// that serialize a structure send all of its members. `cores` is how much of the processor every
// sandbox has.
std::variant<runtime::SandboxRequest, Response> decode_create(std::string_view body,
                                                              const runtime::RequestRules& rules,
                                                              double cores);

// The name of metadata under which the caller's word about a sandbox is kept.
inline constexpr std::string_view app_metadata = "app";

}  // namespace server::kubernetes_style
