// The literal meaning of a policy, against which the compiler's result is checked.
#pragma once

#include <algorithm>
#include <string_view>

#include "filter_probe.h"

namespace jail::test {

inline bool holds(const ArgumentTest& test, const Arguments& arguments) {
  const auto low = static_cast<std::uint32_t>(arguments[test.argument]);
  const bool equal = (low & test.mask) == test.value;
  return test.op == ArgumentTest::Op::equal ? equal : !equal;
}

inline bool matches(const Rule& rule, const Arguments& arguments) {
  return std::all_of(rule.tests.begin(), rule.tests.end(),
                     [&](const ArgumentTest& test) { return holds(test, arguments); });
}

// Returns the decision on calls of that name for which no rule with tests matches.
inline Decision rest_of(const Policy& policy, std::string_view syscall) {
  for (const Rule& rule : policy.rules) {
    if (rule.syscall == syscall && rule.tests.empty()) return rule.decision;
  }
  return policy.otherwise;
}

inline Decision decide(const Policy& policy, std::string_view syscall, const Arguments& arguments) {
  for (const Rule& rule : policy.rules) {
    if (rule.syscall == syscall && !rule.tests.empty() && matches(rule, arguments)) {
      return rule.decision;
    }
  }
  return rest_of(policy, syscall);
}

inline std::uint32_t action_of(const Decision& decision) {
  switch (decision.verdict) {
    case Verdict::allow:
      return allowed;
    case Verdict::error:
      return fails_with(decision.error_number);
    case Verdict::kill:
      break;
  }
  return killed;
}

}  // namespace jail::test
