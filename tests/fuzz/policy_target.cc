// Policy files. An accepted one becomes a filter that the kernel loads and that decides every call
// as the file says, read literally; calls that it does not name stay forbidden.
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include <algorithm>
#include <bit>
#include <map>
#include <string>
#include <vector>

#include "policy/bpf_evaluator.h"
#include "policy/syscall_numbers.h"
#include "runtime/policy/policy_json.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/policy/policy_model.h"

namespace fuzz {
namespace {

using jail::Policy;
using jail::Rule;
using jail::test::Arguments;

constexpr int numbers_asked = 512;  // more than Linux has system calls
constexpr std::uint32_t x32_bit = 0x40000000;
constexpr std::uint32_t arch_i386 = 0x40000003;

// Rules by the number of their call, since one call may be named twice.
using Table = std::map<int, Policy>;

Table by_number(const Policy& policy) {
  Table table;
  for (const Rule& rule : policy.rules) {
    const auto number = jail::syscall_number(rule.syscall);
    require(number.has_value(), "a call that nobody knows was compiled");
    if (*number < 0) continue;
    Policy& one = table[*number];
    one.otherwise = policy.otherwise;
    one.rules.push_back(rule);
    one.rules.back().syscall.clear();
  }
  return table;
}

// The filter with a planted fault: its first refusal permits the call, so the target must find it.
jail::FilterProgram faulty(jail::FilterProgram filter) {
  for (std::uint64_t& word : filter.instructions) {
    auto instruction = std::bit_cast<sock_filter>(word);
    const bool refuses = instruction.code == (BPF_RET | BPF_K) &&
                         (instruction.k & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO;
    if (!refuses) continue;
    instruction.k = SECCOMP_RET_ALLOW;
    word = std::bit_cast<std::uint64_t>(instruction);
    break;
  }
  return filter;
}

class Filter {
 public:
  explicit Filter(const jail::FilterProgram& program)
      : evaluator_(jail::BpfEvaluator::load(program)) {
    require(evaluator_.has_value(), "a policy became a filter that the kernel would not load");
  }

  std::uint32_t ask(std::uint32_t arch, std::uint32_t number, const Arguments& arguments) const {
    seccomp_data call{};
    call.nr = static_cast<int>(number);
    call.arch = arch;
    for (std::size_t i = 0; i < arguments.size(); ++i) call.args[i] = arguments[i];
    return evaluator_->run(call).action;
  }

 private:
  jail::Result<jail::BpfEvaluator> evaluator_;
};

// Arguments that pass the rule (except those of a `not_equal`), and others that narrowly do not.
std::vector<Arguments> around(const Rule& rule, jail::test::Random& random) {
  Arguments passing{};
  for (const jail::ArgumentTest& test : rule.tests) {
    passing[test.argument] = (passing[test.argument] & ~std::uint64_t{test.mask}) | test.value;
  }
  std::vector<Arguments> all = {passing};
  for (const jail::ArgumentTest& test : rule.tests) {
    all.push_back(passing);
    all.back()[test.argument] ^= std::uint64_t{1} << random() % 32;
  }
  for (Arguments& arguments : all) arguments = jail::test::with_garbage_above(arguments, random);
  return all;
}

void check_call(const Filter& filter, int number, const Policy& rules, jail::test::Random& random) {
  std::vector<Arguments> asked = {{}};
  for (const Rule& rule : rules.rules) {
    for (const Arguments& arguments : around(rule, random)) asked.push_back(arguments);
  }
  for (const Arguments& arguments : asked) {
    const auto decided =
        filter.ask(jail::test::native_arch, static_cast<std::uint32_t>(number), arguments);
    require(decided == jail::test::action_of(jail::test::decide(rules, "", arguments)),
            "call " + std::to_string(number) + " is decided in another way than the policy says");
  }
}

void check_filter(const Policy& policy, const jail::FilterProgram& program) {
  const Filter filter(is_planted() ? faulty(program) : program);
  jail::test::Random random(7);
  const Table table = by_number(policy);
  Policy unnamed;
  unnamed.otherwise = policy.otherwise;
  for (int number = 0; number < numbers_asked; ++number) {
    const auto found_rules = table.find(number);
    check_call(filter, number, found_rules == table.end() ? unnamed : found_rules->second, random);
    const auto nr = static_cast<std::uint32_t>(number);
    require(filter.ask(arch_i386, nr, {}) == SECCOMP_RET_KILL_PROCESS, "a 32-bit call lives");
    require(filter.ask(jail::test::native_arch, nr | x32_bit, {}) == SECCOMP_RET_KILL_PROCESS,
            "an x32 call lives");
  }
}

bool is_one_line(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x20; });
}

void try_input(std::string_view document) {
  const auto policy = runtime::policy::parse_policy(document, "file");
  if (!policy) {
    require(policy.error().kind == jail::ErrorKind::invalid, "a bad file, and not its fault");
    require(policy.error().doing.starts_with("file"), "an error that names no file");
    require(is_one_line(policy.error().message()), "an error of more than one line");
    return;
  }
  require(policy->otherwise.verdict != jail::Verdict::allow, "a policy that is open by default");
  const auto filter = jail::compile_policy(*policy);
  if (!filter) {
    require(filter.error().kind == jail::ErrorKind::invalid, "a bad policy, and not its fault");
    return;
  }
  check_filter(*policy, *filter);
}

}  // namespace
}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  fuzz::try_input(fuzz::text_of(bytes, size));
  return 0;
}
