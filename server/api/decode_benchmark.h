// The body of POST /benchmark.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "server/api/decode_execute.h"
#include "server/http/message.h"

namespace server {

inline constexpr std::uint32_t most_problems = 1000;

struct BenchmarkRequest {
  std::string suite = "quick";
  std::optional<std::uint32_t> max_problems;  // nothing: all of the suite
  std::uint32_t max_attempts = 3;
  std::string provider;
  std::string model;
};

// The Response is 400 for a bad field, and 424 where there is no provider for it.
std::variant<BenchmarkRequest, Response> decode_benchmark(std::string_view body,
                                                          const runtime::RequestRules& rules);

}  // namespace server
