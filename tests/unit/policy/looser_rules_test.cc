// The description of how a policy is looser than the default one, and how rules join a policy.
#include <gmock/gmock.h>
#include <sys/syscall.h>

#include <cerrno>

#include "filter_probe.h"

namespace jail::test {
namespace {

std::vector<std::string> looser(const Policy& policy) {
  const auto filter = compile_policy(policy);
  EXPECT_TRUE(filter) << filter.error().message();
  std::vector<std::string> texts;
  if (!filter) return texts;
  EXPECT_EQ(filter->policy, policy.name);
  for (const LooserRule& rule : filter->looser) {
    texts.push_back(rule.syscall + " " + rule.what + ": " + rule.why);
  }
  return texts;
}

Policy without(std::string_view syscall, Verdict verdict) {
  Policy policy = default_policy();
  std::erase_if(policy.rules, [&](const Rule& rule) {
    return rule.syscall == syscall && rule.decision.verdict == verdict;
  });
  return policy;
}

TEST(LooserRules, TheDefaultIsNotLooserThanItself) {
  EXPECT_TRUE(looser(default_policy()).empty());
}

TEST(LooserRules, WhatIsRefusedMoreIsNotListed) {
  EXPECT_TRUE(looser(without("socket", Verdict::allow)).empty());
  EXPECT_TRUE(
      looser(with_rules(default_policy(), {{"getrandom", {Verdict::kill, 0}, {}, "why"}})).empty());
}

TEST(LooserRules, WhatIsAllowedMoreIsListedWithItsReason) {
  const Policy policy = with_rules(
      default_policy(),
      {{"memfd_create", allow, {}, "numba"},
       {"ioctl", allow, {{1, ArgumentTest::Op::equal, 0xffffffff, 0xae00}}, "machines"},
       {"ioctl", allow, {{1, ArgumentTest::Op::equal, 0xff00, 0xaf00}}, "more of them"}});
  EXPECT_THAT(looser(policy),
              testing::ElementsAre(
                  "memfd_create allow: numba", "ioctl allow where argument 1 is 0xae00: machines",
                  "ioctl allow where argument 1 & 0xff00 is 0xaf00: more of them"));
  EXPECT_EQ(policy.name, "default with rules added");
}

TEST(LooserRules, ARefusalThatIsMissingIsListedWhereTheCallIsAllowed) {
  const auto texts = looser(without("madvise", Verdict::error));
  ASSERT_FALSE(texts.empty());
  for (const std::string& text : texts) {
    EXPECT_THAT(text, testing::StartsWith("madvise lacks the refusal where argument 2 is "));
  }
  EXPECT_TRUE(looser(without("clone", Verdict::error)).empty());
}

TEST(WithRules, OneWithoutTestsDecidesItsWholeCall) {
  const FilterProbe usual(default_policy());
  const FilterProbe more(with_rules(default_policy(), {{"memfd_create", allow, {}, "numba"}}));
  EXPECT_EQ(usual.ask(SYS_memfd_create), fails_with(ENOSYS));
  EXPECT_EQ(more.ask(SYS_memfd_create), allowed);
}

TEST(WithRules, OneThatCouldDisagreeIsRefused) {
  const std::vector<ArgumentTest> mergeable = {{2, ArgumentTest::Op::equal, 0xffffffff, 12}};
  const auto filter =
      compile_policy(with_rules(default_policy(), {{"madvise", allow, mergeable, "merging"}}));
  ASSERT_FALSE(filter);
  EXPECT_THAT(filter.error().message(), testing::HasSubstr("(madvise): "));
}

}  // namespace
}  // namespace jail::test
