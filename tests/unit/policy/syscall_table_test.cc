// The compiled policy against tests/system_calls.txt: a rule that allows more than intended fails
// here.
#if defined(__x86_64__)

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "filter_probe.h"
#include "policy/syscall_numbers.h"
#include "system_call_table.h"

namespace jail::test {
namespace {

constexpr std::uint32_t last_number = 1023;

class SyscallTable : public testing::Test {
 protected:
  const std::vector<TableRow> rows_ = SystemCallTable::read(SYSTEM_CALL_TABLE);
  FilterProbe probe_{default_policy()};
};

TEST_F(SyscallTable, ListsEveryNumberUnderItsName) {
  std::map<std::uint32_t, std::string> names;
  std::set<std::uint32_t> decided;
  for (const TableRow& row : rows_) {
    if (row.first > last_number) continue;
    for (std::uint32_t number = row.first; number <= row.last; ++number) {
      EXPECT_EQ(names.emplace(number, row.name).first->second, row.name) << row.line;
      const bool once = decided.insert(number).second;
      EXPECT_TRUE(once || !row.whatever_arguments) << row.line << " is not the only one";
    }
    if (row.name != "-") {
      EXPECT_EQ(syscall_number(row.name), static_cast<int>(row.first)) << row.line;
    }
  }
  EXPECT_EQ(names.size(), last_number + 1) << "from 0 on, none left out";
}

// For every call that is decided by its arguments, lists the answers for all zeros and all ones.
TEST_F(SyscallTable, ListsBothEndsOfEachArgument) {
  std::map<std::string, std::set<std::uint64_t>> ends;
  for (const TableRow& row : rows_) {
    if (row.whatever_arguments) continue;
    auto& seen = ends[row.name];
    if (row.arguments == Arguments{} || row.arguments[5] != 0) seen.insert(row.arguments[5]);
  }
  EXPECT_GE(ends.size(), 15u);
  for (const auto& [name, seen] : ends) EXPECT_EQ(seen.size(), 2u) << name;
}

TEST_F(SyscallTable, EveryNumberGetsItsAnswer) {
  constexpr std::uint64_t ones = ~std::uint64_t{0};
  for (const TableRow& row : rows_) {
    for (std::uint32_t number = row.first;; ++number) {
      if (row.whatever_arguments) {
        EXPECT_EQ(probe_.ask(number), row.action) << number << ": " << row.line;
        EXPECT_EQ(probe_.ask(number, {ones, ones, ones, ones, ones, ones}), row.action)
            << number << ": " << row.line;
      } else {
        EXPECT_EQ(probe_.ask(number, row.arguments), row.action) << row.line;
      }
      if (number == row.last) break;
    }
  }
}

// The kernel ignores the upper half of the arguments on which rules depend.
TEST_F(SyscallTable, ArgumentsMeanTheirLowerHalf) {
  Random random(5);
  for (const TableRow& row : rows_) {
    if (row.whatever_arguments) continue;
    for (int round = 0; round < 50; ++round) {
      EXPECT_EQ(probe_.ask(row.first, with_garbage_above(row.arguments, random)), row.action)
          << row.line;
    }
  }
}

// Tries small numbers in every argument, among which are the values that programs pass.
TEST_F(SyscallTable, NoOtherCallLooksAtItsArguments) {
  Random random(3);
  for (const TableRow& row : rows_) {
    if (!row.whatever_arguments || row.name == "-") continue;
    for (int round = 0; round < 200; ++round) {
      Arguments arguments;
      for (std::uint64_t& argument : arguments) argument = random() >> (random() % 64);
      EXPECT_EQ(probe_.ask(row.first, arguments), row.action) << row.line;
    }
  }
}

}  // namespace
}  // namespace jail::test

#endif
