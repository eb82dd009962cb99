#include "server/cli/plain_text.h"

#include <gtest/gtest.h>

namespace server {
namespace {

const std::string replaced = "\xEF\xBF\xBD";

TEST(PlainText, TextStaysAsItIs) {
  const std::string text = "a\tb\nü – 日本 🙂\n";
  EXPECT_EQ(plain_text(text), text);
  EXPECT_EQ(plain_text(""), "");
  EXPECT_EQ(plain_text("a\r\nb"), "a\nb");
}

TEST(PlainText, NothingThatATerminalObeysIsLeft) {
  for (int c = 0; c < 256; ++c) {
    const std::string plain = plain_text(std::string("x") + static_cast<char>(c) + "y");
    for (const char left : plain) {
      const auto byte = static_cast<unsigned char>(left);
      EXPECT_TRUE(byte >= 0x20 || left == '\n' || left == '\t') << c;
      EXPECT_NE(byte, 0x7F) << c;
    }
  }
  EXPECT_EQ(plain_text("\x1b[31mred"), replaced + "[31mred");
  EXPECT_EQ(plain_text("a\rb"), "a" + replaced + "b");
  EXPECT_EQ(plain_text("\xC2\x9B"
                       "2J"),
            replaced + "2J")
      << "CSI in one character";
  EXPECT_EQ(plain_text("\xE2\x80\xAE"
                       "x"),
            replaced + "x")
      << "right-to-left override";
  EXPECT_EQ(plain_text("\xE2\x81\xA6x"), replaced + "x") << "isolate";
  EXPECT_EQ(plain_text("\xFF\x1B"), replaced + replaced);
}

TEST(PlainText, JsonSaysTheSameWithoutWhatATerminalObeys) {
  const std::string json =
      "{\"a\":\"\xC2\x9B"
      "31m \x7F \xE2\x80\xAE ü 🙂\"}\n";
  EXPECT_EQ(plain_json(json), "{\"a\":\"\\u009b31m \\u007f \\u202e ü 🙂\"}\n");
  EXPECT_EQ(plain_json("[1, \"\\u001b\"]"), "[1, \"\\u001b\"]");
}

TEST(PlainText, ALineIsOneLineAndBounded) {
  EXPECT_EQ(plain_line("a\nb\tc", 10), "a b c");
  EXPECT_EQ(plain_line("äöü", 3), "äöü");
  EXPECT_EQ(plain_line("äöüß", 3), "äöü…");
  EXPECT_EQ(plain_line(std::string(1'000'000, 'x'), 5), "xxxxx…");
}

}  // namespace
}  // namespace server
