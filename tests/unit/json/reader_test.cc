#include "runtime/json/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <limits>
#include <string>

#include "runtime/json/writer.h"

namespace runtime::json {
namespace {

Value must_parse(std::string_view text) {
  auto value = parse(text, "body");
  EXPECT_TRUE(value.has_value()) << text << ": " << value.error().message();
  return value ? std::move(*value) : Value();
}

std::string error_of(std::string_view text) {
  const auto value = parse(text, "body");
  if (value) return "accepted";
  EXPECT_EQ(value.error().kind, jail::ErrorKind::invalid);
  return value.error().message();
}

std::string nested(int levels, std::string_view open, std::string_view close) {
  std::string text;
  for (int i = 0; i < levels; ++i) text += open;
  for (int i = 0; i < levels; ++i) text += close;
  return text;
}

TEST(Reader, ReadsEveryKindOfValue) {
  const Value root = must_parse(
      R"( {"n": null, "t": true, "f": false, "i": -7, "d": 1.5, "s": "a\u00e9\n", "a": [1, []], "o": {}} )");
  const Object* object = root.as_object();
  ASSERT_NE(object, nullptr);
  EXPECT_TRUE(object->at("n").is_null());
  EXPECT_TRUE(*object->at("t").as_bool());
  EXPECT_FALSE(*object->at("f").as_bool());
  EXPECT_EQ(*object->at("i").as_integer(), -7);
  EXPECT_EQ(*object->at("d").as_double(), 1.5);
  EXPECT_EQ(*object->at("s").as_string(), "a\xC3\xA9\n");
  ASSERT_EQ(object->at("a").as_array()->size(), 2u);
  EXPECT_TRUE(object->at("o").as_object()->empty());
}

TEST(Reader, ReadsARootThatIsNoObject) {
  EXPECT_EQ(*must_parse("3").as_integer(), 3);
  EXPECT_EQ(*must_parse("\"x\"").as_string(), "x");
}

TEST(Reader, KeepsIntegersAndDoublesApart) {
  EXPECT_EQ(*must_parse("9223372036854775807").as_integer(),
            std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(*must_parse("-9223372036854775808").as_integer(),
            std::numeric_limits<std::int64_t>::min());
  const Value beyond = must_parse("9223372036854775808");
  EXPECT_EQ(beyond.as_integer(), nullptr);
  EXPECT_EQ(*beyond.as_double(), 9223372036854775808.0);
  EXPECT_EQ(must_parse("1.0").as_integer(), nullptr);
  EXPECT_EQ(must_parse("1e3").as_integer(), nullptr);
}

TEST(Reader, NumbersBeyondADoubleAreTheLargestOne) {
  EXPECT_EQ(*must_parse("1e999").as_double(), 1e308);
  EXPECT_EQ(*must_parse("-1e999").as_double(), -1e308);
  EXPECT_EQ(*must_parse("123456789012345678901").as_double(), 123456789012345678901.0);
  EXPECT_EQ(*must_parse("-" + std::string(400, '9')).as_double(), -1e308);
  const Value root =
      must_parse(R"({"a\"1e999": "1e999 99999999999999999999", "b": 1e999, "c": 3})");
  const Object& object = *root.as_object();
  EXPECT_EQ(*object.at("a\"1e999").as_string(), "1e999 99999999999999999999");
  EXPECT_EQ(*object.at("b").as_double(), 1e308);
  EXPECT_EQ(*object.at("c").as_integer(), 3);
  EXPECT_EQ(error_of("[1e999, 01]"),
            "body: not valid JSON: a number is malformed at line 1, column 9");
  for (const char* text :
       {"[099999999999999999999]", "[1e9999-099]", "[1e999.5]", "[-]", "[1e999e1]",
        "[99999999999999999999.]", "[1.e999]", "[--1e999]", "[1e+]"}) {
    EXPECT_NE(error_of(text), "accepted") << text;
  }
  EXPECT_EQ(*must_parse("0.5e999").as_double(), 1e308);
  EXPECT_EQ(*must_parse("-1.5E+999").as_double(), -1e308);
}

TEST(Reader, SaysWhereTheTextIsNoJson) {
  const std::pair<std::string, std::string> wrong[] = {
      {"{", "line 1, column 2"},
      {"{\"a\": 1,}", "line 1, column 9"},
      {"{\"a\" 1}", "line 1, column 6"},
      {"{\"a\": 1 \"b\": 2}", "line 1, column 9"},
      {"[1, 2", "line 1, column 6"},
      {"[1, 2}", "line 1, column 6"},
      {"{\n  \"a\": tru\n}", "line 2, column 8"},
      {"{\n  \"\u00fc\": 'x'}", "line 2, column 8"},
      {"[\"a", "line 1, column 2"},
      {"[\"a\\x\"]", "line 1, column 4"},
      {"[\"a\tb\"]", "line 1, column 4"},
      {"{} x", "line 1, column 4"},
      {"[01]", "line 1, column 2"}};
  for (const auto& [text, place] : wrong) {
    EXPECT_THAT(error_of(text), ::testing::EndsWith(" at " + place)) << text;
  }
}

TEST(Reader, KeepsNulAndPairedSurrogates) {
  EXPECT_EQ(*must_parse(R"("a\u0000b")").as_string(), std::string("a\0b", 3));
  EXPECT_EQ(*must_parse(R"("\ud83d\ude00")").as_string(), "\xF0\x9F\x98\x80");
}

TEST(Reader, NamesADuplicateKey) {
  EXPECT_EQ(error_of(R"({"code": 1, "code": 2})"), "body: duplicate key \"code\"");
  EXPECT_EQ(error_of(R"({"code": 1, "\u0063ode": 2})"), "body: duplicate key \"code\"");
  EXPECT_EQ(error_of(R"({"env": {"A": "1", "A": "2"}})"), "body.env: duplicate key \"A\"");
  EXPECT_EQ(error_of(R"({"list": [0, {"A B": {"x": 0, "x": 0}}]})"),
            "body.list[1].\"A B\": duplicate key \"x\"");
}

TEST(Reader, TheSameKeyInDifferentObjectsIsFine) {
  must_parse(R"({"a": {"x": 1}, "b": {"x": 2}, "x": [{"x": 1}, {"x": 2}]})");
}

TEST(Reader, RefusesLoneSurrogatesEverywhere) {
  for (const char* text : {R"({"a": "\udc00"})", R"({"a": "\ud800"})", R"({"a": "\ud800x"})",
                           R"({"a": "\ud800\ud800"})", R"({"a": "\udc00\ud800"})",
                           R"({"\udc00": 1})", R"([[["x\udfff"]]])"}) {
    EXPECT_NE(error_of(text).find("lone surrogate"), std::string::npos) << text;
  }
}

// Versions of simdjson differ in what they accept here, so every escape is tried.
TEST(Reader, AnEscapedStringIsUtf8OrRefused) {
  const auto escape = [](unsigned unit) {
    char text[8];
    std::snprintf(text, sizeof text, "\\u%04x", unit);
    return std::string(text);
  };
  for (unsigned unit = 0; unit <= 0xffff; ++unit) {
    const bool surrogate = unit >= 0xd800 && unit <= 0xdfff;
    const auto value = parse('"' + escape(unit) + '"', "body");
    ASSERT_EQ(value.has_value(), !surrogate) << std::hex << unit;
    ASSERT_TRUE(!value || is_utf8(*value->as_string())) << std::hex << unit;
  }
  for (unsigned first = 0xd7ff; first <= 0xe000; first += 31) {
    for (unsigned second = 0xd7ff; second <= 0xe000; second += 31) {
      const auto value = parse('"' + escape(first) + escape(second) + '"', "body");
      const bool pair = first >= 0xd800 && first < 0xdc00 && second >= 0xdc00 && second < 0xe000;
      const bool plain = (first < 0xd800 || first > 0xdfff) && (second < 0xd800 || second > 0xdfff);
      ASSERT_EQ(value.has_value(), pair || plain) << std::hex << first << ' ' << second;
    }
  }
}

TEST(Reader, RefusesInvalidUtf8) {
  for (const char* text : {"\"\xFF\"", "\"\xC0\xAF\"", "\"\xED\xA0\x80\"", "\"\xF4\x90\x80\x80\"",
                           "\"\xE2\x82\"", "\xFF"}) {
    EXPECT_EQ(error_of(text), "body: not valid UTF-8") << text;
  }
}

TEST(Reader, RefusesWhatIsNotOneJsonValue) {
  for (const char* text :
       {"",          " ",          "{} x",   "{}{}",   "1 2",     "{\"a\": {\"b\": }}",
        "[1,]",      "{\"a\":1,}", "{a: 1}", "'a'",    "NaN",     "Infinity",
        "-Infinity", "nul",        "tru",    "01",     "+1",      "1.",
        ".5",        "-",          "1e",     "0x10",   "1e999x",  "\"\n\"",
        "\"\\x\"",   "\"a",        "[1",     "{\"a\"", "// x\n1", "/* */ 1",
        "]",         "\f1"}) {
    EXPECT_NE(error_of(text), "accepted") << text;
  }
  EXPECT_NE(error_of(std::string_view("1\0", 2)), "accepted");
  EXPECT_NE(error_of(std::string_view("\0", 1)), "accepted");
}

TEST(Reader, RefusesAByteOrderMark) {
  EXPECT_EQ(error_of("\xEF\xBB\xBF{}"), "body: starts with a byte order mark");
}

TEST(Reader, HoldsTheDepthExactly) {
  must_parse(nested(max_depth, "[", "]"));
  EXPECT_NE(error_of(nested(max_depth + 1, "[", "]")).find("nested deeper than 32 levels"),
            std::string::npos);
  EXPECT_EQ(error_of(nested(100000 / 2, "[", "]")), "body: nested deeper than 32 levels");
  const std::string objects = nested(max_depth - 1, "{\"a\":", "}");
  must_parse(nested(max_depth - 1, "{\"a\":", "")
                 .append("{}")
                 .append(static_cast<std::size_t>(max_depth - 1), '}'));
  EXPECT_NE(error_of(nested(max_depth, "{\"a\":", "").append("{}").append(max_depth, '}'))
                .find("nested deeper"),
            std::string::npos);
}

TEST(Reader, BoundsTheNumberOfValues) {
  std::string many = "[1";
  for (std::size_t i = 0; i + 3 < max_values; ++i) many += ",1";
  must_parse(many + "]");
  EXPECT_EQ(error_of(many + ",1,1]"), "body: more than 100000 values");
  must_parse("\"" + std::string(300'000, ',') + "\"");
  must_parse("\"\\\"" + std::string(300'000, '[') + "\"");
}

TEST(Reader, CutsLongKeysInErrors) {
  const std::string key(1000, 'k');
  EXPECT_LT(error_of("{\"" + key + "\":1,\"" + key + "\":2}").size(), 120u);
}

}  // namespace
}  // namespace runtime::json
