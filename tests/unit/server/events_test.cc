#include <gmock/gmock.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <random>

#include "runtime/json/reader.h"
#include "runtime/json/writer.h"
#include "server/events/event_writer.h"
#include "server/events/response_events.h"
#include "server/events/utf8_chunks.h"

namespace server {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Utf8Chunks, HoldsBackWhatMayBecomeACharacter) {
  const std::pair<std::string, std::size_t> cases[] = {{"", 0},
                                                       {"a", 0},
                                                       {"\xC3", 1},
                                                       {"\xC3\xBC", 0},
                                                       {"a\xE2\x82", 2},
                                                       {"\xE2", 1},
                                                       {"\xF0\x9F\x98", 3},
                                                       {"\xF0\x9F\x98\x80", 0},
                                                       {"\x80", 0},
                                                       {"\x80\x80", 0},
                                                       {"\xC0", 0},
                                                       {"\xF5", 0},
                                                       {"\xE0\x80", 0},
                                                       {"\xED\xA0", 0},
                                                       {"\xF4\x90", 0},
                                                       {"\xF0\x80", 0},
                                                       {"\xC3\xBC\xC3", 1},
                                                       {"\xFF\xFE", 0},
                                                       {"\xE2\x82\xAC\xE2", 1}};
  for (const auto& [bytes, held] : cases) {
    EXPECT_EQ(unfinished_bytes(bytes), held) << testing::PrintToString(bytes);
  }
}

TEST(Utf8Chunks, PiecesAreTogetherWhatTheWholeIs) {
  const std::string pieces[] = {"a",    "ü",    "€",    "😀",    "\xF0", "\x9F", "\x98", "\x80",
                                "\xE2", "\x82", "\xC3", "\xED", "\xA0", "\xFF", "\xF4", "\x90"};
  std::mt19937 random(11);  // NOLINT: the same on every run
  for (int round = 0; round < 20'000; ++round) {
    std::string whole;
    Utf8Chunks chunks;
    std::string shown;
    for (auto i = random() % 12; i > 0; --i) {
      std::string piece;
      for (auto j = random() % 4; j > 0; --j) piece += pieces[random() % std::size(pieces)];
      const std::size_t cut = piece.empty() ? 0 : random() % piece.size();
      whole += piece;
      shown += runtime::json::repair_utf8(chunks.add(piece.substr(0, cut)));
      shown += runtime::json::repair_utf8(chunks.add(piece.substr(cut)));
    }
    shown += runtime::json::repair_utf8(chunks.finish());
    ASSERT_EQ(shown, runtime::json::repair_utf8(whole)) << testing::PrintToString(whole);
  }
}

TEST(EncodeEvent, IsJson) {
  const std::chrono::system_clock::time_point time{1'700'000'000'123ms};
  EXPECT_EQ(encode_event("stdout", R"("x")", 7, time),
            R"({"type":"stdout","data":"x","timestamp":"2023-11-14T22:13:20.123Z","seq":7})");
}

TEST(OutputFlow, ClosesAboveAndOpensBelow) {
  const runtime::OutputGate gate;
  int opened = 0;
  const runtime::OutputGate::Listener on_open(gate, [&opened] { ++opened; });
  OutputFlow flow(gate, 100, 20);
  flow.add(100);
  EXPECT_TRUE(gate.is_open());
  flow.add(1);
  EXPECT_FALSE(gate.is_open());
  flow.remove(80);
  EXPECT_FALSE(gate.is_open());
  EXPECT_EQ(opened, 0);
  flow.remove(1);
  EXPECT_TRUE(gate.is_open());
  EXPECT_EQ(opened, 1);
}

// Takes what is written, until it refuses.
class FakeSink final : public EventSink {
 public:
  explicit FakeSink(asio::io_context& context) : context_(context) {}

  asio::any_io_executor executor() override { return context_.get_executor(); }
  asio::awaitable<bool> write(std::string event) override {
    if (refuses) co_return false;
    written.push_back(std::move(event));
    co_return true;
  }

  bool refuses = false;
  std::vector<std::string> written;

 private:
  asio::io_context& context_;
};

class EventWriterTest : public ::testing::Test {
 protected:
  std::vector<std::string> types() const {
    std::vector<std::string> types;
    for (const std::string& text : sink_.written) {
      types.push_back(*runtime::json::parse(text, "event")->as_object()->at("type").as_string());
    }
    return types;
  }

  bool run() {
    auto done = asio::co_spawn(context_, writer_.run(), asio::use_future);
    context_.run();
    return done.get();
  }

  asio::io_context context_;
  FakeSink sink_{context_};
  OutputFlow flow_{runtime::OutputGate(), 100, 20};
  EventWriter writer_{sink_, flow_, 20ms};
};

TEST_F(EventWriterTest, WritesInOrderUntilTheEnd) {
  writer_.send("connected", "{}");
  asio::post(context_, [this] {
    writer_.send("started", "{}");
    writer_.skip();
    writer_.send("complete", "{}");
    writer_.finish();
  });
  EXPECT_TRUE(run());
  EXPECT_THAT(types(), ElementsAre("connected", "started", "complete"));
  EXPECT_THAT(sink_.written[2], HasSubstr("\"seq\":4"));
  EXPECT_EQ(writer_.count(), 4u);
}

TEST_F(EventWriterTest, ShowsThatItLives) {
  asio::steady_timer end(context_, 110ms);
  end.async_wait([this](boost::system::error_code) { writer_.finish(); });
  EXPECT_TRUE(run());
  EXPECT_GE(sink_.written.size(), 2u);
  EXPECT_THAT(types()[0], "heartbeat");
}

TEST_F(EventWriterTest, EndsWithItsClient) {
  sink_.refuses = true;
  writer_.send("connected", "{}");
  EXPECT_FALSE(run());
}

RequestHead accepting(std::vector<std::string> values) {
  RequestHead head;
  for (std::string& value : values) head.headers.push_back({"accept", std::move(value)});
  return head;
}

TEST(EventFormat, IsWhatIsAskedForByName) {
  EXPECT_EQ(event_format_of(accepting({"text/event-stream"})), EventFormat::sse);
  EXPECT_EQ(event_format_of(accepting({"application/x-ndjson"})), EventFormat::ndjson);
  EXPECT_EQ(event_format_of(accepting({"Text/Event-Stream; charset=utf-8, */*"})),
            EventFormat::sse);
  EXPECT_EQ(event_format_of(accepting({"text/html", "application/x-ndjson;q=0.1"})),
            EventFormat::ndjson);
  EXPECT_EQ(event_format_of(accepting({"text/event-stream;q=0.5, application/x-ndjson ; q=0.6"})),
            EventFormat::ndjson);
  EXPECT_EQ(event_format_of(accepting({"application/json;q=0.5, text/event-stream;q=0.6"})),
            EventFormat::sse);
}

TEST(EventFormat, IsNothingWhereJsonWillDo) {
  EXPECT_EQ(event_format_of(accepting({})), std::nullopt);
  for (const char* value :
       {"", "*/*", "text/*", "application/json", "application/json, text/event-stream",
        "text/event-stream, application/json", "text/event-stream;q=0", "text/event-stream;q=x",
        "text/event-stream;q=2", "text/event-stream;q=nan", "text/event-streams", ",;,=", "a;q",
        "application/json;q=0.9, application/x-ndjson;q=0.8"}) {
    EXPECT_EQ(event_format_of(accepting({value})), std::nullopt) << value;
  }
}

class FakeStream final : public ResponseStream {
 public:
  void begin(const Response& head) override { begun_with = head; }
  void begin(const Response& head, std::uint64_t) override { begun_with = head; }
  bool begun() const noexcept override { return begun_with.has_value(); }
  asio::awaitable<bool> write(std::string_view piece) override {
    text += piece;
    co_return true;
  }
  asio::awaitable<bool> end() override { co_return true; }

  std::optional<Response> begun_with;
  std::string text;
};

class ResponseEventsTest : public ::testing::Test {
 protected:
  template <class Value>
  Value wait(asio::awaitable<Value> work) {
    auto done = asio::co_spawn(context_, std::move(work), asio::use_future);
    context_.restart();
    context_.run();
    return done.get();
  }

  asio::io_context context_;
  FakeStream stream_;
};

TEST_F(ResponseEventsTest, AreServerSentEvents) {
  ResponseEvents events(stream_, EventFormat::sse, context_.get_executor());
  EXPECT_FALSE(stream_.begun());
  EXPECT_TRUE(wait(events.write("{\"a\":1}")));
  EXPECT_EQ(stream_.begun_with->content_type, "text/event-stream");
  EXPECT_FALSE(wait(events.beat()).is_event);
  events.set_next_id("end");
  EXPECT_TRUE(wait(events.write("{}")));
  EXPECT_TRUE(wait(events.write("{}")));
  EXPECT_EQ(stream_.text, "data: {\"a\":1}\n\n: heartbeat\n\nid: end\ndata: {}\n\ndata: {}\n\n");
}

TEST_F(ResponseEventsTest, AreLines) {
  ResponseEvents events(stream_, EventFormat::ndjson, context_.get_executor());
  events.set_next_id("end");
  EXPECT_TRUE(wait(events.write("{\"a\":1}")));
  EXPECT_TRUE(wait(events.beat()).is_event);
  EXPECT_EQ(stream_.begun_with->content_type, "application/x-ndjson");
  EXPECT_EQ(stream_.text, "{\"a\":1}\n");
}

}  // namespace
}  // namespace server
