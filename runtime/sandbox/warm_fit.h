// Whether a jail that waits is what a request would get if one were made for it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "jail/pool.h"
#include "runtime/sandbox/run_request.h"

namespace runtime {

enum class WarmFit : std::uint8_t {
  lease,   // a jail that waits
  launch,  // a fork made for it, which finds its own arguments and variables
  cold,    // a jail made for it, by execve
};

// `spec` is the pool's: its argv and env are those of a request that brings none of its own. `cpu`
// is the time that the request may use.
WarmFit warm_fit(const jail::TemplateSpec& spec, const RunRequest& request,
                 std::chrono::milliseconds cpu);

// What CPython, the C library or the usual numeric libraries look at once, when they start: set in
// a fork it would come too late.
bool is_read_at_start(std::string_view variable) noexcept;

}  // namespace runtime
