#include "runtime/llm/stream_parts.h"

#include <gmock/gmock.h>

#include <random>

namespace runtime::llm {

static bool operator==(const SseEvent& a, const SseEvent& b) {
  return a.event == b.event && a.data == b.data;
}
static void PrintTo(const SseEvent& event, std::ostream* out) {
  *out << "[" << event.event << "] " << ::testing::PrintToString(event.data);
}

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Events = std::vector<SseEvent>;

Events read_events(SseReader& reader, std::string_view text, std::size_t piece) {
  Events events;
  while (!text.empty()) {
    for (SseEvent& event : reader.feed(text.substr(0, piece))) events.push_back(std::move(event));
    text.remove_prefix(std::min(piece, text.size()));
  }
  return events;
}

Events events_of(std::string_view text) {
  SseReader reader;
  return read_events(reader, text, text.size());
}

std::string with_ends(std::string text, const std::string& end) {
  std::string replaced;
  for (const char letter : text) letter == '\n' ? replaced += end : replaced += letter;
  return replaced;
}

TEST(SseReader, FieldsAndComments) {
  EXPECT_THAT(events_of(": OPENROUTER PROCESSING\n\n"
                        "event: ping\ndata:{\"a\": 1}\nid: 7\nretry: 10\n\n"
                        "data: one\ndata:\ndata\ndata:  two\n\n"
                        "event: nothing\n\n"
                        "data: [DONE]\n\n"),
              ElementsAre(SseEvent{"ping", "{\"a\": 1}"}, SseEvent{"", "one\n\n\n two"},
                          SseEvent{"", "[DONE]"}));
}

TEST(SseReader, AnEventWithoutAnEndIsOnlyForThoseWhoAsk) {
  SseReader reader;
  EXPECT_THAT(reader.feed("data: a\n\ndata: b"), ElementsAre(SseEvent{"", "a"}));
  EXPECT_EQ(reader.rest(), (SseEvent{"", "b"}));
  EXPECT_EQ(reader.rest(), std::nullopt);
}

TEST(SseReader, AMarkAtTheStartIsNoPartOfTheFirstField) {
  EXPECT_THAT(events_of("\xEF\xBB\xBF"
                        "data: a\n\n"),
              ElementsAre(SseEvent{"", "a"}));
}

// Tries every kind of line end, splits in two at every byte, and pieces of every size.
TEST(SseReader, CutsMakeNoDifference) {
  const std::string text =
      "\xEF\xBB\xBF"
      "event: start\ndata: gr\xC3\xBC\xC3\x9F \xF0\x9F\x90\x99\ndata: 2\n\n"
      ": comment\n\n\ndata: \xE2\x82\xAC\n\n";
  const Events expected = {SseEvent{"start", "gr\xC3\xBC\xC3\x9F \xF0\x9F\x90\x99\n2"},
                           SseEvent{"", "\xE2\x82\xAC"}};
  for (const char* end : {"\n", "\r\n", "\r"}) {
    const std::string bytes = with_ends(text, end);
    for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
      SseReader reader;
      ASSERT_EQ(read_events(reader, bytes, piece), expected) << piece;
    }
    for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
      SseReader reader;
      Events events = read_events(reader, bytes.substr(0, cut), bytes.size());
      for (SseEvent& event : read_events(reader, bytes.substr(cut), bytes.size())) {
        events.push_back(std::move(event));
      }
      ASSERT_EQ(events, expected) << cut;
    }
  }
}

// For any bytes, the splits must not change the result.
TEST(SseReader, CutsOfNoiseMakeNoDifference) {
  std::mt19937 random(7);
  const std::vector<std::string> words = {"data", "event", ":",    " ",    "\n", "\r", "\r\n",
                                          "\n\n", "x",     "\xC3", "\xBC", ":",  "id"};
  for (int round = 0; round < 2000; ++round) {
    std::string bytes;
    for (int i = 0; i < 30; ++i) bytes += words[random() % words.size()];
    SseReader whole;
    SseReader cut;
    const Events expected = read_events(whole, bytes, bytes.size());
    Events events;
    for (std::string_view left = bytes; !left.empty();) {
      const std::size_t piece = std::min<std::size_t>(1 + random() % 5, left.size());
      for (SseEvent& event : cut.feed(left.substr(0, piece))) events.push_back(std::move(event));
      left.remove_prefix(piece);
    }
    ASSERT_EQ(events, expected) << ::testing::PrintToString(bytes);
    ASSERT_EQ(cut.rest(), whole.rest());
  }
}

TEST(SseReader, AnEventHasABound) {
  SseReader reader(100);
  EXPECT_THAT(reader.feed("data: " + std::string(90, 'x') + "\n\n").size(), 1);
  EXPECT_FALSE(reader.overflowed());
  EXPECT_THAT(reader.feed("data: " + std::string(50, 'x') + "\n"), IsEmpty());
  EXPECT_FALSE(reader.overflowed());
  EXPECT_THAT(reader.feed("data: " + std::string(60, 'x') + "\n\ndata: a\n\n"), IsEmpty());
  EXPECT_TRUE(reader.overflowed());
  EXPECT_THAT(reader.feed("data: a\n\n"), IsEmpty());
  EXPECT_EQ(reader.rest(), std::nullopt);
}

TEST(SseReader, ALineWithoutAnEndHasABound) {
  SseReader reader(1000);
  for (int i = 0; i < 101 && !reader.overflowed(); ++i) reader.feed(": comment.");
  EXPECT_TRUE(reader.overflowed());
  EXPECT_THAT(reader.feed("\n\ndata: a\n\n"), IsEmpty());
}

TEST(SseReader, AnEventOfAllThatIsAllowed) {
  SseReader reader;
  const std::string most(max_stream_part - 6, 'x');
  const Events events = read_events(reader, "data: " + most + "\n\n", 16384);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_TRUE(events[0].data == most);
}

TEST(LineReader, CutsMakeNoDifference) {
  const std::string bytes = "{\"a\":\"\xC3\xBC\"}\n\r\n \n{\"b\":\"c\rd\"}\r\n{}";
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    LineReader reader;
    std::vector<std::string> lines;
    for (std::string_view left = bytes; !left.empty();) {
      for (auto& line : reader.feed(left.substr(0, piece))) lines.push_back(std::move(line));
      left.remove_prefix(std::min(piece, left.size()));
    }
    ASSERT_THAT(lines, ElementsAre("{\"a\":\"\xC3\xBC\"}", "{\"b\":\"c\rd\"}")) << piece;
    ASSERT_EQ(reader.rest(), "{}");
    ASSERT_EQ(reader.rest(), std::nullopt);
  }
}

TEST(LineReader, ALineHasABound) {
  LineReader reader(10);
  EXPECT_THAT(reader.feed("0123456789\nabc\n"), ElementsAre("0123456789", "abc"));
  EXPECT_THAT(reader.feed("0123456789"), IsEmpty());
  EXPECT_FALSE(reader.overflowed());
  EXPECT_THAT(reader.feed("0\nabc\n"), IsEmpty());
  EXPECT_TRUE(reader.overflowed());
}

}  // namespace
}  // namespace runtime::llm
