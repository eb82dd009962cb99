#include "server/cli/exit_codes.h"

#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "server/cli/plain_text.h"

namespace server {

int signal_number(std::string_view name) noexcept {
  constexpr std::string_view prefix = "SIG";
  constexpr std::string_view realtime = "SIGRTMIN+";
  if (name.starts_with(realtime)) {
    const std::string_view digits = name.substr(realtime.size());
    int offset = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), offset);
    const bool known = error == std::errc() && end == digits.data() + digits.size() &&
                       offset >= 0 && SIGRTMIN + offset <= SIGRTMAX;
    return known ? SIGRTMIN + offset : 0;
  }
  if (!name.starts_with(prefix)) return 0;
  for (int number = 1; number < NSIG; ++number) {
    const char* abbreviation = ::sigabbrev_np(number);
    if (abbreviation != nullptr && name.substr(prefix.size()) == abbreviation) return number;
  }
  return 0;
}

int exit_code_of(const runtime::RunResult& result) noexcept {
  switch (result.status) {
    case runtime::Status::success:
    case runtime::Status::error:
      return result.exit_code.value_or(exit_own_failure);
    case runtime::Status::timeout:
      return exit_timeout;
    case runtime::Status::out_of_memory:
      return exit_out_of_memory;
    case runtime::Status::killed:
      return exit_signal_base + signal_number(result.signal.value_or("SIGKILL"));
    case runtime::Status::violation:
      return exit_signal_base + SIGSYS;
    case runtime::Status::cancelled:
      return exit_signal_base + SIGTERM;  // somebody else cancelled its job
  }
  return exit_own_failure;
}

int fail(int exit_code, const std::string& text) {
  std::fprintf(stderr, "agent-sandbox: %s\n", plain_text(text).c_str());
  return exit_code;
}

int fail_to_start(const std::string& text) {
  return fail(text.starts_with("--") ? exit_usage : exit_own_failure, text);
}

}  // namespace server
