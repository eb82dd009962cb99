#include "runtime/llm/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace runtime::llm {
namespace {

using ::testing::HasSubstr;

std::string check(std::string_view value, std::string_view schema) {
  const auto read_value = json::parse(value, "value");
  const auto read_schema = json::parse(schema, "schema");
  EXPECT_TRUE(read_value && read_schema) << value << schema;
  const auto fits = check_schema(*read_value, *read_schema, "answer");
  return fits ? "fits" : fits.error().doing;
}

constexpr std::string_view vote = R"({"type": "object", "additionalProperties": false,
  "required": ["approve", "confidence"], "properties": {"approve": {"type": "boolean"},
  "confidence": {"type": "number", "minimum": 0, "maximum": 1},
  "findings": {"type": "array", "maxItems": 2, "minItems": 1, "items": {"type": "string"}}}})";

TEST(CheckSchema, WhatFits) {
  EXPECT_EQ(check(R"({"approve": true, "confidence": 1})", vote), "fits");
  EXPECT_EQ(check(R"({"approve": true, "confidence": 0.5, "findings": ["a"]})", vote), "fits");
}

TEST(CheckSchema, NamesThePlace) {
  EXPECT_EQ(check(R"({"approve": "yes", "confidence": 1})", vote),
            "answer.approve: expected boolean, not string");
  EXPECT_EQ(check(R"({"approve": true, "confidence": 1.5})", vote),
            "answer.confidence: 1.5 is above 1");
  EXPECT_EQ(check(R"({"approve": true, "confidence": -1})", vote),
            "answer.confidence: -1 is below 0");
  EXPECT_EQ(check(R"({"approve": true})", vote), R"(answer: "confidence" is missing)");
  EXPECT_EQ(check(R"({"approve": true, "confidence": 1, "x": 1})", vote),
            R"(answer: unknown field "x")");
  EXPECT_EQ(check(R"({"approve": true, "confidence": 1, "findings": ["a", 2]})", vote),
            "answer.findings[1]: expected string, not integer");
  EXPECT_EQ(check(R"({"approve": true, "confidence": 1, "findings": []})", vote),
            "answer.findings: has 0 items, fewer than 1");
  EXPECT_EQ(check(R"({"approve": true, "confidence": 1, "findings": ["a", "b", "c"]})", vote),
            "answer.findings: has 3 items, more than 2");
  EXPECT_EQ(check("[]", vote), "answer: expected object, not array");
}

TEST(CheckSchema, NamesSeveralPlaces) {
  const std::string text = check(R"({"approve": 1, "confidence": 2})", vote);
  EXPECT_THAT(text, HasSubstr("answer.approve"));
  EXPECT_THAT(text, HasSubstr("; answer.confidence"));
}

TEST(CheckSchema, ListsWhatIsAllowed) {
  constexpr std::string_view schema = R"({"enum": ["low", "high", 3]})";
  EXPECT_EQ(check(R"("low")", schema), "fits");
  EXPECT_EQ(check("3.0", schema), "fits");
  EXPECT_EQ(check(R"("LOW")", schema), R"(answer: "LOW" is none of "low", "high", 3)");
  EXPECT_EQ(check("2", R"({"const": 1})"), "answer: 2 is not 1");
}

TEST(CheckSchema, TypesOfNumbers) {
  EXPECT_EQ(check("2.0", R"({"type": "integer"})"), "fits");
  EXPECT_EQ(check("2.5", R"({"type": "integer"})"), "answer: expected integer, not number");
  EXPECT_EQ(check("null", R"({"type": ["string", "null"]})"), "fits");
  EXPECT_EQ(check("1", R"({"type": ["string", "null"]})"),
            "answer: expected string or null, not integer");
}

TEST(CheckSchema, OthersMayHaveASchemaOfTheirOwn) {
  constexpr std::string_view schema = R"({"additionalProperties": {"type": "string"}})";
  EXPECT_EQ(check(R"({"a b": 1})", schema), R"(answer."a b": expected string, not integer)");
}

}  // namespace
}  // namespace runtime::llm
