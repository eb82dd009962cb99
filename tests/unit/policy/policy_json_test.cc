#include "runtime/policy/policy_json.h"

#include <gmock/gmock.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>

namespace runtime::policy {
namespace {

using jail::ArgumentTest;
using jail::Decision;
using jail::Verdict;

constexpr std::string_view read_rule =
    R"({"syscalls": ["read"], "decision": "allow", "why": "It reads."})";

std::string document(std::string_view rules) {
  return R"({"name": "test", "otherwise": "ENOSYS", "rules": [)" + std::string(rules) + "]}";
}

std::string with_condition(std::string_view condition) {
  return document(R"({"syscalls": ["kill"], "decision": "allow", "why": "It kills.", "when": [)" +
                  std::string(condition) + "]}");
}

jail::Policy parsed(const std::string& text) {
  auto policy = parse_policy(text, "test.json");
  EXPECT_TRUE(policy.has_value()) << policy.error().message();
  return policy ? *policy : jail::Policy{};
}

std::string refusal_of(const std::string& text) {
  const auto policy = parse_policy(text, "test.json");
  if (policy) return "";
  EXPECT_EQ(policy.error().kind, jail::ErrorKind::invalid);
  return policy.error().message();
}

TEST(PolicyJson, ReadsNameOtherwiseAndRules) {
  const jail::Policy policy = parsed(document(read_rule));
  EXPECT_EQ(policy.name, "test");
  EXPECT_EQ(policy.otherwise, (Decision{Verdict::error, ENOSYS}));
  ASSERT_EQ(policy.rules.size(), 1u);
  EXPECT_EQ(policy.rules[0], (jail::Rule{"read", {Verdict::allow, 0}, {}, "It reads."}));
}

TEST(PolicyJson, ReadsEveryKindOfDecision) {
  const std::pair<const char*, Decision> cases[] = {
      {"allow", {Verdict::allow, 0}}, {"kill", {Verdict::kill, 0}}, {"EPERM", {Verdict::error, 1}}};
  for (const auto& [word, decision] : cases) {
    const auto policy = parsed(document(R"({"syscalls": ["read"], "why": "It is.", "decision": ")" +
                                        std::string(word) + R"("})"));
    EXPECT_EQ(policy.rules.at(0).decision, decision);
  }
}

TEST(PolicyJson, EveryNamedCallBecomesARule) {
  const jail::Policy policy = parsed(
      document(R"({"syscalls": ["read", "write"], "decision": "allow", "why": "Plain I/O."})"));
  ASSERT_EQ(policy.rules.size(), 2u);
  EXPECT_EQ(policy.rules[0].syscall, "read");
  EXPECT_EQ(policy.rules[1].syscall, "write");
  EXPECT_EQ(policy.rules[1].why, "Plain I/O.");
}

TEST(PolicyJson, NumbersAreIntegersHexadecimalsOrNames) {
  for (const char* value : {"10", R"("0xA")", R"("AF_INET6")"}) {
    const auto policy =
        parsed(with_condition(R"({"argument": 2, "equal": )" + std::string(value) + "}"));
    EXPECT_EQ(policy.rules.at(0).tests.at(0),
              (ArgumentTest{2, ArgumentTest::Op::equal, 0xffffffff, AF_INET6}));
  }
  EXPECT_EQ(parsed(with_condition(R"({"argument": 0, "not_equal": 4294967295})")).rules[0].tests[0],
            (ArgumentTest{0, ArgumentTest::Op::not_equal, 0xffffffff, 0xffffffff}));
}

TEST(PolicyJson, AMaskAndAValueMayBeListsOfFlags) {
  EXPECT_EQ(
      parsed(with_condition(
                 R"({"argument": 0, "mask": ["CLONE_NEWUSER", "CLONE_NEWNET", 1], "equal": 0})"))
          .rules[0]
          .tests[0],
      (ArgumentTest{0, ArgumentTest::Op::equal, 0x50000001, 0}));
  EXPECT_EQ(
      parsed(with_condition(R"({"argument": 0, "equal": ["CLONE_NEWUSER", "CLONE_NEWNET", 1]})"))
          .rules[0]
          .tests[0],
      (ArgumentTest{0, ArgumentTest::Op::equal, 0xffffffff, 0x50000001}));
}

TEST(PolicyJson, AnyOfBecomesOneRuleForEachCombination) {
  const auto policy = parsed(with_condition(
      R"({"argument": 0, "any_of": [1, 2]}, {"argument": 1, "mask": 15, "any_of": [3, 4, 5]})"));
  ASSERT_EQ(policy.rules.size(), 6u);
  EXPECT_EQ(policy.rules[5].tests,
            (std::vector<ArgumentTest>{{0, ArgumentTest::Op::equal, 0xffffffff, 2},
                                       {1, ArgumentTest::Op::equal, 15, 5}}));
}

TEST(PolicyJson, ErrorsNameFileRuleAndField) {
  const std::string second = std::string(read_rule) + ", ";
  const std::pair<std::string, const char*> cases[] = {
      {document(second + R"({"syscalls": ["x"], "decision": "allow"})"),
       "test.json: rules[1].why: missing"},
      {document(second + R"({"syscalls": ["x"], "decision": "allow", "why": " "})"),
       "test.json: rules[1].why: must be a string that is not empty"},
      {document(R"({"syscalls": ["x"], "decision": "allow", "why": 1})"),
       "test.json: rules[0].why: must be a string that is not empty"},
      {document(R"({"syscalls": ["x"], "decision": "EWHAT", "why": "w"})"),
       "test.json: rules[0].decision: unknown decision \"EWHAT\"; must be allow, kill or the name "
       "of an error such as EPERM"},
      {document(R"({"syscalls": ["x"], "why": "w"})"), "test.json: rules[0].decision: missing"},
      {document(R"({"syscalls": "x", "decision": "allow", "why": "w"})"),
       "test.json: rules[0].syscalls: must be a list that is not empty"},
      {document(R"({"syscalls": [], "decision": "allow", "why": "w"})"),
       "test.json: rules[0].syscalls: must be a list that is not empty"},
      {document(R"({"syscalls": ["x", 7], "decision": "allow", "why": "w"})"),
       "test.json: rules[0].syscalls[1]: must be a string that is not empty"},
      {document(R"({"syscalls": ["x"], "decision": "allow", "why": "w", "because": "y"})"),
       "test.json: rules[0].because: unknown field; allowed are syscalls, decision, when, why"},
      {document(R"({"syscalls": ["x"], "decision": "allow", "why": "w", "when": []})"),
       "test.json: rules[0].when: must be a list that is not empty"},
      {document("7"), "test.json: rules[0]: must be an object"},
      {document(""), "test.json: rules: must be a list that is not empty"},
      {R"({"name": "a", "otherwise": "allow", "rules": []})",
       "test.json: otherwise: must not be allow: a policy lists what is allowed"},
      {R"({"otherwise": "ENOSYS", "rules": []})", "test.json: name: missing"},
      {R"({"name": "a", "otherwise": "ENOSYS"})", "test.json: rules: missing"},
      {R"({"name": "a", "rules": []})", "test.json: otherwise: missing"},
      {"[]", "test.json: must be an object"},
  };
  for (const auto& [text, message] : cases) EXPECT_EQ(refusal_of(text), message);
}

TEST(PolicyJson, ErrorsNameTheConditionAndItsField) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"argument": 6, "equal": 0})", ".argument: must be an integer 0 .. 5"},
      {R"({"argument": "0", "equal": 0})", ".argument: must be an integer 0 .. 5"},
      {R"({"equal": 0})", ".argument: must be an integer 0 .. 5"},
      {R"({"argument": 0})", ": must have exactly one of equal, not_equal, any_of"},
      {R"({"argument": 0, "equal": 0, "any_of": [1]})",
       ": must have exactly one of equal, not_equal, any_of"},
      {R"({"argument": 0, "equal": "AF_UNIXX"})", ".equal: unknown name \"AF_UNIXX\""},
      {R"({"argument": 0, "any_of": [1, "TIOCSTIX"]})", ".any_of[1]: unknown name \"TIOCSTIX\""},
      {R"({"argument": 0, "any_of": []})", ".any_of: must be a list that is not empty"},
      {R"({"argument": 0, "mask": ["CLONE_NEWUSER", "CLONE_X"], "equal": 0})",
       ".mask[1]: unknown name \"CLONE_X\""},
      {R"({"argument": 0, "equal": 0, "bits": 1})",
       ".bits: unknown field; allowed are argument, mask, equal, not_equal, any_of"},
  };
  for (const auto& [condition, message] : cases) {
    EXPECT_EQ(refusal_of(with_condition(condition)),
              std::string("test.json: rules[0].when[0]") + message);
  }
}

TEST(PolicyJson, NumbersMustFitThirtyTwoBits) {
  for (const char* value : {"-1", "4294967296", "1.5", "null", "true", R"("0x")", R"("0x1g")",
                            R"("0x100000000")", R"("-0x1")"}) {
    EXPECT_THAT(
        refusal_of(with_condition(R"({"argument": 0, "equal": )" + std::string(value) + "}")),
        testing::StartsWith("test.json: rules[0].when[0].equal: "))
        << value;
  }
}

TEST(PolicyJson, CombinationsAreBounded) {
  std::string many = "0";
  for (int i = 1; i < 33; ++i) many += ", " + std::to_string(i);
  EXPECT_THAT(refusal_of(with_condition(R"({"argument": 0, "any_of": [)" + many +
                                        R"(]}, {"argument": 1, "any_of": [)" + many + "]}")),
              testing::HasSubstr("rules[0].when: more than 1024 combinations"));
}

TEST(PolicyJson, RulesAndConditionsAreBounded) {
  std::string many = R"({"argument": 0, "equal": 0})";
  for (int i = 0; i < 16; ++i) many += R"(, {"argument": 0, "equal": 0})";
  EXPECT_EQ(refusal_of(with_condition(many)), "test.json: rules[0].when: more than 16 conditions");
  std::string calls = R"("kill")";
  for (int i = 0; i < 16'384; ++i) calls += R"(, "kill")";
  EXPECT_EQ(
      refusal_of(document(R"({"syscalls": [)" + calls + R"(], "decision": "allow", "why": "w"})")),
      "test.json: rules[0]: with it the policy has more than 16384 rules");
}

TEST(PolicyJson, ErrorsAreOneLine) {
  EXPECT_EQ(refusal_of(document(R"({"syscalls": ["x"], "decision": "a\nb", "why": "w"})")),
            "test.json: rules[0].decision: unknown decision \"a\\nb\"; must be allow, kill or the "
            "name of an error such as EPERM");
  EXPECT_EQ(refusal_of(with_condition(R"({"argument": 0, "equal": "\u001b[2J"})")),
            "test.json: rules[0].when[0].equal: unknown name \"\\u001b[2J\"");
  EXPECT_THAT(refusal_of(document(R"({"because\n": "y"})")),
              testing::StartsWith("test.json: rules[0].\"because\\n\": unknown field"));
}

TEST(PolicyJson, BrokenJsonIsRefused) {
  EXPECT_THAT(refusal_of("{"), testing::StartsWith("test.json"));
  EXPECT_THAT(refusal_of(document(R"({"why": "a", "why": "b"})")), testing::HasSubstr("why"));
}

}  // namespace
}  // namespace runtime::policy
