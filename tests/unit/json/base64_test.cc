#include "runtime/json/base64.h"

#include <gtest/gtest.h>

#include <random>

namespace runtime::json {
namespace {

TEST(Base64, TheVectorsOfRfc4648) {
  const std::pair<std::string_view, std::string_view> vectors[] = {{"", ""},
                                                                   {"f", "Zg=="},
                                                                   {"fo", "Zm8="},
                                                                   {"foo", "Zm9v"},
                                                                   {"foob", "Zm9vYg=="},
                                                                   {"fooba", "Zm9vYmE="},
                                                                   {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(base64(bytes), text);
    EXPECT_EQ(decode_base64(text), bytes);
  }
  EXPECT_EQ(base64(std::string_view("\xFF\x00\xFE", 3)), "/wD+");
}

TEST(Base64, WhatIsWrittenIsReadBack) {
  std::mt19937 random(11);
  for (std::size_t size = 0; size < 300; ++size) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    EXPECT_EQ(decode_base64(base64(bytes)), bytes);
  }
}

TEST(Base64, WhatWouldNotHaveBeenWrittenIsRefused) {
  for (const std::string_view text :
       {"Z", "Zg", "Zg=", "Zg===", "=", "==", "====", "Z===", "Zg==Zg==", "Zm9v\n", " Zm9v", "Zm 9",
        "Zm9-", "Zm9_", "Zh==", "Zm9=", "Zg=g"}) {
    EXPECT_EQ(decode_base64(text), std::nullopt) << text;
  }
  EXPECT_EQ(decode_base64(std::string_view("Zm9\0", 4)), std::nullopt);
}

}  // namespace
}  // namespace runtime::json
