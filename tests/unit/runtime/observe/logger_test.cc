#include "runtime/observe/logger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "runtime/json/reader.h"

namespace runtime {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

struct Captured {
  std::vector<std::string> lines;

  LogOptions options(LogFormat format, LogLevel level = LogLevel::debug) {
    return {.level = level, .format = format, .write = [this](std::string_view line) {
              lines.emplace_back(line);
            }};
  }
};

TEST(Logger, TextLineHasTimeLevelMessageAndFields) {
  Captured captured;
  Logger logger(captured.options(LogFormat::text));
  logger.info("request", {{"path", "/execute"}, {"status", std::int64_t{200}}, {"ms", 1.5}});
  ASSERT_EQ(captured.lines.size(), 1u);
  EXPECT_THAT(
      captured.lines[0],
      MatchesRegex("[0-9-]+T[0-9:]+\\.[0-9]+Z info request path=/execute status=200 ms=1.5\n"));
}

TEST(Logger, JsonLineIsOneObject) {
  Captured captured;
  Logger logger(captured.options(LogFormat::json));
  logger.warning("a \"b\"", {{"n", std::int64_t{3}}, {"d", 0.25}, {"s", "x"}});
  ASSERT_EQ(captured.lines.size(), 1u);
  EXPECT_THAT(captured.lines[0], EndsWith("}\n"));
  const auto value = json::parse(captured.lines[0], "line");
  ASSERT_TRUE(value.has_value()) << captured.lines[0];
  const json::Object& line = *value->as_object();
  EXPECT_EQ(*line.at("level").as_string(), "warning");
  EXPECT_EQ(*line.at("message").as_string(), "a \"b\"");
  EXPECT_EQ(*line.at("n").as_integer(), 3);
  EXPECT_EQ(*line.at("d").as_double(), 0.25);
  EXPECT_EQ(*line.at("s").as_string(), "x");
  EXPECT_THAT(*line.at("time").as_string(), MatchesRegex("[0-9]{4}-.*T.*\\.[0-9]{3}Z"));
}

TEST(Logger, LinesBelowTheLevelAreDropped) {
  Captured captured;
  Logger logger(captured.options(LogFormat::text, LogLevel::warning));
  logger.debug("d");
  logger.info("i");
  logger.warning("w");
  logger.error("e");
  ASSERT_EQ(captured.lines.size(), 2u);
  EXPECT_THAT(captured.lines[0], EndsWith(" warning w\n"));
  EXPECT_THAT(captured.lines[1], EndsWith(" error e\n"));
}

TEST(Logger, ClientsCannotForgeLinesOrDriveATerminal) {
  Captured captured;
  Logger logger(captured.options(LogFormat::text));
  const std::string hostile =
      "a\nfake \x1b[31m \x7f \xC2\x9B"
      "31m \xFF {} %v end";
  logger.info(hostile, {{"path", hostile}});
  ASSERT_EQ(captured.lines.size(), 1u);
  const std::string& line = captured.lines[0];
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  for (const char* bytes : {"\x1b", "\x7f", "\xC2\x9B"}) EXPECT_EQ(line.find(bytes), line.npos);
  EXPECT_THAT(line, HasSubstr("{} %v end"));
  EXPECT_THAT(line, HasSubstr(R"(\u001b[31m \u007f \u009b31m)"));
}

TEST(Logger, AnyBytesMakeAValidJsonLine) {
  Captured captured;
  Logger logger(captured.options(LogFormat::json));
  std::mt19937 random(3);
  for (int round = 0; round < 500; ++round) {
    std::string bytes;
    for (std::size_t n = random() % 20; n > 0; --n) bytes += static_cast<char>(random());
    logger.error(bytes, {{"field", bytes}});
  }
  ASSERT_EQ(captured.lines.size(), 500u);
  for (const std::string& line : captured.lines) {
    const auto value = json::parse(line, "line");
    ASSERT_TRUE(value.has_value()) << value.error().message();
  }
}

}  // namespace
}  // namespace runtime
