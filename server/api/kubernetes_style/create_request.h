// The request for a sandbox in the units of this interface: minutes, millicores, "128Mi".
#pragma once

#include <cstdint>
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
};

std::span<const runtime::RequestField<CreateRequest>> create_fields() noexcept;

// Reads a body. A member that is null, "", 0, [] or {} counts as left out: clients that serialize a
// structure send all of its members. `cores` is how much of the processor every sandbox has.
std::variant<runtime::SandboxRequest, Response> decode_create(std::string_view body,
                                                              const runtime::RequestRules& rules,
                                                              double cores);

// The names of metadata under which the caller's labels of a sandbox are kept.
inline constexpr std::string_view app_metadata = "app";
inline constexpr std::string_view ports_metadata = "ports";

}  // namespace server::kubernetes_style
