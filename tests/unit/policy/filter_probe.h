// Asks a compiled policy for its answer to a call, without making the call.
#pragma once

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/seccomp.h>

#include <array>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>

#include "jail/policy.h"
#include "policy/bpf_evaluator.h"

namespace jail::test {

#if defined(__x86_64__)
inline constexpr std::uint32_t native_arch = AUDIT_ARCH_X86_64;
#else
inline constexpr std::uint32_t native_arch = AUDIT_ARCH_AARCH64;
#endif

inline constexpr Decision allow{Verdict::allow, 0};

inline constexpr std::uint32_t allowed = SECCOMP_RET_ALLOW;
inline constexpr std::uint32_t killed = SECCOMP_RET_KILL_PROCESS;
constexpr std::uint32_t fails_with(int error_number) {
  return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error_number);
}

using Arguments = std::array<std::uint64_t, 6>;

class FilterProbe {
 public:
  explicit FilterProbe(const Policy& policy)
      : filter_(required(compile_policy(policy))),
        evaluator_(required(BpfEvaluator::load(filter_))) {}

  Evaluation evaluate(std::uint32_t arch, std::uint32_t number, const Arguments& arguments) const {
    seccomp_data call{};
    call.nr = static_cast<int>(number);
    call.arch = arch;
    call.instruction_pointer = 0x7fff12345678;
    for (std::size_t i = 0; i < arguments.size(); ++i) call.args[i] = arguments[i];
    return evaluator_.run(call);
  }

  std::uint32_t ask(long number, const Arguments& arguments = {}) const {
    return evaluate(native_arch, static_cast<std::uint32_t>(number), arguments).action;
  }

  const FilterProgram& filter() const { return filter_; }

 private:
  // Without a filter there is nothing to test, so the test ends.
  template <class T>
  static T required(Result<T> result) {
    if (!result) throw std::runtime_error(result.error().message());
    return std::move(*result);
  }

  FilterProgram filter_;
  BpfEvaluator evaluator_;
};

// The sequence is the same in every run, so that a failure can be repeated.
using Random = std::mt19937_64;

// The kernel ignores the upper half of an int argument, and a filter must do so, too.
inline Arguments with_garbage_above(Arguments arguments, Random& random) {
  for (std::uint64_t& argument : arguments) {
    argument = (argument & 0xffffffff) | (random() << 32);
  }
  return arguments;
}

}  // namespace jail::test
