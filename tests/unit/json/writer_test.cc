#include "runtime/json/writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <random>
#include <string>

#include "runtime/json/reader.h"

namespace runtime::json {
namespace {

TEST(Writer, WritesNestedValuesWithCommas) {
  Writer writer;
  writer.begin_object().key("a").begin_array().integer(1).integer(2).begin_array().end_array();
  writer.end_array().key("b").begin_object().end_object().key("c").null().key("d").boolean(true);
  writer.key("e").string("x\"\\\n\r\t\x01").end_object();
  EXPECT_EQ(std::move(writer).take(),
            R"({"a":[1,2,[]],"b":{},"c":null,"d":true,"e":"x\"\\\n\r\t\u0001"})");
}

TEST(Writer, WritesNumbersInPlainNotation) {
  Writer writer;
  writer.begin_array().number(0.31).number(5).number(-0.5).number(1e21);
  writer.number(std::numeric_limits<double>::infinity());
  writer.number(std::numeric_limits<double>::quiet_NaN());
  writer.integer(std::numeric_limits<std::int64_t>::min()).end_array();
  EXPECT_EQ(std::move(writer).take(), "[0.31,5,-0.5,1e+21,null,null,-9223372036854775808]");
  Writer extremes;
  extremes.begin_array().number(std::numeric_limits<double>::max());
  extremes.number(std::numeric_limits<double>::denorm_min()).end_array();
  const auto value = parse(std::move(extremes).take(), "numbers");
  ASSERT_TRUE(value.has_value());
  EXPECT_EQ(*value->as_array()->at(0).as_double(), std::numeric_limits<double>::max());
  EXPECT_EQ(*value->as_array()->at(1).as_double(), std::numeric_limits<double>::denorm_min());
}

TEST(Writer, RepairsByMaximalSubparts) {
  // The examples of the Unicode standard, section 3.9, "U+FFFD Substitution of Maximal Subparts".
  const std::string fffd = "\xEF\xBF\xBD";
  const auto times = [&](int n) {
    std::string text;
    while (n-- > 0) text += fffd;
    return text;
  };
  EXPECT_EQ(repair_utf8("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"), times(8) + "A");
  EXPECT_EQ(repair_utf8("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"), times(8) + "A");
  EXPECT_EQ(repair_utf8("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"), times(5) + "A" + times(2) + "B");
  EXPECT_EQ(repair_utf8("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), times(4) + "A");
  EXPECT_EQ(repair_utf8("a\xE2\x82"), "a" + fffd);
  EXPECT_EQ(repair_utf8("\xE2\x82\xAC\xF0\x9F\x98\x80\xC3\xA9"),
            "\xE2\x82\xAC\xF0\x9F\x98\x80\xC3\xA9");
  EXPECT_EQ(repair_utf8(std::string_view("a\0b", 3)), std::string("a\0b", 3));
}

TEST(Writer, AnyBytesMakeAValidDocument) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes;
    for (std::size_t n = random() % 24; n > 0; --n) bytes += static_cast<char>(random());
    Writer writer;
    writer.begin_object().key(bytes).string(bytes).end_object();
    const auto value = parse(std::move(writer).take(), "document");
    ASSERT_TRUE(value.has_value()) << value.error().message();
    EXPECT_EQ(*value->as_object()->begin()->second.as_string(), repair_utf8(bytes));
    EXPECT_TRUE(is_utf8(repair_utf8(bytes)));
    EXPECT_EQ(is_utf8(bytes), repair_utf8(bytes) == bytes);
  }
}

TEST(Writer, PrefixesEndWhereCharactersDo) {
  const std::string text = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z";  // 1, 2, 3, 4 and 1 bytes
  const std::size_t ends[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11};
  for (std::size_t most = 0; most < std::size(ends); ++most) {
    EXPECT_EQ(utf8_prefix(text, most), text.substr(0, ends[most])) << most;
  }
  EXPECT_EQ(utf8_prefix(text, 1000), text);
  EXPECT_EQ(utf8_prefix("", 0), "");
}

TEST(Writer, PrefixesOfWhatIsNoUtf8AreCutAnywhere) {
  const std::string halves(100, '\x80');
  const std::string leads(100, '\xF0');
  for (std::size_t most = 0; most <= 100; ++most) {
    EXPECT_EQ(utf8_prefix(halves, most).size(), most);
    EXPECT_EQ(utf8_prefix(leads, most).size(), most);
  }
  EXPECT_EQ(utf8_prefix("\xE2\x82z", 1), "\xE2") << "no character is cut in two there";
}

// Text that was repaired and then cut is the beginning of the same text repaired.
TEST(Writer, PrefixesOfAnyBytesAddNothing) {
  std::mt19937 random(11);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes;
    for (std::size_t n = random() % 24; n > 0; --n) bytes += static_cast<char>(random());
    const std::string text = repair_utf8(bytes);
    const std::size_t most = random() % 24;
    const std::string_view prefix = utf8_prefix(text, most);
    EXPECT_TRUE(is_utf8(prefix));
    EXPECT_TRUE(text.starts_with(prefix));
    EXPECT_LE(prefix.size(), most);
    EXPECT_GE(prefix.size() + 3, std::min(most, text.size()));
  }
}

TEST(Writer, QuotedCutsBetweenCharacters) {
  EXPECT_EQ(quoted("a\"b"), R"("a\"b")");
  EXPECT_EQ(quoted("abcdef", 3), "\"abc...\"");
  EXPECT_EQ(quoted("ab\xC3\xA9", 3), "\"ab...\"");
}

TEST(Writer, PlacesAreNamedByBareKeysWhereTheyCan) {
  EXPECT_EQ(named("memory_limit-2"), "memory_limit-2");
  EXPECT_EQ(named(""), "\"\"");
  EXPECT_EQ(named("a.b"), "\"a.b\"");
  EXPECT_EQ(named("a\n"), "\"a\\n\"");
}

}  // namespace
}  // namespace runtime::json
