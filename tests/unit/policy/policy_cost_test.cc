// The cost of the filter. The kernel answers plain calls from a bitmap that it makes by running the
// program once for each number, so these counts are what remains: calls with argument rules, and
// everything on kernels or architectures without that bitmap.
#include <linux/filter.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <bit>
#include <cstddef>
#include <iostream>
#include <map>

#include "filter_probe.h"
#include "policy/syscall_numbers.h"

namespace jail::test {
namespace {

TEST(PolicyCost, TheProgramFitsTheKernel) {
  const FilterProbe probe(default_policy());
  const std::size_t size = probe.filter().instructions.size();
  std::cout << "default policy: " << default_policy().rules.size() << " rules, " << size << " of "
            << BPF_MAXINSNS << " instructions\n";
  RecordProperty("instructions", static_cast<int>(size));
  EXPECT_LE(size, 300u);
}

// Returns whether the kernel's bitmap has the call: whether the program comes to "allow" by the
// number and the architecture alone, in the instructions that the kernel follows for that
// (seccomp_is_const_allow() in kernel/seccomp.c).
bool is_in_bitmap(const FilterProgram& filter, std::uint32_t number) {
  std::uint32_t accumulator = 0;
  for (auto at = filter.instructions.begin();; ++at) {
    const auto instruction = std::bit_cast<sock_filter>(*at);
    bool holds = false;
    switch (instruction.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        if (instruction.k != offsetof(seccomp_data, nr) &&
            instruction.k != offsetof(seccomp_data, arch)) {
          return false;
        }
        accumulator = instruction.k == offsetof(seccomp_data, nr) ? number : native_arch;
        continue;
      case BPF_RET | BPF_K:
        return instruction.k == SECCOMP_RET_ALLOW;
      case BPF_JMP | BPF_JA:
        at += instruction.k;
        continue;
      case BPF_ALU | BPF_AND | BPF_K:
        accumulator &= instruction.k;
        continue;
      case BPF_JMP | BPF_JEQ | BPF_K:
        holds = accumulator == instruction.k;
        break;
      case BPF_JMP | BPF_JGE | BPF_K:
        holds = accumulator >= instruction.k;
        break;
      case BPF_JMP | BPF_JGT | BPF_K:
        holds = accumulator > instruction.k;
        break;
      case BPF_JMP | BPF_JSET | BPF_K:
        holds = (accumulator & instruction.k) != 0;
        break;
      default:
        return false;
    }
    at += holds ? instruction.jt : instruction.jf;
  }
}

TEST(PolicyCost, TheKernelAnswersPlainCallsWithoutTheFilter) {
  std::map<std::string, bool> is_plain;
  for (const Rule& rule : default_policy().rules) {
    const bool plain = rule.tests.empty() && rule.decision == allow;
    const auto [known, is_new] = is_plain.try_emplace(rule.syscall, plain);
    if (!is_new) known->second = false;
  }
  const FilterProbe probe(default_policy());
  int plain_calls = 0;
  for (const auto& [name, plain] : is_plain) {
    const int number = syscall_number(name).value_or(-1);
    if (number < 0) continue;  // a call of other architectures only
    EXPECT_EQ(is_in_bitmap(probe.filter(), static_cast<std::uint32_t>(number)), plain) << name;
    plain_calls += plain ? 1 : 0;
  }
  EXPECT_GT(plain_calls, 150);
}

TEST(PolicyCost, CommonCallsTakeFewInstructions) {
  const FilterProbe probe(default_policy());
  const std::pair<const char*, std::pair<long, Arguments>> calls[] = {
      {"read", {SYS_read, {}}},
      {"write", {SYS_write, {}}},
      {"futex", {SYS_futex, {}}},
      {"openat", {SYS_openat, {}}},
      {"mmap", {SYS_mmap, {}}},
      {"close", {SYS_close, {}}},
      {"newfstatat", {SYS_newfstatat, {}}},
      {"ioctl TCGETS", {SYS_ioctl, {0, TCGETS}}},
      {"socket INET6 dgram", {SYS_socket, {AF_INET6, SOCK_DGRAM, 0}}},
  };
  std::size_t sum = 0;
  for (const auto& [name, call] : calls) {
    const Evaluation evaluation =
        probe.evaluate(native_arch, static_cast<std::uint32_t>(call.first), call.second);
    EXPECT_EQ(evaluation.action, allowed) << name;
    EXPECT_LE(evaluation.instructions, 32u) << name;
    std::cout << "  " << name << ": " << evaluation.instructions << " instructions\n";
    sum += evaluation.instructions;
  }
  std::cout << "  mean: " << sum / std::size(calls) << "\n";
  EXPECT_LE(sum / std::size(calls), 20u);
}

}  // namespace
}  // namespace jail::test
