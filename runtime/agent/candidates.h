// Several programs for one task, each written under a different hint, and the choice of the best.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/agent/task.h"

namespace runtime::agent {

// A hint that leads each candidate into another direction; the first candidate gets none.
std::string_view bias_of(std::uint32_t candidate) noexcept;

// The temperature of a request: 0 for the first program of all, since the likeliest answer is the
// best first try; higher later, since later programs must differ.
double temperature_of(std::uint32_t attempt, std::uint32_t candidate) noexcept;

// The indices, from `begin` on, of those that were run, the best first: programs that passed come
// first, then those that ended by themselves, ordered by how long they ran.
std::vector<std::size_t> ranked(const std::vector<Attempt>& history, std::size_t begin);

}  // namespace runtime::agent
