#include "policy/argument_rules.h"

#include <linux/seccomp.h>

#include <bit>
#include <cstddef>
#include <map>
#include <numeric>
#include <span>
#include <vector>

namespace jail {
namespace {

using Rules = std::span<const Rule* const>;

// The upper half is never looked at: the kernel truncates these arguments to int, so garbage up
// there must not carry a call past a rule.
Word word_of(const ArgumentTest& test) {
  constexpr std::size_t low_half = std::endian::native == std::endian::little ? 0 : 4;
  return {.offset = static_cast<std::uint32_t>(offsetof(seccomp_data, args) +
                                               test.argument * sizeof(__u64) + low_half),
          .mask = test.mask};
}

// Cuts the rules into parts that are each decided by one look at a word: rules in a row that ask
// for a value of the same word by their test `at`, or one rule.
std::vector<Rules> parts_of(Rules rules, std::size_t at) {
  const auto asks_for_a_value = [&](const Rule* rule) {
    return rule->tests.size() > at && rule->tests[at].op == ArgumentTest::Op::equal;
  };
  std::vector<Rules> parts;
  while (!rules.empty()) {
    std::size_t count = 1;
    while (count < rules.size() && asks_for_a_value(rules[0]) && asks_for_a_value(rules[count]) &&
           word_of(rules[0]->tests[at]) == word_of(rules[count]->tests[at])) {
      ++count;
    }
    parts.push_back(rules.first(count));
    rules = rules.subspan(count);
  }
  return parts;
}

class ArgumentRules {
 public:
  explicit ArgumentRules(FilterWriter& writer) : writer_(writer) {}

  // Writes the tests from `at` on of rules whose earlier tests hold. `otherwise` is where calls go
  // that none of the rules matches.
  Step write(Rules rules, std::size_t at, Step otherwise) {
    const std::vector<Rules> parts = parts_of(rules, at);
    return std::accumulate(parts.rbegin(), parts.rend(), otherwise,
                           [&](Step next, Rules part) { return write_part(part, at, next); });
  }

 private:
  Step write_part(Rules rules, std::size_t at, Step otherwise) {
    const Rule& first = *rules.front();
    if (first.tests.size() == at) return writer_.answer(seccomp_action(first.decision));
    const ArgumentTest& test = first.tests[at];
    if (test.op == ArgumentTest::Op::not_equal) {
      return choose(test, {{test.value, otherwise}}, write(rules, at + 1, otherwise));
    }
    std::map<std::uint32_t, std::vector<const Rule*>> by_value;
    for (const Rule* rule : rules) by_value[rule->tests[at].value].push_back(rule);
    std::map<std::uint32_t, Step> steps;
    for (const auto& [value, its_rules] : by_value) {
      steps[value] = write(its_rules, at + 1, otherwise);
    }
    return choose(test, steps, otherwise);
  }

  Step choose(const ArgumentTest& test, const std::map<std::uint32_t, Step>& by_value, Step other) {
    std::vector<Range> ranges = {{.first = 0, .next = other}};
    for (const auto& [value, step] : by_value) {
      if (ranges.back().first == value) ranges.pop_back();
      ranges.push_back({.first = value, .next = step});
      if (value != 0xffffffff) ranges.push_back({.first = value + 1, .next = other});
    }
    return writer_.choose(word_of(test), ranges);
  }

  FilterWriter& writer_;
};

}  // namespace

Step write_argument_rules(const CallRules& call, const Decision& otherwise, FilterWriter& writer) {
  const Step rest = writer.answer(seccomp_action(otherwise));
  const Step first = ArgumentRules(writer).write(call.tested, 0, rest);
  writer.expect_another_word(first);
  return first;
}

}  // namespace jail
