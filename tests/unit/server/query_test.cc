#include "server/api/query.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace server {
namespace {

TEST(Query, PercentEncodingIsUndone) {
  EXPECT_EQ(percent_decoded("a%20b%2Fc"), "a b/c");
  EXPECT_EQ(percent_decoded("%c3%A4"), "\xc3\xa4");
  EXPECT_EQ(percent_decoded("a+b"), "a+b");
  EXPECT_EQ(percent_decoded("%00"), std::string(1, '\0'));
  EXPECT_EQ(percent_decoded("%2520"), "%20") << "once";
  EXPECT_EQ(percent_decoded(""), "");
  for (const char* wrong : {"%", "%2", "%2g", "%g2", "a%-1", "%+1", "% 1", "%%20"}) {
    EXPECT_EQ(percent_decoded(wrong), std::nullopt) << wrong;
  }
}

TEST(Query, PercentEncodingLeavesWhatIsPlain) {
  EXPECT_EQ(percent_encoded("aZ09-._~"), "aZ09-._~");
  EXPECT_EQ(percent_encoded("a b/ü?%#"), "a%20b%2F%C3%BC%3F%25%23");
  EXPECT_EQ(percent_encoded("/a b/c", Slashes::stay), "/a%20b/c");
}

TEST(Query, ANumberIsDigits) {
  EXPECT_EQ(runtime::digits_of("0"), 0u);
  EXPECT_EQ(runtime::digits_of("18446744073709551615"), 18446744073709551615u);
  for (const char* wrong : {"", "-1", "+1", " 1", "1 ", "0x1", "18446744073709551616"}) {
    EXPECT_EQ(runtime::digits_of(wrong), std::nullopt) << wrong;
  }
}

TEST(Query, ParametersAreDecoded) {
  const auto parameters = parameters_of("a=b%2Fc+d&&e", {"a", "e"});
  ASSERT_TRUE(std::holds_alternative<Parameters>(parameters));
  EXPECT_EQ(std::get<Parameters>(parameters), (Parameters{{"a", "b/c d"}, {"e", ""}}));
  const std::pair<const char*, const char*> wrong[] = {
      {"a=1&a=2", "\"a\": expected once"},
      {"b=1", "\"b\": unknown parameter; known are a, e"},
      {"a=%2", "a: a % is not followed by two hexadecimal digits"}};
  for (const auto& [query, complaint] : wrong) {
    const auto refused = parameters_of(query, {"a", "e"});
    ASSERT_TRUE(std::holds_alternative<runtime::Refusal>(refused)) << query;
    EXPECT_EQ(std::get<runtime::Refusal>(refused).detail, complaint);
  }
}

}  // namespace
}  // namespace server
