// The architecture, then the call's number, then its arguments.
#include "policy/policy_program.h"

#include <linux/audit.h>
#include <linux/seccomp.h>

#include <bit>
#include <cstddef>
#include <string>

#include "policy/argument_rules.h"
#include "policy/call_rules.h"
#include "policy/filter_writer.h"

namespace jail {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t native_arch = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t native_arch = AUDIT_ARCH_AARCH64;
#else
#error "the system call policy knows x86_64 and aarch64 only"
#endif

constexpr Word arch_word{.offset = offsetof(seccomp_data, arch), .mask = 0xffffffff};
constexpr Word number_word{.offset = offsetof(seccomp_data, nr), .mask = 0xffffffff};

std::vector<sock_filter> write_program(const Policy& policy, const CallTable& calls) {
  FilterWriter writer;
  const Step kill = writer.answer(SECCOMP_RET_KILL_PROCESS);
  const Step otherwise = writer.answer(seccomp_action(policy.otherwise));
  std::vector<Range> numbers = {{.first = 0, .next = otherwise}};
  for (const auto& [number, call] : calls) {
    const auto at = static_cast<std::uint32_t>(number);
    if (numbers.back().first == at) numbers.pop_back();
    numbers.push_back(
        {.first = at, .next = write_argument_rules(call, call.otherwise(policy), writer)});
    numbers.push_back({.first = at + 1, .next = otherwise});
  }
#if defined(__x86_64__)
  // The numbers of x32 kill the process. -1 is none of them: a tracer writes it to skip a call.
  numbers.push_back({.first = 0x40000000, .next = kill});
  numbers.push_back({.first = 0xffffffff, .next = otherwise});
#endif
  const Step by_number = writer.choose(number_word, numbers);
  return writer.finish(writer.choose(arch_word, {{.first = 0, .next = kill},
                                                 {.first = native_arch, .next = by_number},
                                                 {.first = native_arch + 1, .next = kill}}));
}

}  // namespace

Result<std::vector<std::uint64_t>> program_of(const Policy& policy) {
  const auto calls = sort_rules(policy);
  if (!calls) return calls.error();
  const std::vector<sock_filter> program = write_program(policy, *calls);
  if (program.size() > BPF_MAXINSNS) {
    return Error{ErrorKind::invalid,
                 "policy \"" + policy.name + "\": " + std::to_string(program.size()) +
                     " instructions, the kernel takes 4096",
                 0,
                 {}};
  }
  std::vector<std::uint64_t> instructions;
  instructions.reserve(program.size());
  for (const sock_filter& instruction : program) {
    instructions.push_back(std::bit_cast<std::uint64_t>(instruction));
  }
  return instructions;
}

}  // namespace jail
