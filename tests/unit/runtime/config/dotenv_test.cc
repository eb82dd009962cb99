#include <gtest/gtest.h>

#include "runtime/config/environment.h"

namespace runtime {
namespace {

Environment must_parse(std::string_view text) {
  auto environment = parse_dotenv(text, ".env");
  EXPECT_TRUE(environment.has_value()) << environment.error().message();
  return environment ? std::move(*environment) : Environment();
}

TEST(Dotenv, ReadsWhatPeopleWrite) {
  const Environment environment = must_parse(
      "# comment\n"
      "\n"
      "A=1\n"
      "  B = two words # comment\r\n"
      "export C=x#y\n"
      "D=\"quo\\\"ted # not a comment\\n\" # comment\n"
      "E='single $HOME \\n'\n"
      "F=\n"
      "G=a=b\n"
      "H=# nothing\n"
      "A=last wins");
  const Environment expected = {{"A", "last wins"},
                                {"B", "two words"},
                                {"C", "x#y"},
                                {"D", "quo\"ted # not a comment\n"},
                                {"E", "single $HOME \\n"},
                                {"F", ""},
                                {"G", "a=b"},
                                {"H", ""}};
  EXPECT_EQ(environment, expected);
}

TEST(Dotenv, AStrangersMayHaveAnything) {
  const Environment expected = {{"A", "1"}, {"B", "2"}};
  EXPECT_EQ(parse_strangers_dotenv("A=1\n-----BEGIN KEY-----\nA B=1\nC=\"open\nB=2\n"), expected);
}

TEST(Dotenv, EmptyTextIsNoError) { EXPECT_TRUE(must_parse("").empty()); }

TEST(Dotenv, NamesTheBadLineButNotItsText) {
  for (const char* line :
       {"novalue", "=x", "9A=1", "A B=1", "A=\"open", "A='open", "A=\"x\" y", "A-B=1"}) {
    const auto result = parse_dotenv(std::string("OK=1\n") + line, ".env");
    ASSERT_FALSE(result.has_value()) << line;
    EXPECT_EQ(result.error().message(), ".env line 2: expected NAME=value, with quotes closed");
  }
}

}  // namespace
}  // namespace runtime
