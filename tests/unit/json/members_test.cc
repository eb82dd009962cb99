#include "runtime/json/members.h"

#include <gtest/gtest.h>

namespace runtime::json {
namespace {

Value document() {
  auto value = parse(R"({"name": "x", "inner": {"name": "y"}, "count": 3})", "document");
  return value ? std::move(*value) : Value();
}

TEST(Members, AreFoundByName) {
  const Value value = document();
  ASSERT_NE(value.as_object(), nullptr);
  EXPECT_EQ(*member(*value.as_object(), "count")->as_integer(), 3);
  EXPECT_EQ(text_member(*value.as_object(), "name"), "x");
  EXPECT_EQ(text_member(member(value, "inner"), "name"), "y");
}

TEST(Members, WhatIsNotThereIsBorne) {
  const Value value = document();
  EXPECT_EQ(member(value, "other"), nullptr);
  EXPECT_EQ(member(member(value, "count"), "name"), nullptr);
  EXPECT_EQ(member(static_cast<const Value*>(nullptr), "name"), nullptr);
  EXPECT_EQ(text_member(&value, "count"), "");
  EXPECT_EQ(text_member(static_cast<const Value*>(nullptr), "name"), "");
}

}  // namespace
}  // namespace runtime::json
