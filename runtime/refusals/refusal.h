// The reason why a request is not carried out.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/json/writer.h"
#include "runtime/refusals/refusal_code.h"

namespace runtime {

struct Refusal {
  RefusalCode code = RefusalCode::internal_server_error;
  std::string detail;  // for the caller; names the field, and says nothing about the host
  // Set where a bound is met: the bound and the amount in use, in the unit that the detail names.
  std::optional<double> limit = std::nullopt;
  std::optional<double> used = std::nullopt;
  std::string_view remedy{};  // for this refusal; empty: that of the code
};

// What the caller can do; empty: nothing, or the detail says it.
std::string_view remedy_of(const Refusal& refusal) noexcept;

// Writes members into the object that was begun: detail and code, and where they are set limit,
// used and remedy.
void write_refusal(json::Writer& writer, const Refusal& refusal);

}  // namespace runtime
