#include "runtime/living/output_log.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

namespace runtime {
namespace {

constexpr auto out = Stream::standard_output;
constexpr auto err = Stream::standard_error;

// A log that is alone in its sandbox, to which everything comes at the same time.
struct TestLog : OutputLog {
  explicit TestLog(std::size_t capacity) : OutputLog(capacity, std::make_shared<OutputOrder>()) {}
  void append(Stream stream, std::string_view bytes) { OutputLog::append(stream, bytes, Time()); }
};

std::string text_of(const OutputLog::Part& part) {
  std::string text;
  for (const auto& piece : part.pieces) {
    text += (piece.stream == out ? "o:" : "e:") + piece.bytes + ";";
  }
  return text;
}

TEST(OutputLog, KeepsBothOutputsInTheirOrder) {
  TestLog log(1000);
  log.append(out, "one");
  log.append(out, "two");
  log.append(err, "three");
  log.append(out, "four");
  const auto part = log.read(0, 1000);
  EXPECT_EQ(text_of(part), "o:onetwo;e:three;o:four;");
  EXPECT_EQ(part.from, 0u);
  EXPECT_EQ(part.next, 15u);
  EXPECT_EQ(part.lost, 0u);
}

TEST(OutputLog, GoesOnFromAnyPlace) {
  TestLog log(1000);
  log.append(out, "abc");
  log.append(err, "def");
  EXPECT_EQ(text_of(log.read(2, 2)), "o:c;e:d;");
  EXPECT_EQ(log.read(2, 2).next, 4u);
  EXPECT_EQ(text_of(log.read(4, 100)), "e:ef;");
  EXPECT_EQ(text_of(log.read(6, 100)), "");
  EXPECT_EQ(log.read(7, 100).next, 6u) << "a place behind the end is the end";
}

TEST(OutputLog, DropsTheOldestAndSaysHowMuch) {
  constexpr std::size_t capacity = 64u << 10;
  TestLog log(capacity);
  std::string all;
  for (int i = 0; i < 50'000; ++i) {
    const std::string line = std::to_string(i) + "\n";
    log.append(i % 3 == 0 ? err : out, line);
    all += line;
  }
  EXPECT_EQ(log.end(), all.size());
  const auto part = log.read(10, all.size());
  EXPECT_EQ(part.from, log.begin());
  EXPECT_EQ(part.lost, log.begin() - 10);
  EXPECT_EQ(part.next, all.size());
  EXPECT_LE(log.end() - log.begin(), capacity);
  std::string kept;
  for (const auto& piece : part.pieces) kept += piece.bytes;
  EXPECT_EQ(kept, all.substr(part.from));
}

TEST(OutputLog, KeepsALargePieceUpToItsCapacity) {
  constexpr std::size_t capacity = 64u << 10;
  TestLog log(capacity);
  const std::string large(1u << 20, 'x');
  log.append(out, large);
  EXPECT_EQ(log.end(), large.size());
  EXPECT_GT(log.end() - log.begin(), capacity / 2);
  EXPECT_LE(log.end() - log.begin(), capacity);
}

// Each piece takes memory of its own.
TEST(OutputLog, KeepsFewPiecesOfSingleBytes) {
  TestLog log(1u << 20);
  for (int i = 0; i < 100'000; ++i) log.append(i % 2 == 0 ? out : err, "x");
  EXPECT_EQ(log.end(), 100'000u);
  EXPECT_LE(log.read(0, 1u << 20).pieces.size(), 5'000u);
}

}  // namespace
}  // namespace runtime
