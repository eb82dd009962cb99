#include "policy/call_rules.h"

#include <linux/seccomp.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "policy/syscall_numbers.h"

namespace jail {
namespace {

constexpr int max_errno = 4095;  // the value to which the kernel clamps SECCOMP_RET_ERRNO
constexpr std::uint8_t argument_count = 6;
constexpr std::size_t max_tests = 16;  // keeps every conditional jump within its eight bits

Error invalid(const Policy& policy, const std::string& where, std::string_view what) {
  std::string text = "policy \"" + policy.name + "\": " + where + ": ";
  return {ErrorKind::invalid, text.append(what), 0, {}};
}

std::string_view fault_of(const Decision& decision) {
  switch (decision.verdict) {
    case Verdict::error:
      // Errno 0 would stand for a call that does nothing and reports success.
      if (decision.error_number < 1 || decision.error_number > max_errno) {
        return "the error number must be 1 .. 4095";
      }
      return {};
    case Verdict::allow:
    case Verdict::kill:
      if (decision.error_number != 0) return "an error number, but the verdict is not error";
      return {};
  }
  return "unknown verdict";
}

// The bits of one argument that a set of `equal` tests fixes.
struct FixedBits {
  std::uint32_t mask = 0;
  std::uint32_t value = 0;
};

// Returns false only where no arguments at all pass every test. A set of `not_equal` tests that
// together leave no value goes unnoticed: that errs towards refusing a policy, never towards a
// wrong filter.
bool satisfiable(const std::vector<ArgumentTest>& tests) {
  std::array<FixedBits, argument_count> fixed{};
  for (const ArgumentTest& test : tests) {
    if (test.op != ArgumentTest::Op::equal) continue;
    FixedBits& bits = fixed[test.argument];
    if (((bits.value ^ test.value) & bits.mask & test.mask) != 0) return false;
    bits.mask |= test.mask;
    bits.value |= test.value;
  }
  return std::none_of(tests.begin(), tests.end(), [&](const ArgumentTest& test) {
    const FixedBits& bits = fixed[test.argument];
    return test.op == ArgumentTest::Op::not_equal && (test.mask & ~bits.mask) == 0 &&
           (bits.value & test.mask) == test.value;
  });
}

bool may_overlap(const Rule& a, const Rule& b) {
  std::vector<ArgumentTest> both = a.tests;
  both.insert(both.end(), b.tests.begin(), b.tests.end());
  return satisfiable(both);
}

std::string_view fault_of(const Rule& rule) {
  if (rule.why.find_first_not_of(" \t\r\n") == std::string::npos) {
    return "`why` is empty; every rule states its reason";
  }
  if (const auto fault = fault_of(rule.decision); !fault.empty()) return fault;
  if (rule.tests.size() > max_tests) return "more than 16 tests";
  for (const ArgumentTest& test : rule.tests) {
    if (test.argument >= argument_count) return "a test's argument must be 0 .. 5";
    if (test.mask == 0) return "a test with mask 0 compares nothing";
    if ((test.value & ~test.mask) != 0) return "a test's value has bits outside its mask";
  }
  if (!satisfiable(rule.tests)) return "its tests contradict each other: it can never match";
  return {};
}

// Returns why `rule` cannot join the rules of the same call that are already there.
std::string_view conflict_with(const CallRules& call, const Rule& rule) {
  if (rule.tests.empty()) {
    if (call.rest != nullptr) return "a second rule without tests for this call";
    for (const Rule* tested : call.tested) {
      if (tested->decision == rule.decision) {
        return "it makes a rule with tests for this call void: both decide the same";
      }
    }
    return {};
  }
  if (call.rest != nullptr && call.rest->decision == rule.decision) {
    return "its tests are void: the call's rule without tests decides the same";
  }
  for (const Rule* tested : call.tested) {
    if (tested->decision != rule.decision && may_overlap(*tested, rule)) {
      return "it contradicts another rule for this call: both match some arguments";
    }
  }
  return {};
}

}  // namespace

std::uint32_t seccomp_action(const Decision& decision) noexcept {
  switch (decision.verdict) {
    case Verdict::allow:
      return SECCOMP_RET_ALLOW;
    case Verdict::error:
      return SECCOMP_RET_ERRNO | (static_cast<std::uint32_t>(decision.error_number) & 0xfff);
    case Verdict::kill:
      break;
  }
  return SECCOMP_RET_KILL_PROCESS;
}

Result<CallTable> sort_rules(const Policy& policy) {
  if (policy.otherwise.verdict == Verdict::allow) {
    return invalid(policy, "otherwise", "a call that no rule names must not be allowed");
  }
  if (const auto fault = fault_of(policy.otherwise); !fault.empty()) {
    return invalid(policy, "otherwise", fault);
  }
  CallTable calls;
  for (std::size_t i = 0; i < policy.rules.size(); ++i) {
    const Rule& rule = policy.rules[i];
    const std::string where = "rule " + std::to_string(i) + " (" + rule.syscall + ")";
    if (const auto fault = fault_of(rule); !fault.empty()) return invalid(policy, where, fault);
    const std::optional<int> number = syscall_number(rule.syscall);
    if (!number) return invalid(policy, where, "no system call has this name");
    if (*number < 0) continue;
    CallRules& call = calls[*number];
    if (const auto fault = conflict_with(call, rule); !fault.empty()) {
      return invalid(policy, where, fault);
    }
    if (rule.tests.empty()) {
      call.rest = &rule;
    } else {
      call.tested.push_back(&rule);
    }
  }
  return calls;
}

}  // namespace jail
