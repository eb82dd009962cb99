#include "runtime/agent/candidates.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace runtime::agent {
namespace {

constexpr std::array<std::string_view, max_candidates> biases = {
    "",
    "Prefer the plainest code that is correct, even if it is slower.",
    "Think of the edge cases first: empty, huge, negative, duplicate, malformed.",
    "Prefer what the standard library has to code of your own.",
    "Prefer the algorithm with the best running time for large inputs.",
    "Take another approach than the first one that comes to your mind.",
    "Build it of small functions, each of which can be seen to be right.",
    "Work from the examples and the exact wording of the task backwards.",
};

}  // namespace

std::string_view bias_of(std::uint32_t candidate) noexcept {
  return biases[candidate % biases.size()];
}

double temperature_of(std::uint32_t attempt, std::uint32_t candidate) noexcept {
  const double later = 0.2 * std::min(attempt - 1, 3u);
  const double other = candidate == 0 ? 0 : 0.2 + 0.1 * std::min(candidate, 6u);
  return std::max(later, other);
}

std::vector<std::size_t> ranked(const std::vector<Attempt>& history, std::size_t begin) {
  std::vector<std::size_t> order;
  for (std::size_t at = begin; at < history.size(); ++at) {
    if (history[at].result) order.push_back(at);
  }
  const auto rank = [&history](std::size_t at) {
    const RunResult& result = *history[at].result;
    return std::tuple(result.status != Status::success, !result.exit_code.has_value(),
                      result.timings.ran);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&rank](std::size_t one, std::size_t other) { return rank(one) < rank(other); });
  return order;
}

}  // namespace runtime::agent
