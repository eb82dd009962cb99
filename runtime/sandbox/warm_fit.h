// Decides whether a waiting jail equals the one that would be made for a request.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jail/pool.h"
#include "runtime/sandbox/run_request.h"

namespace runtime {

enum class WarmFit : std::uint8_t {
  lease,   // a jail that waits
  launch,  // a fork made for the request, with its own arguments and variables
  cold,    // a jail made for the request, by execve
};

// `spec` is the pool's: its argv and env are those of a request without any of its own. `cpu` is
// the processor time that the request may use.
WarmFit warm_fit(const jail::TemplateSpec& spec, const RunRequest& request,
                 std::chrono::milliseconds cpu);

// Returns whether a fork of an interpreter that was started with the variables `at_start` may have
// `wanted` in their place. With `has_imports` it has imported modules.
bool may_have_variables(const std::vector<std::string>& at_start, bool has_imports,
                        const std::vector<std::string>& wanted);

// Returns whether CPython, the C library or the usual numeric libraries read the variable once,
// when they start: set in a fork it would come too late.
bool is_read_at_start(std::string_view variable) noexcept;

// Returns the directory below which a Python that starts with these variables looks for packages
// and hooks of its user, where that is among the files of a sandbox. Empty: it is elsewhere, or
// nowhere.
std::string user_packages_of(const std::vector<std::string>& env);

}  // namespace runtime
