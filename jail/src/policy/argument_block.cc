#include "policy/argument_block.h"

#include <linux/seccomp.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <optional>

namespace jail {
namespace {

// What the accumulator holds: an argument's low half under a mask.
struct Loaded {
  std::uint8_t argument;
  std::uint32_t mask;

  bool operator==(const Loaded&) const = default;
};

Loaded needed_by(const ArgumentTest& test) { return {test.argument, test.mask}; }

// The upper half is never looked at: the kernel truncates these arguments to int, so garbage up
// there must not carry a call past a rule.
std::uint32_t low_half_offset(std::uint8_t argument) {
  constexpr std::size_t low_half = std::endian::native == std::endian::little ? 0 : 4;
  return static_cast<std::uint32_t>(offsetof(seccomp_data, args) + argument * sizeof(__u64) +
                                    low_half);
}

void append_load(const Loaded& wanted, std::vector<sock_filter>& program) {
  program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, low_half_offset(wanted.argument)));
  if (wanted.mask != 0xffffffff) {
    program.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, wanted.mask));
  }
}

// `loaded` is what the accumulator holds on every way to this rule; the result is what it holds on
// every way past it, which is known only where all its tests look at the same bits.
std::optional<Loaded> append_rule(const Rule& rule, std::optional<Loaded> loaded,
                                  std::vector<sock_filter>& program) {
  std::vector<std::size_t> comparisons;
  for (const ArgumentTest& test : rule.tests) {
    if (loaded != needed_by(test)) append_load(needed_by(test), program);
    loaded = needed_by(test);
    comparisons.push_back(program.size());
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, test.value, 0, 0));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, seccomp_action(rule.decision)));

  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    sock_filter& jump = program[comparisons[i]];
    const auto past_rule = static_cast<__u8>(program.size() - comparisons[i] - 1);
    (rule.tests[i].op == ArgumentTest::Op::equal ? jump.jf : jump.jt) = past_rule;
  }
  const bool same_bits = std::all_of(rule.tests.begin(), rule.tests.end(), [&](const auto& test) {
    return needed_by(test) == needed_by(rule.tests.front());
  });
  return same_bits ? loaded : std::nullopt;
}

}  // namespace

void append_argument_block(const CallRules& call, const Decision& otherwise,
                           std::vector<sock_filter>& program) {
  std::optional<Loaded> loaded;
  for (const Rule* rule : call.tested) loaded = append_rule(*rule, loaded, program);
  program.push_back(BPF_STMT(BPF_RET | BPF_K, seccomp_action(otherwise)));
}

}  // namespace jail
