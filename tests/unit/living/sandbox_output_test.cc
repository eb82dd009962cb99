#include "runtime/living/sandbox_output.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace runtime {
namespace {

constexpr auto printed = Stream::standard_output;
constexpr auto complained = Stream::standard_error;

// The logs of processes 0, 1 and 2, in one order.
class SandboxOutput : public testing::Test {
 protected:
  void say(int pid, Stream stream, const std::string& text, int second = 0) {
    logs_[pid].append(stream, text, OutputLog::Time(std::chrono::seconds(second)));
  }
  EndedSources sources() const {
    EndedSources sources;
    for (int pid = 0; pid < 3; ++pid) {
      sources.push_back(std::make_shared<const EndedOutput>(pid, logs_[pid]));
    }
    return sources;
  }
  OutputPage page(const OutputQuery& query = {}) const {
    return output_of(sources(), query, order_->end());
  }
  std::uint64_t tail(std::size_t lines, const OutputFilter& filter = {}) const {
    return tail_of(sources(), filter, order_->end(), lines);
  }
  static std::string text(const OutputPage& page) {
    std::string all;
    for (const auto& [pid, piece] : page.entries) {
      all += std::to_string(pid) + (piece.stream == printed ? "o:" : "e:") + piece.bytes + ";";
    }
    return all;
  }

  const std::shared_ptr<OutputOrder> order_ = std::make_shared<OutputOrder>();
  OutputLog logs_[3] = {{64u << 10, order_}, {64u << 10, order_}, {64u << 10, order_}};
};

TEST_F(SandboxOutput, IsInTheOrderInWhichItCame) {
  say(0, printed, "a");
  say(1, complained, "b");
  say(0, printed, "c");
  say(0, printed, "d");
  say(2, printed, "e");
  const OutputPage all = page();
  EXPECT_EQ(text(all), "0o:a;1e:b;0o:cd;2o:e;");
  EXPECT_EQ(all.next, 5u);
  EXPECT_EQ(all.lost, 0u);
  EXPECT_FALSE(all.has_more);
  EXPECT_EQ(text(page({.from = 3})), "0o:d;2o:e;") << "from within a piece";
  EXPECT_EQ(page({.from = 99}).from, 5u);
}

TEST_F(SandboxOutput, APieceHasOneTime) {
  say(0, printed, "a", 0);
  say(0, printed, "b", 0);
  say(0, printed, "c", 2);
  const OutputPage all = page();
  EXPECT_EQ(text(all), "0o:ab;0o:c;");
  EXPECT_EQ(all.entries[1].piece.at, OutputLog::Time(std::chrono::seconds(2)));
}

TEST_F(SandboxOutput, PagesGoOnWhereTheLastEnded) {
  for (int number = 0; number < 100; ++number) {
    say(number % 3, number % 2 == 0 ? printed : complained, std::to_string(number) + "\n");
  }
  std::string whole;
  for (const auto& entry : page().entries) whole += entry.piece.bytes;
  std::string joined;
  OutputQuery query{.max_pieces = 7, .max_bytes = 11};
  for (bool has_more = true; has_more;) {
    const OutputPage part = page(query);
    ASSERT_GT(part.next, query.from);
    std::size_t bytes = 0;
    for (const auto& entry : part.entries) {
      joined += entry.piece.bytes;
      bytes += entry.piece.bytes.size();
    }
    EXPECT_LE(bytes, 11u);
    EXPECT_LE(part.entries.size(), 7u);
    query.from = part.next;
    has_more = part.has_more;
  }
  EXPECT_EQ(joined, whole);
}

TEST_F(SandboxOutput, WhatIsNotWantedIsNotLost) {
  say(0, printed, "a");
  say(1, printed, "b");
  say(1, complained, "c");
  const OutputPage part = page({.filter = {.pid = 1, .stream = complained}});
  EXPECT_EQ(text(part), "1e:c;");
  EXPECT_EQ(part.lost, 0u);
  EXPECT_EQ(part.next, 3u);
}

TEST_F(SandboxOutput, GapsAreCounted) {
  say(0, printed, std::string(40'000, 'x'));
  say(1, printed, "kept");
  say(0, printed, std::string(60'000, 'y'));
  const OutputPage all = page();
  std::size_t bytes = 0;
  for (const auto& entry : all.entries) bytes += entry.piece.bytes.size();
  EXPECT_GT(all.lost, 0u);
  EXPECT_EQ(all.lost + bytes, 100'004u);
  EXPECT_EQ(all.next, 100'004u);
  // No log has the output of a forgotten process.
  order_->take(10);
  EXPECT_EQ(page({.from = 100'004}).lost, 10u);
}

TEST_F(SandboxOutput, WhatComesLaterIsLeftForTheNextPage) {
  say(0, printed, "ab");
  const std::uint64_t until = order_->end();
  say(0, printed, "cd");
  EXPECT_EQ(text(output_of(sources(), {}, until)), "0o:ab;");
  EXPECT_EQ(output_of(sources(), {.from = until}, until).entries.size(), 0u);
}

TEST_F(SandboxOutput, TheTailBeginsWithALine) {
  EXPECT_EQ(tail(5), 0u);
  say(0, printed, "one\ntwo\n");
  say(1, complained, "three\n");
  EXPECT_EQ(tail(1), 8u);
  EXPECT_EQ(tail(2), 4u);
  EXPECT_EQ(tail(3), 0u);
  EXPECT_EQ(tail(0), 14u);
  EXPECT_EQ(tail(1, {.stream = printed}), 4u);
  EXPECT_EQ(tail(1, {.pid = 1}), 0u) << "its only line, with all that is not its own before it";
  say(2, printed, "four");
  EXPECT_EQ(tail(1), 14u) << "one that has not ended";
  EXPECT_EQ(tail(2), 8u);
}

}  // namespace
}  // namespace runtime
