#include "c/boundary.h"
#include "c/handles.h"

namespace jail::c {
namespace {

using Op = ArgumentTest::Op;
static_assert(static_cast<int>(Op::equal) == JAIL_TEST_EQUAL);
static_assert(static_cast<int>(Op::not_equal) == JAIL_TEST_NOT_EQUAL);

Result<void> check_errno(int number) {
  constexpr int largest = 4095;  // MAX_ERRNO of the kernel
  if (number >= 1 && number <= largest) return {};
  return invalid("error_number: " + std::to_string(number) + " is not 1 to 4095");
}

Result<std::vector<ArgumentTest>> tests_of(const jail_argument_test* tests, std::size_t count) {
  if (tests == nullptr && count > 0) return invalid("tests is NULL, but count is not 0");
  std::vector<ArgumentTest> read;
  for (std::size_t i = 0; i < count; ++i) {
    const jail_argument_test& test = tests[i];
    const Result<Op> op = mirrored("jail_test_op", test.op, Op::not_equal);
    if (!op) return op.error();
    if (test.argument > 5) return invalid("tests: an argument beyond 5");
    read.push_back({.argument = static_cast<std::uint8_t>(test.argument),
                    .op = *op,
                    .mask = or_default(test.mask, 0xffffffffu),
                    .value = test.value});
  }
  return read;
}

struct Given {
  const jail_argument_test* tests;
  std::size_t count;
};

Result<void> add_rule(jail_policy& policy, const char* syscall, Decision decision, Given given,
                      const char* why) {
  Result<std::vector<ArgumentTest>> tests = tests_of(given.tests, given.count);
  if (!tests) return tests.error();
  if (*why == '\0') return invalid(std::string("a rule for ") + syscall + " without its why");
  policy.policy.rules.push_back(
      {.syscall = syscall, .decision = decision, .tests = std::move(*tests), .why = why});
  return {};
}

}  // namespace
}  // namespace jail::c

using jail::Decision;
using jail::Result;
using jail::Verdict;
using jail::c::add_rule;
using jail::c::guarded;

extern "C" {

jail_status jail_policy_default(jail_policy** policy, jail_error* error) {
  return guarded(__func__, {{"policy", policy}}, error, [&]() -> Result<void> {
    *policy = new jail_policy{jail::default_policy()};
    return {};
  });
}

jail_status jail_policy_new(const char* name, jail_policy** policy, jail_error* error) {
  return guarded(__func__, {{"name", name}, {"policy", policy}}, error, [&]() -> Result<void> {
    jail::Policy made;
    made.name = name;
    *policy = new jail_policy{std::move(made)};
    return {};
  });
}

jail_status jail_policy_copy(const jail_policy* from, jail_policy** policy, jail_error* error) {
  return guarded(__func__, {{"from", from}, {"policy", policy}}, error, [&]() -> Result<void> {
    *policy = new jail_policy(*from);
    return {};
  });
}

void jail_policy_destroy(jail_policy* policy) { delete policy; }

jail_status jail_policy_allow(jail_policy* policy, const char* syscall,
                              const jail_argument_test* tests, size_t count, const char* why,
                              jail_error* error) {
  return guarded(__func__, {{"policy", policy}, {"syscall", syscall}, {"why", why}}, error, [&] {
    return add_rule(*policy, syscall, {Verdict::allow, 0}, {tests, count}, why);
  });
}

jail_status jail_policy_refuse(jail_policy* policy, const char* syscall, int error_number,
                               const jail_argument_test* tests, size_t count, const char* why,
                               jail_error* error) {
  return guarded(__func__, {{"policy", policy}, {"syscall", syscall}, {"why", why}}, error,
                 [&]() -> Result<void> {
                   if (auto done = jail::c::check_errno(error_number); !done) return done;
                   const Decision refusal{Verdict::error, error_number};
                   return add_rule(*policy, syscall, refusal, {tests, count}, why);
                 });
}

jail_status jail_policy_kill(jail_policy* policy, const char* syscall,
                             const jail_argument_test* tests, size_t count, const char* why,
                             jail_error* error) {
  return guarded(__func__, {{"policy", policy}, {"syscall", syscall}, {"why", why}}, error, [&] {
    return add_rule(*policy, syscall, {Verdict::kill, 0}, {tests, count}, why);
  });
}

jail_status jail_policy_allow_terminals(jail_policy* policy, jail_error* error) {
  return guarded(__func__, {{"policy", policy}}, error, [&]() -> Result<void> {
    policy->policy = jail::with_rules(std::move(policy->policy), jail::terminal_rules());
    return {};
  });
}

jail_status jail_policy_drop(jail_policy* policy, const char* syscall, jail_error* error) {
  return guarded(
      __func__, {{"policy", policy}, {"syscall", syscall}}, error, [&]() -> Result<void> {
        const auto names_it = [&](const jail::Rule& rule) { return rule.syscall == syscall; };
        if (std::erase_if(policy->policy.rules, names_it) > 0) return {};
        return jail::invalid(std::string("drop rules: there is none for ") + syscall);
      });
}

jail_status jail_policy_refuse_others(jail_policy* policy, int error_number, jail_error* error) {
  return guarded(__func__, {{"policy", policy}}, error, [&]() -> Result<void> {
    if (auto done = jail::c::check_errno(error_number); !done) return done;
    policy->policy.otherwise = {Verdict::error, error_number};
    return {};
  });
}

jail_status jail_policy_kill_others(jail_policy* policy, jail_error* error) {
  return guarded(__func__, {{"policy", policy}}, error, [&]() -> Result<void> {
    policy->policy.otherwise = {Verdict::kill, 0};
    return {};
  });
}

}  // extern "C"
