#include "policy/looser_rules.h"

#include <sys/ioctl.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <set>
#include <string_view>

namespace jail {
namespace {

using RulesByCall = std::map<std::string_view, std::vector<const Rule*>>;

RulesByCall by_call(const Policy& policy) {
  RulesByCall sorted;
  for (const Rule& rule : policy.rules) sorted[rule.syscall].push_back(&rule);
  return sorted;
}

bool has(const RulesByCall& rules, const Rule& sought) {
  const auto call = rules.find(sought.syscall);
  return call != rules.end() &&
         std::any_of(call->second.begin(), call->second.end(), [&](const Rule* rule) {
           return rule->decision == sought.decision && rule->tests == sought.tests;
         });
}

bool allows_something(const RulesByCall& rules, const std::string& syscall) {
  const auto call = rules.find(syscall);
  return call != rules.end() &&
         std::any_of(call->second.begin(), call->second.end(),
                     [](const Rule* rule) { return rule->decision.verdict == Verdict::allow; });
}

std::string hexadecimal(std::uint32_t number) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%x", number);
  return text;
}

// The conditions in words: "", or " where argument 0 & 0xf is 0x2 and argument 1 is not 0x0".
std::string conditions_of(const Rule& rule) {
  std::string text;
  for (const ArgumentTest& test : rule.tests) {
    text += text.empty() ? " where argument " : " and argument ";
    text += std::to_string(test.argument);
    if (test.mask != 0xffffffff) text += " & " + hexadecimal(test.mask);
    text += test.op == ArgumentTest::Op::equal ? " is " : " is not ";
    text += hexadecimal(test.value);
  }
  return text;
}

}  // namespace

std::vector<LooserRule> looser_rules(const Policy& policy, const Policy& than) {
  if (policy.rules == than.rules) return {};
  const RulesByCall own = by_call(policy);
  const RulesByCall others = by_call(than);
  std::vector<LooserRule> looser;
  for (const Rule& rule : policy.rules) {
    if (rule.decision.verdict != Verdict::allow || has(others, rule)) continue;
    looser.push_back({rule.syscall, "allow" + conditions_of(rule), rule.why});
  }
  // A rule without tests decides the rest of its call, which would be refused without it.
  for (const Rule& rule : than.rules) {
    if (rule.decision.verdict == Verdict::allow || rule.tests.empty() || has(own, rule)) continue;
    if (!allows_something(own, rule.syscall)) continue;
    looser.push_back({rule.syscall, "lacks the refusal" + conditions_of(rule), rule.why});
  }
  return looser;
}

std::vector<Rule> terminal_rules() {
  const auto allow = [](std::uint32_t command, const char* why) {
    return Rule{
        "ioctl", {Verdict::allow}, {{1, ArgumentTest::Op::equal, 0xffffffff, command}}, why};
  };
  return {allow(TIOCSPGRP, "Job control: a shell moves its jobs into the foreground."),
          allow(TIOCSWINSZ, "stty and terminal multiplexers set the size of a terminal.")};
}

Policy with_rules(Policy base, const std::vector<Rule>& added) {
  std::set<std::string_view> decided;
  for (const Rule& rule : added) {
    if (rule.tests.empty()) decided.insert(rule.syscall);
  }
  std::erase_if(base.rules, [&](const Rule& rule) { return decided.contains(rule.syscall); });
  base.rules.insert(base.rules.end(), added.begin(), added.end());
  if (!added.empty()) base.name += " with rules added";
  return base;
}

}  // namespace jail
