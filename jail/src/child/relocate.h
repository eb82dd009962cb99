// Relocation of a mapped plan: offsets into the plan become addresses.
#pragma once

#include "child/wire.h"

namespace jail::child {

// `base` is the start of a private, writable mapping of a plan. Must be called exactly once for
// each mapping.
inline void relocate(char* base) {
  const auto* plan = reinterpret_cast<const wire::PlanHeader*>(base);
  const auto* offsets = reinterpret_cast<const std::uint64_t*>(base + plan->relocations_offset);
  for (std::uint32_t i = 0; i < plan->relocations; ++i) {
    *reinterpret_cast<std::uint64_t*>(base + offsets[i]) += reinterpret_cast<std::uint64_t>(base);
  }
}

}  // namespace jail::child
