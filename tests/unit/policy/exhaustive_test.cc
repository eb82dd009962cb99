// Every call of every architecture that a filter can be asked about, with every value of its
// arguments at which a rule begins or ends to hold: the compiled filter and the literal reading of
// its policy decide the same.
#include <bit>
#include <map>
#include <set>

#include "egress/policy.h"
#include "filter_probe.h"
#include "policy/syscall_numbers.h"
#include "policy_model.h"

namespace jail::test {
namespace {

constexpr std::uint32_t first_x32_number = 0x40000000;
constexpr std::uint32_t skipped_call = 0xffffffff;
constexpr std::uint32_t numbers_in_use = 1024;

using Values = std::set<std::uint32_t>;

// The values around those that a test asks for: what is beside them, differs by the mask's first or
// last bit, or only in bits that the test does not look at.
void add_around(const ArgumentTest& test, Values& values) {
  const std::uint32_t lowest_bit = test.mask & (0 - test.mask);
  for (const std::uint32_t value :
       {test.value, test.value + 1, test.value - 1, test.value ^ lowest_bit,
        test.value ^ std::bit_floor(test.mask), test.value | ~test.mask}) {
    values.insert(value);
  }
}

// The rules of one call, as a policy of their own: the model reads them without the others.
struct Call {
  Policy policy;
  std::map<std::uint8_t, Values> arguments;
};

std::map<std::uint32_t, Call> calls_of(const Policy& policy) {
  std::map<std::uint32_t, Call> calls;
  for (const Rule& rule : policy.rules) {
    const int number = syscall_number(rule.syscall).value_or(-1);
    if (number < 0) continue;  // a call of other architectures only
    Call& call = calls[static_cast<std::uint32_t>(number)];
    call.policy.otherwise = policy.otherwise;
    call.policy.rules.push_back(rule);
    for (const ArgumentTest& test : rule.tests) {
      Values& values = call.arguments.try_emplace(test.argument, Values{0, ~0u}).first->second;
      add_around(test, values);
    }
  }
  return calls;
}

// Asks for all combinations of the values of the arguments from `at` on.
template <class Ask>
void with_all_values(std::map<std::uint8_t, Values>::const_iterator at,
                     std::map<std::uint8_t, Values>::const_iterator end, Arguments& arguments,
                     const Ask& ask) {
  if (at == end) return ask(arguments);
  for (const std::uint32_t value : at->second) {
    arguments[at->first] = value;
    with_all_values(std::next(at), end, arguments, ask);
  }
}

Policy default_with_terminals() { return with_rules(default_policy(), terminal_rules()); }
Policy shipped_default() { return default_policy(); }
Policy shipped_egress() { return egress_policy(); }
Policy shipped_lookup() { return lookup_policy(); }

const std::string policy_names[] = {"default", "terminals", "egress", "lookup"};

class Exhaustive : public testing::TestWithParam<Policy (*)()> {
 protected:
  const Policy policy_ = GetParam()();
  const FilterProbe probe_{policy_};
};

TEST_P(Exhaustive, EveryCallIsDecidedAsItsRulesReadLiterally) {
  const auto calls = calls_of(policy_);
  ASSERT_FALSE(calls.empty());
  ASSERT_LT(calls.rbegin()->first, numbers_in_use);
  Random random(3);
  for (std::uint32_t number = 0; number < numbers_in_use; ++number) {
    const auto known = calls.find(number);
    if (known == calls.end()) {
      EXPECT_EQ(probe_.ask(number), action_of(policy_.otherwise)) << number;
      continue;
    }
    const Call& call = known->second;
    const std::string& name = call.policy.rules.front().syscall;
    Arguments arguments{};
    with_all_values(
        call.arguments.begin(), call.arguments.end(), arguments, [&](const Arguments& exact) {
          const std::uint32_t expected = action_of(decide(call.policy, name, exact));
          ASSERT_EQ(probe_.ask(number, exact), expected) << name;
          ASSERT_EQ(probe_.ask(number, with_garbage_above(exact, random)), expected) << name;
        });
  }
}

TEST_P(Exhaustive, NumbersThatNoCallHasAreRefused) {
  for (const std::uint32_t number : {numbers_in_use, 0x10000u, first_x32_number - 1}) {
    EXPECT_EQ(probe_.ask(number), action_of(policy_.otherwise)) << number;
  }
  EXPECT_EQ(probe_.ask(skipped_call), action_of(policy_.otherwise));
#if defined(__x86_64__)
  for (std::uint32_t number = 0; number < numbers_in_use; ++number) {
    EXPECT_EQ(probe_.ask(first_x32_number | number), killed) << number;
    EXPECT_EQ(probe_.ask(0x80000000 | number), killed) << number;
  }
  for (const std::uint32_t number : {0x7fffffffu, 0xfffffffeu}) {
    EXPECT_EQ(probe_.ask(number), killed) << number;
  }
#endif
}

TEST_P(Exhaustive, EveryCallOfAnotherArchitectureKills) {
  for (const std::uint32_t arch :
       {0u, native_arch - 1, native_arch + 1, native_arch ^ 0x80000000, native_arch ^ 0x40000000,
        std::uint32_t{AUDIT_ARCH_I386}, std::uint32_t{AUDIT_ARCH_ARM}, 0xffffffffu}) {
    for (std::uint32_t number = 0; number < numbers_in_use; ++number) {
      ASSERT_EQ(probe_.evaluate(arch, number, {}).action, killed) << arch << " " << number;
    }
    EXPECT_EQ(probe_.evaluate(arch, skipped_call, {}).action, killed) << arch;
    EXPECT_EQ(probe_.evaluate(arch, first_x32_number, {}).action, killed) << arch;
  }
}

INSTANTIATE_TEST_SUITE_P(, Exhaustive,
                         testing::Values(shipped_default, default_with_terminals, shipped_egress,
                                         shipped_lookup),
                         [](const auto& policy) { return policy_names[policy.index]; });

}  // namespace
}  // namespace jail::test
