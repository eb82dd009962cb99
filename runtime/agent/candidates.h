// Several programs for one task, each led another way, and which of them is the best.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/agent/task.h"

namespace runtime::agent {

// A hint that leads each candidate another way; the first one gets none.
std::string_view bias_of(std::uint32_t candidate) noexcept;

// 0 for the first program of all: the likeliest answer is the best first try. Later ones must
// differ.
double temperature_of(std::uint32_t attempt, std::uint32_t candidate) noexcept;

// The indices from `begin` on of those that were run, the best first: that passed, that ended by
// themselves, by how long they ran.
std::vector<std::size_t> ranked(const std::vector<Attempt>& history, std::size_t begin);

}  // namespace runtime::agent
