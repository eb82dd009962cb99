// Proves every rule of the shipped policies on the compiled filter: a call that matches a rule gets
// its decision, and a call that differs in one bit of one test does not.
#include <seccomp.h>

#include <bit>
#include <set>

#include "egress/policy.h"
#include "filter_probe.h"
#include "policy/syscall_numbers.h"
#include "policy_model.h"

namespace jail::test {
namespace {

class ShippedPolicy : public testing::TestWithParam<const Policy& (*)()> {
 protected:
  const FilterProbe& probe() const { return probe_; }

  const Policy& policy_ = GetParam()();

 private:
  const FilterProbe probe_{policy_};
};

// Arguments that pass every test of the rule; the bits it does not look at are random.
Arguments matching(const Rule& rule, Random& random) {
  Arguments arguments;
  for (std::uint64_t& argument : arguments) argument = random();
  for (const ArgumentTest& test : rule.tests) {
    std::uint64_t& argument = arguments[test.argument];
    argument = (argument & ~std::uint64_t{test.mask}) | test.value;
    if (test.op == ArgumentTest::Op::not_equal) argument ^= std::bit_floor(test.mask);
  }
  return arguments;
}

std::string described(const Rule& rule) { return rule.syscall + ": " + rule.why; }

TEST_P(ShippedPolicy, EveryRuleDecidesWhatMatchesIt) {
  Random random(1);
  for (const Rule& rule : policy_.rules) {
    const int number = syscall_number(rule.syscall).value_or(-1);
    if (number < 0) continue;  // a call of other architectures only
    int decided = 0;
    for (int round = 0; round < 64; ++round) {
      Arguments arguments = matching(rule, random);
      // Another rule may come first: one without tests decides only what no rule with tests
      // matches.
      if (decide(policy_, rule.syscall, arguments) != rule.decision) continue;
      ++decided;
      EXPECT_EQ(probe().ask(number, arguments), action_of(rule.decision)) << described(rule);
      arguments = with_garbage_above(arguments, random);
      EXPECT_EQ(probe().ask(number, arguments), action_of(rule.decision)) << described(rule);
    }
    EXPECT_GE(decided, rule.tests.empty() ? 8 : 64) << described(rule);
  }
}

TEST_P(ShippedPolicy, EveryRuleLeavesAloneWhatMissesOneTestByOneBit) {
  Random random(2);
  for (const Rule& rule : policy_.rules) {
    const int number = syscall_number(rule.syscall).value_or(-1);
    if (number < 0) continue;
    const Decision rest = rest_of(policy_, rule.syscall);
    for (const ArgumentTest& test : rule.tests) {
      int misses = 0;
      for (int bit = 0; bit < 32; ++bit) {
        if ((test.mask >> bit & 1) == 0) continue;
        Arguments arguments = matching(rule, random);
        arguments[test.argument] ^= std::uint64_t{1} << bit;
        // A value that differs by one bit from a permitted value may itself be permitted.
        if (decide(policy_, rule.syscall, arguments) != rest) continue;
        ++misses;
        EXPECT_EQ(probe().ask(number, arguments), action_of(rest)) << described(rule);
      }
      EXPECT_GT(misses, 0) << described(rule);
      EXPECT_NE(rest, rule.decision) << described(rule);
    }
  }
}

TEST_P(ShippedPolicy, AnswersEveryCallAsItsRulesReadLiterally) {
  std::set<std::string> names;
  for (const Rule& rule : policy_.rules) names.insert(rule.syscall);
  Random random(1);
  for (const std::string& name : names) {
    const int number = syscall_number(name).value_or(-1);
    if (number < 0) continue;
    for (int round = 0; round < 500; ++round) {
      Arguments arguments;
      // Small numbers, among which are the permitted values, come as often as large ones.
      for (std::uint64_t& argument : arguments) argument = random() >> (random() % 64);
      EXPECT_EQ(probe().ask(number, arguments), action_of(decide(policy_, name, arguments)))
          << name;
    }
  }
}

TEST_P(ShippedPolicy, EveryRuleHasAReason) {
  for (const Rule& rule : policy_.rules) {
    EXPECT_GE(rule.why.size(), 20u) << rule.syscall;
    EXPECT_EQ(rule.why.back(), '.') << rule.syscall;
  }
}

TEST_P(ShippedPolicy, EveryNameIsKnownOnBothArchitectures) {
  for (const Rule& rule : policy_.rules) {
    if (syscall_number(rule.syscall).value_or(-1) >= 424) continue;  // the same number everywhere
    for (const std::uint32_t arch : {SCMP_ARCH_X86_64, SCMP_ARCH_AARCH64}) {
      EXPECT_NE(seccomp_syscall_resolve_name_arch(arch, rule.syscall.c_str()), __NR_SCMP_ERROR)
          << rule.syscall;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, ShippedPolicy,
                         testing::Values(default_policy, egress_policy, lookup_policy),
                         [](const auto& policy) { return policy.param().name; });

TEST(ShippedPolicies, AreCompiledInUnderTheirNames) {
  EXPECT_EQ(default_policy().name, "default");
  EXPECT_EQ(default_policy().otherwise, (Decision{Verdict::error, ENOSYS}));
  EXPECT_EQ(egress_policy().name, "egress");
  EXPECT_EQ(egress_policy().otherwise, (Decision{Verdict::error, ENOSYS}));
  EXPECT_EQ(lookup_policy().name, "lookup");
  EXPECT_EQ(lookup_policy().otherwise, (Decision{Verdict::error, ENOSYS}));
}

}  // namespace
}  // namespace jail::test
