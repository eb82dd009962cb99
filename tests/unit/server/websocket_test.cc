#include <gmock/gmock.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <random>

#include "runtime/json/reader.h"
#include "runtime/json/writer.h"
#include "server/websocket/event_writer.h"
#include "server/websocket/utf8_chunks.h"

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

// Takes what is written, slowly if asked to.
class FakeChannel final : public Channel {
 public:
  explicit FakeChannel(asio::io_context& context) : context_(context) {}

  asio::any_io_executor executor() override { return context_.get_executor(); }
  asio::awaitable<bool> accept(const RequestHead&) override { co_return true; }
  asio::awaitable<Message> read(BodyBudget::Share&) override {
    co_return Message{Message::Kind::closed, {}};
  }
  asio::awaitable<bool> write(std::string text) override {
    if (refuses) co_return false;
    written.push_back(std::move(text));
    co_return true;
  }
  asio::awaitable<void> close(CloseCode code) override {
    closed = code;
    co_return;
  }
  void abort() override {}

  bool refuses = false;
  std::vector<std::string> written;
  std::optional<CloseCode> closed;

 private:
  asio::io_context& context_;
};

class EventWriterTest : public ::testing::Test {
 protected:
  std::vector<std::string> types() const {
    std::vector<std::string> types;
    for (const std::string& text : channel_.written) {
      types.push_back(*runtime::json::parse(text, "event")->as_object()->at("type").as_string());
    }
    return types;
  }

  asio::io_context context_;
  FakeChannel channel_{context_};
  OutputFlow flow_{runtime::OutputGate(), 100, 20};
  EventWriter writer_{channel_, flow_, 20ms};
};

TEST_F(EventWriterTest, WritesInOrderAndCloses) {
  writer_.send("connected", "{}");
  auto done = asio::co_spawn(context_, writer_.run(), asio::use_future);
  asio::post(context_, [this] {
    writer_.send("started", "{}");
    writer_.send("complete", "{}");
    writer_.finish(CloseCode::policy);
  });
  context_.run();
  done.get();
  EXPECT_THAT(types(), ElementsAre("connected", "started", "complete"));
  EXPECT_THAT(channel_.written[2], HasSubstr("\"seq\":3"));
  EXPECT_EQ(channel_.closed, CloseCode::policy);
}

TEST_F(EventWriterTest, ShowsThatItLives) {
  asio::steady_timer end(context_, 110ms);
  end.async_wait([this](boost::system::error_code) { writer_.finish(CloseCode::normal); });
  auto done = asio::co_spawn(context_, writer_.run(), asio::use_future);
  context_.run();
  done.get();
  EXPECT_GE(channel_.written.size(), 2u);
  EXPECT_THAT(types()[0], "heartbeat");
}

TEST_F(EventWriterTest, EndsWithItsClient) {
  channel_.refuses = true;
  writer_.send("connected", "{}");
  auto done = asio::co_spawn(context_, writer_.run(), asio::use_future);
  context_.run();
  done.get();
  EXPECT_FALSE(channel_.closed.has_value());
}

}  // namespace
}  // namespace server
