#include "policy/argument_block.h"

#include <linux/seccomp.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <optional>
#include <span>

namespace jail {
namespace {

// The content of the accumulator: an argument's low half under a mask.
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

// Rules that follow each other in a call's list and differ only in the value of their last test, as
// those for a list of values do. Their common tests are made once.
using Group = std::span<const Rule* const>;

// A jump inside of a group passes over all its comparisons, and its distance is one byte.
constexpr std::size_t max_in_group = 200;

bool belong_together(const Rule& one, const Rule& other) {
  if (one.tests.empty() || one.tests.size() != other.tests.size() ||
      one.decision != other.decision) {
    return false;
  }
  const ArgumentTest& last = one.tests.back();
  ArgumentTest with_its_value = other.tests.back();
  with_its_value.value = last.value;
  return last.op == ArgumentTest::Op::equal && with_its_value == last &&
         std::equal(one.tests.begin(), one.tests.end() - 1, other.tests.begin());
}

Group first_group(Group rules) {
  std::size_t size = 1;
  while (size < rules.size() && size < max_in_group && belong_together(*rules[0], *rules[size])) {
    ++size;
  }
  return rules.first(size);
}

void jump_to_end(std::size_t from, ArgumentTest::Op op, std::vector<sock_filter>& program) {
  const auto past = static_cast<__u8>(program.size() - from - 1);
  (op == ArgumentTest::Op::equal ? program[from].jf : program[from].jt) = past;
}

// `loaded` is the accumulator's content on every way to this group. The result is its content on
// every way past the group, which is known only where all its tests look at the same bits.
std::optional<Loaded> append_group(Group group, std::optional<Loaded> loaded,
                                   std::vector<sock_filter>& program) {
  const std::vector<ArgumentTest>& tests = group.front()->tests;
  std::vector<std::size_t> comparisons;
  for (const ArgumentTest& test : tests) {
    if (loaded != needed_by(test)) append_load(needed_by(test), program);
    loaded = needed_by(test);
    comparisons.push_back(program.size());
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, test.value, 0, 0));
  }
  for (std::size_t i = 1; i < group.size(); ++i) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, group[i]->tests.back().value, 0, 0));
  }
  // All comparisons of the last test's values except the last one jump to the decision where they
  // hold.
  for (std::size_t at = program.size() - group.size(); at + 1 < program.size(); ++at) {
    program[at].jt = static_cast<__u8>(program.size() - at - 1);
  }
  if (group.size() > 1) comparisons.back() = program.size() - 1;
  program.push_back(BPF_STMT(BPF_RET | BPF_K, seccomp_action(group.front()->decision)));

  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    jump_to_end(comparisons[i], tests[i].op, program);
  }
  const bool same_bits = std::all_of(tests.begin(), tests.end(), [&](const ArgumentTest& test) {
    return needed_by(test) == needed_by(tests.front());
  });
  return same_bits ? loaded : std::nullopt;
}

}  // namespace

void append_argument_block(const CallRules& call, const Decision& otherwise,
                           std::vector<sock_filter>& program) {
  std::optional<Loaded> loaded;
  for (Group rest(call.tested); !rest.empty();) {
    const Group group = first_group(rest);
    loaded = append_group(group, loaded, program);
    rest = rest.subspan(group.size());
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, seccomp_action(otherwise)));
}

}  // namespace jail
