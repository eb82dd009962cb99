// What the program's exit status says, as shells and timeout(1) use these numbers.
#pragma once

#include <string>
#include <string_view>

#include "runtime/sandbox/run_result.h"

namespace server {

inline constexpr int exit_not_solved = 1;
inline constexpr int exit_refused = 1;  // a server said no
inline constexpr int exit_usage = 2;
inline constexpr int exit_timeout = 124;
inline constexpr int exit_own_failure = 125;
inline constexpr int exit_out_of_memory = 137;
inline constexpr int exit_signal_base = 128;

// The status that `exec` ends with after a run that nobody cancelled.
int exit_code_of(const runtime::RunResult& result) noexcept;

// The number of a signal by its name, "SIGSEGV" or "SIGRTMIN+1"; 0 for none.
int signal_number(std::string_view name) noexcept;

// Prints "agent-sandbox: TEXT" to standard error and returns `exit_code`. The text may have bytes
// of damaged files in it: plain_text() goes over it.
int fail(int exit_code, const std::string& text);

// The same for why nothing was started: exit_usage where the text begins with an option, since the
// command line says or names what cannot be used then, else exit_own_failure.
int fail_to_start(const std::string& text);

}  // namespace server
