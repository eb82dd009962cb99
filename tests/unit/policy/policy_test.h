// What the tests of one shipped policy share.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <set>

#include "filter_probe.h"

namespace jail::test {

template <class... Numbers>
Arguments arguments(Numbers... numbers) {
  return {static_cast<std::uint64_t>(numbers)...};
}

class PolicyTest : public testing::Test {
 protected:
  explicit PolicyTest(const Policy& policy) : probe_(policy) {}

  // The answer must be the same when the upper halves, which the kernel ignores, are full.
  std::uint32_t ask(long number, const Arguments& plain = {}) const {
    constexpr std::uint64_t garbage = 0xdeadbeef00000000;
    const std::uint32_t answer = probe_.ask(number, plain);
    Arguments dirty = plain;
    for (std::uint64_t& argument : dirty) argument |= garbage;
    EXPECT_EQ(probe_.ask(number, dirty), answer) << number;
    return answer;
  }
  bool passes(long number, const Arguments& plain = {}) const {
    return ask(number, plain) == allowed;
  }

  // By arguments at random. `may_pass`: what passes with some arguments.
  void nothing_else_passes(const std::set<long>& may_pass) const {
    Random random(1);
    std::set<long> passed;
    for (long number = 0; number < 1024; ++number) {
      for (int round = 0; round < 2000; ++round) {
        Arguments some{};
        for (std::uint64_t& argument : some) argument = random() >> (random() % 64);
        if (!passes(number, some)) continue;
        passed.insert(number);
        EXPECT_TRUE(may_pass.contains(number)) << number;
        break;
      }
    }
    // Of those with arguments some are too rare to be met by chance.
    EXPECT_GT(passed.size() + 10, may_pass.size());
  }

  FilterProbe probe_;
};

}  // namespace jail::test
