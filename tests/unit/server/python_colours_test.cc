#include "server/cli/python_colours.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace server {
namespace {

using ::testing::HasSubstr;

TokenKind kind_of(std::string_view code, std::string_view text) {
  for (const Token& token : python_tokens(code)) {
    if (token.text == text) return token.kind;
  }
  ADD_FAILURE() << text << " is no token of " << code;
  return TokenKind::plain;
}

std::string joined(std::string_view code) {
  std::string text;
  for (const Token& token : python_tokens(code)) text += token.text;
  return text;
}

TEST(PythonColours, Kinds) {
  EXPECT_EQ(kind_of("def f(x): pass", "def"), TokenKind::keyword);
  EXPECT_EQ(kind_of("def f(x): pass", "f"), TokenKind::name);
  EXPECT_EQ(kind_of("def f(x): pass", "x"), TokenKind::plain);
  EXPECT_EQ(kind_of("print(1)", "print"), TokenKind::builtin);
  EXPECT_EQ(kind_of("x = 0x1F + 2", "0x1F"), TokenKind::number);
  EXPECT_EQ(kind_of("x  # 'no string\ny", "# 'no string"), TokenKind::comment);
  EXPECT_EQ(kind_of("@a.b\ndef f(): 0", "@a.b"), TokenKind::decorator);
  EXPECT_EQ(kind_of("x @ y", "@"), TokenKind::plain);
  EXPECT_EQ(kind_of("define = 1", "define"), TokenKind::plain);
}

TEST(PythonColours, Strings) {
  const std::pair<const char*, const char*> cases[] = {
      {"x = 'a # b'", "'a # b'"},
      {R"(x = "a\"b" + c)", R"("a\"b")"},
      {"x = rb'\\'' + y", "rb'\\''"},
      {"f'{x}'", "f'{x}'"},
      {"'''a\n'b'\n''' + 1", "'''a\n'b'\n'''"},
      {"'open\nx", "'open"},
      {"\"\"\"open\nx", "\"\"\"open\nx"},
      {"'\\", "'\\"},
  };
  for (const auto& [code, text] : cases) EXPECT_EQ(kind_of(code, text), TokenKind::string) << code;
  EXPECT_EQ(kind_of("fur = 1", "fur"), TokenKind::plain) << "f and u are no prefix here";
}

TEST(PythonColours, NothingIsLostWhateverComes) {
  std::string text;
  unsigned state = 7;
  const std::string_view alphabet = "\"'\\#@rbf x1_.\n\tdef(ü";
  for (int round = 0; round < 300; ++round) {
    text.clear();
    for (int i = 0; i < 40; ++i) {
      state = state * 1103515245u + 12345u;
      text += alphabet[(state >> 16) % alphabet.size()];
    }
    EXPECT_EQ(joined(text), text);
  }
}

TEST(PythonColours, Colours) {
  EXPECT_THAT(coloured_python("return 1"), HasSubstr("\x1b[35mreturn\x1b[0m"));
  EXPECT_EQ(coloured_python("x + y"), "x + y");
}

}  // namespace
}  // namespace server
