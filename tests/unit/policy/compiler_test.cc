#include <gmock/gmock.h>
#include <seccomp.h>
#include <sys/syscall.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <thread>

#include "egress/policy.h"
#include "filter_probe.h"
#include "policy_model.h"

namespace jail::test {
namespace {

using Op = ArgumentTest::Op;

constexpr Decision refuse{Verdict::error, EPERM};
constexpr Decision kill_it{Verdict::kill, 0};

Policy policy_of(std::vector<Rule> rules) {
  return {"test", {Verdict::error, ENOSYS}, std::move(rules)};
}

Rule rule(std::string syscall, Decision decision, std::vector<ArgumentTest> tests = {}) {
  return {std::move(syscall), decision, std::move(tests), "A reason."};
}

ArgumentTest equal(std::uint8_t argument, std::uint32_t value, std::uint32_t mask = 0xffffffff) {
  return {argument, Op::equal, mask, value};
}

ArgumentTest not_equal(std::uint8_t argument, std::uint32_t value,
                       std::uint32_t mask = 0xffffffff) {
  return {argument, Op::not_equal, mask, value};
}

std::string refusal_of(const Policy& policy) {
  const auto compiled = compile_policy(policy);
  if (compiled) return "";
  EXPECT_EQ(compiled.error().kind, ErrorKind::invalid);
  return compiled.error().message();
}

// Their programs are written when the library is built, that of a copy when it is asked for.
TEST(Compiler, APolicyThatIsCompiledInHasTheProgramOfItsCopy) {
  for (const Policy* shipped : {&default_policy(), &egress_policy(), &lookup_policy()}) {
    const Policy copy = *shipped;
    const auto written = compile_policy(*shipped);
    const auto anew = compile_policy(copy);
    ASSERT_TRUE(written && anew) << shipped->name;
    EXPECT_FALSE(written->instructions.empty()) << shipped->name;
    EXPECT_EQ(written->instructions, anew->instructions) << shipped->name;
  }
}

TEST(Compiler, CallsWithoutARuleFallToOtherwise) {
  const FilterProbe probe(policy_of({rule("read", allow)}));
  EXPECT_EQ(probe.ask(SYS_read), allowed);
  EXPECT_EQ(probe.ask(SYS_write), fails_with(ENOSYS));
}

TEST(Compiler, ARuleWithoutTestsDecidesTheRestOfItsCall) {
  const FilterProbe probe(
      policy_of({rule("kill", allow, {equal(1, 9)}), rule("kill", refuse), rule("read", allow)}));
  EXPECT_EQ(probe.ask(SYS_kill, {1, 9}), allowed);
  EXPECT_EQ(probe.ask(SYS_kill, {1, 15}), fails_with(EPERM));
}

TEST(Compiler, AnUnconditionalAllowLeavesRefusalsByArgumentStanding) {
  const FilterProbe probe(policy_of({rule("kill", allow), rule("kill", kill_it, {equal(1, 9)})}));
  EXPECT_EQ(probe.ask(SYS_kill, {1, 9}), killed);
  EXPECT_EQ(probe.ask(SYS_kill, {1, 9 | 7ull << 32}), killed);
  EXPECT_EQ(probe.ask(SYS_kill, {1, 15}), allowed);
}

TEST(Compiler, NotEqualIgnoresTheUpperHalf) {
  const FilterProbe probe(policy_of({rule("kill", refuse, {not_equal(0, 5)})}));
  EXPECT_EQ(probe.ask(SYS_kill, {5}), fails_with(ENOSYS));
  EXPECT_EQ(probe.ask(SYS_kill, {5 | 1ull << 32}), fails_with(ENOSYS));
  EXPECT_EQ(probe.ask(SYS_kill, {6 | 5ull << 32}), fails_with(EPERM));
}

TEST(Compiler, SeveralTestsOnOneArgumentAllHaveToHold) {
  const FilterProbe probe(
      policy_of({rule("kill", allow, {not_equal(0, 5), not_equal(0, 6), equal(0, 4, 0xc)})}));
  EXPECT_EQ(probe.ask(SYS_kill, {4}), allowed);
  EXPECT_EQ(probe.ask(SYS_kill, {5}), fails_with(ENOSYS));
  EXPECT_EQ(probe.ask(SYS_kill, {6}), fails_with(ENOSYS));
  EXPECT_EQ(probe.ask(SYS_kill, {7}), allowed);
  EXPECT_EQ(probe.ask(SYS_kill, {8}), fails_with(ENOSYS));
}

// Common tests are made once, and no jump is longer than the kernel can express.
TEST(Compiler, ListsOfValuesAreLongAndMeetOtherRules) {
  Policy policy = policy_of({});
  for (std::uint32_t command = 0; command < 2000; command += 2) {
    policy.rules.push_back(rule("ioctl", allow, {equal(2, 7), equal(1, command)}));
  }
  policy.rules.push_back(rule("ioctl", refuse, {equal(2, 7), equal(1, 3000)}));
  policy.rules.push_back(rule("ioctl", allow, {equal(2, 8), equal(1, 5)}));
  policy.rules.push_back(rule("ioctl", allow, {equal(2, 8), equal(1, 6)}));
  const FilterProbe probe(policy);
  for (std::uint64_t command = 0; command < 2000; ++command) {
    EXPECT_EQ(probe.ask(SYS_ioctl, {0, command, 7}),
              command % 2 == 0 ? allowed : fails_with(ENOSYS))
        << command;
    const bool is_of_eight = command == 5 || command == 6;
    EXPECT_EQ(probe.ask(SYS_ioctl, {0, command, 8}), is_of_eight ? allowed : fails_with(ENOSYS))
        << command;
  }
  EXPECT_EQ(probe.ask(SYS_ioctl, {0, 3000, 7}), fails_with(EPERM));
  EXPECT_EQ(probe.ask(SYS_ioctl, {0, 3000, 8}), fails_with(ENOSYS));
  EXPECT_LT(probe.filter().instructions.size(), 1200u);
}

TEST(Compiler, ValuesInARowAreOneRange) {
  Policy policy = policy_of({});
  for (std::uint32_t command = 10; command < 2000; ++command) {
    policy.rules.push_back(rule("ioctl", allow, {equal(1, command)}));
  }
  policy.rules.push_back(rule("ioctl", refuse, {equal(1, 0xffffffff)}));
  const FilterProbe probe(policy);
  for (std::uint64_t command = 0; command < 2100; ++command) {
    EXPECT_EQ(probe.ask(SYS_ioctl, {0, command}),
              command >= 10 && command < 2000 ? allowed : fails_with(ENOSYS))
        << command;
  }
  EXPECT_EQ(probe.ask(SYS_ioctl, {0, 0xffffffff}), fails_with(EPERM));
  EXPECT_EQ(probe.ask(SYS_ioctl, {0, 0xfffffffe}), fails_with(ENOSYS));
  EXPECT_LT(probe.filter().instructions.size(), 30u);
}

TEST(Compiler, CallsThatAreDecidedAlikeShareTheirInstructions) {
  std::vector<Rule> rules;
  for (std::uint32_t command = 0; command < 200; command += 2) {
    rules.push_back(rule("ioctl", allow, {equal(1, command)}));
  }
  const std::size_t one = FilterProbe(policy_of(rules)).filter().instructions.size();
  for (std::uint32_t command = 0; command < 200; command += 2) {
    rules.push_back(rule("fcntl", allow, {equal(1, command)}));
  }
  const FilterProbe probe(policy_of(rules));
  EXPECT_LT(probe.filter().instructions.size(), one + 10);
  for (std::uint64_t command = 0; command < 201; ++command) {
    const auto answer = command % 2 == 0 && command < 200 ? allowed : fails_with(ENOSYS);
    EXPECT_EQ(probe.ask(SYS_ioctl, {0, command}), answer) << command;
    EXPECT_EQ(probe.ask(SYS_fcntl, {0, command}), answer) << command;
  }
}

TEST(Compiler, TheOrderOfTheRulesMeansNothing) {
  std::vector<Rule> rules = {rule("kill", refuse), rule("kill", allow, {equal(1, 1)}),
                             rule("kill", kill_it, {equal(1, 2)}), rule("read", allow)};
  const FilterProbe forwards(policy_of(rules));
  std::reverse(rules.begin(), rules.end());
  const FilterProbe backwards(policy_of(rules));
  for (std::uint64_t signal = 0; signal < 4; ++signal) {
    EXPECT_EQ(forwards.ask(SYS_kill, {0, signal}), backwards.ask(SYS_kill, {0, signal}));
  }
}

TEST(Compiler, NewerCallsGoByTheirNumbers) {
  const FilterProbe probe(policy_of({rule("fchmodat2", allow), rule("mseal", refuse)}));
  EXPECT_EQ(probe.ask(452), allowed);
  EXPECT_EQ(probe.ask(462), fails_with(EPERM));
  EXPECT_EQ(probe.ask(463), fails_with(ENOSYS));
}

TEST(Compiler, CallsOfOtherArchitecturesOnlyAreSkipped) {
  const FilterProbe probe(policy_of({rule("socketcall", allow), rule("read", allow)}));
  EXPECT_EQ(probe.ask(SYS_read), allowed);
}

// Random policies against the literal reading of them: the proof that no rule is lost on its way
// through the dispatch tree and the argument blocks.
TEST(Compiler, AgreesWithTheLiteralReadingOfRandomPolicies) {
  Random random(7);
  const auto below = [&](std::uint64_t bound) { return random() % bound; };
  const char* const names[] = {"read", "kill", "ioctl", "socket", "openat", "mseal"};
  const Decision decisions[] = {allow, refuse, kill_it};
  int compiled_policies = 0;
  for (int round = 0; round < 3000; ++round) {
    Policy policy = policy_of({});
    for (std::uint64_t count = 1 + below(6); count > 0; --count) {
      Rule next = rule(names[below(3)], decisions[below(3)]);
      for (std::uint64_t tests = below(4); tests > 0; --tests) {
        const auto mask = static_cast<std::uint32_t>(below(2) == 0 ? 7 : 1 + below(7));
        next.tests.push_back({static_cast<std::uint8_t>(below(2)),
                              below(4) == 0 ? Op::not_equal : Op::equal, mask,
                              static_cast<std::uint32_t>(below(8)) & mask});
      }
      policy.rules.push_back(next);
    }
    if (!compile_policy(policy)) continue;  // rules that contradict each other
    ++compiled_policies;
    const FilterProbe probe(policy);
    const long numbers[] = {SYS_read, SYS_kill, SYS_ioctl, SYS_socket, SYS_openat, 462};
    for (std::size_t call = 0; call < std::size(numbers); ++call) {
      for (std::uint64_t a = 0; a < 8; ++a) {
        for (std::uint64_t b = 0; b < 8; ++b) {
          const Arguments arguments = with_garbage_above({a, b}, random);
          ASSERT_EQ(probe.ask(numbers[call], arguments),
                    action_of(decide(policy, names[call], arguments)));
        }
      }
    }
  }
  EXPECT_GT(compiled_policies, 500);
}

// Programs so long that most comparisons do not reach what they lead to.
TEST(Compiler, AgreesWithTheLiteralReadingOfLongPolicies) {
  Random random(11);
  const auto below = [&](std::uint64_t bound) {
    return static_cast<std::uint32_t>(random() % bound);
  };
  const Decision decisions[] = {allow, refuse, kill_it};
  for (int round = 0; round < 20; ++round) {
    Policy policy = policy_of({});
    std::map<int, Policy> calls;
    while (calls.size() < 100) {
      const int number = static_cast<int>(below(450));
      const std::unique_ptr<char, void (*)(void*)> name(
          seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number), std::free);
      if (name == nullptr || calls.contains(number)) continue;
      Policy& call = calls.try_emplace(number, policy_of({})).first->second;
      const Decision decision = decisions[below(3)];
      for (std::uint32_t count = 1 + below(12); count > 0; --count) {
        call.rules.push_back(rule(name.get(), decision, {equal(0, below(6)), equal(1, below(40))}));
      }
    }
    for (const auto& [number, call] : calls) {
      policy.rules.insert(policy.rules.end(), call.rules.begin(), call.rules.end());
    }
    const FilterProbe probe(policy);
    EXPECT_GT(probe.filter().instructions.size(), 600u);
    for (int number = 0; number < 460; ++number) {
      const auto known = calls.find(number);
      for (std::uint64_t a = 0; a < 7; ++a) {
        for (std::uint64_t b = 0; b < 41; ++b) {
          const std::uint32_t expected =
              known == calls.end()
                  ? fails_with(ENOSYS)
                  : action_of(decide(known->second, known->second.rules[0].syscall, {a, b}));
          ASSERT_EQ(probe.ask(number, {a, b}), expected) << number << " " << a << " " << b;
        }
      }
    }
  }
}

TEST(Compiler, RefusesAnUnknownName) {
  EXPECT_EQ(refusal_of(policy_of({rule("read", allow), rule("raed", allow)})),
            "policy \"test\": rule 1 (raed): no system call has this name");
}

TEST(Compiler, RefusesARuleWithoutAReason) {
  for (const char* why : {"", " \n"}) {
    Policy policy = policy_of({rule("read", allow)});
    policy.rules[0].why = why;
    EXPECT_THAT(refusal_of(policy), testing::HasSubstr("rule 0 (read): `why` is empty"));
  }
}

TEST(Compiler, RefusesRulesThatContradictEachOther) {
  const std::vector<std::pair<Rule, Rule>> pairs = {
      {rule("kill", allow, {equal(0, 1)}), rule("kill", refuse, {equal(1, 1)})},
      {rule("kill", allow, {equal(0, 1)}), rule("kill", refuse, {equal(0, 1, 3)})},
      {rule("kill", allow, {not_equal(0, 1)}), rule("kill", refuse, {equal(0, 2)})},
      {rule("kill", allow), rule("kill", refuse)},
      {rule("kill", allow), rule("kill", allow)},
  };
  for (const auto& [one, other] : pairs) {
    EXPECT_THAT(refusal_of(policy_of({one, other})), testing::HasSubstr("rule 1 (kill): "));
    EXPECT_THAT(refusal_of(policy_of({other, one})), testing::HasSubstr("rule 1 (kill): "));
  }
}

TEST(Compiler, RefusesTestsThatAnUnconditionalRuleMakesVoid) {
  const Rule guarded = rule("clone", allow, {equal(0, 0, 0x10000000)});
  const Rule open = rule("clone", allow);
  EXPECT_THAT(refusal_of(policy_of({guarded, open})), testing::HasSubstr("void"));
  EXPECT_THAT(refusal_of(policy_of({open, guarded})), testing::HasSubstr("void"));
}

TEST(Compiler, RefusesTestsThatCannotMeanWhatTheySay) {
  const std::pair<std::vector<ArgumentTest>, const char*> cases[] = {
      {{equal(6, 0)}, "argument must be 0 .. 5"},
      {{equal(0, 0, 0)}, "mask 0 compares nothing"},
      {{equal(0, 4, 3)}, "bits outside its mask"},
      {{equal(0, 1), equal(0, 2)}, "contradict each other"},
      {{equal(0, 1), not_equal(0, 1, 0xff)}, "contradict each other"},
      {std::vector<ArgumentTest>(17, equal(0, 1)), "more than 16 tests"},
  };
  for (const auto& [tests, message] : cases) {
    EXPECT_THAT(refusal_of(policy_of({rule("kill", allow, tests)})), testing::HasSubstr(message));
  }
}

TEST(Compiler, RefusesDecisionsThatCannotBeMeant) {
  for (const Decision decision : {Decision{Verdict::error, 0},
                                  {Verdict::error, 4096},
                                  {Verdict::error, -1},
                                  {Verdict::allow, EPERM},
                                  {Verdict::kill, EPERM},
                                  {static_cast<Verdict>(9), 0}}) {
    EXPECT_NE(refusal_of(policy_of({rule("read", decision)})), "");
    Policy policy = policy_of({rule("read", allow)});
    policy.otherwise = decision;
    EXPECT_NE(refusal_of(policy), "");
  }
}

TEST(Compiler, RefusesADenyList) {
  Policy policy = policy_of({rule("ptrace", refuse)});
  policy.otherwise = allow;
  EXPECT_THAT(refusal_of(policy), testing::HasSubstr("otherwise: "));
}

TEST(Compiler, RefusesAProgramThatTheKernelWouldNotTake) {
  Policy policy = policy_of({});
  for (std::uint32_t command = 0; command < 5000; ++command) {
    policy.rules.push_back(rule("ioctl", allow, {equal(1, 2 * command)}));
  }
  EXPECT_THAT(refusal_of(policy), testing::HasSubstr("the kernel takes 4096"));
}

TEST(Compiler, IsThreadSafe) {
  const auto expected = compile_policy(default_policy());
  ASSERT_TRUE(expected.has_value());
  std::array<bool, 4> same{};
  {
    std::vector<std::jthread> threads;
    for (bool& result : same) {
      threads.emplace_back([&] {
        result = true;
        for (int round = 0; round < 10; ++round) {
          const auto compiled = compile_policy(default_policy());
          result = result && compiled && compiled->instructions == expected->instructions;
        }
      });
    }
  }
  EXPECT_THAT(same, testing::Each(true));
}

}  // namespace
}  // namespace jail::test
