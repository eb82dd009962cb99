#include "server/cli/typed_escape.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace server {
namespace {

// What the program gets of keys that are typed one at a time, and how often the end is asked for.
std::pair<std::string, int> typed_singly(std::string_view keys) {
  TypedEscape escape;
  std::string passed;
  int ends = 0;
  for (const char key : keys) {
    std::string typed(1, key);
    if (escape.take(typed)) ++ends;
    passed += typed;
  }
  return {passed, ends};
}

std::pair<std::string, int> typed_at_once(std::string_view keys) {
  TypedEscape escape;
  std::string typed(keys);
  const int ends = escape.take(typed) ? 1 : 0;
  return {typed, ends};
}

using Typed = std::pair<std::string, int>;

TEST(TypedEscape, IsATildeAndADotAtTheBeginningOfALine) {
  for (const char* keys : {"~.", "\r~.", "ls\r~.", "ls\n~.", "\x03\r~."}) {
    const std::string before(keys, std::string_view(keys).size() - 2);
    EXPECT_EQ(typed_singly(keys), Typed(before, 1)) << keys;
    EXPECT_EQ(typed_at_once(keys), Typed(before, 1)) << keys;
  }
}

TEST(TypedEscape, EverythingElseIsTheProgramsAsItWasTyped) {
  for (const char* keys :
       {"", "a", "a~.", "~a.", "~/x\r", "ls ~\r", "\r~\r.", "a\r~b~.", "..~.\r"}) {
    EXPECT_EQ(typed_singly(keys), Typed(keys, 0)) << keys;
    EXPECT_EQ(typed_at_once(keys), Typed(keys, 0)) << keys;
  }
}

TEST(TypedEscape, TwoTildesAreOne) {
  EXPECT_EQ(typed_singly("~~.\r~~"), Typed("~.\r~", 0));
  EXPECT_EQ(typed_at_once("~~.\r~~"), Typed("~.\r~", 0));
}

}  // namespace
}  // namespace server
