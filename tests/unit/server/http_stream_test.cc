#include <gmock/gmock.h>

#include "tests/unit/server/http_fixture.h"

namespace server {
namespace {

using namespace std::chrono_literals;
using boost::asio::awaitable;

// Handlers that answer in pieces. A test whose handler uses local variables must stop the server
// before these go.
class HttpStreamTest : public HttpTest {
 protected:
  // Waits on the connection's own executor.
  template <class Condition>
  static awaitable<void> until(Condition condition) {
    boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor);
    while (!condition()) {
      timer.expires_after(1ms);
      co_await timer.async_wait(boost::asio::use_awaitable);
    }
  }

  // Answers /custom with these pieces; announces `length` where it is given.
  void answer_with(std::vector<std::string> pieces,
                   std::optional<std::uint64_t> length = std::nullopt) {
    handler_.custom = [pieces, length](Request request, runtime::Cancel) -> awaitable<Response> {
      Response head{.status = 201, .content_type = "text/plain"};
      length ? request.stream->begin(head, *length) : request.stream->begin(head);
      for (const std::string& piece : pieces) {
        if (!co_await request.stream->write(piece)) co_return Response();
      }
      co_await request.stream->end();
      co_return Response();
    };
  }

  // Returns a client that has the head and the first piece, "one", of /custom.
  TestClient client_with_first_chunk() {
    TestClient client = this->client();
    client.send(get("/custom"));
    EXPECT_TRUE(client.receive_head().has_value());
    EXPECT_EQ(client.next_chunk(), "one");
    return client;
  }

  TestClient slow_client() { return TestClient(port_, "127.0.0.1", 16 << 10); }
};

TEST_F(HttpStreamTest, PiecesComeAsTheyAreWritten) {
  std::atomic<bool> first_came{false};
  handler_.custom = [&](Request request, runtime::Cancel) -> awaitable<Response> {
    request.stream->begin({.content_type = "text/plain"});
    co_await request.stream->write("one");
    co_await until([&] { return first_came.load(); });
    co_await request.stream->write("two");
    EXPECT_TRUE(co_await request.stream->end());
    co_return Response();
  };
  start();
  TestClient client = this->client();
  client.send(get("/custom"));
  const auto head = client.receive_head();
  ASSERT_TRUE(head.has_value());
  EXPECT_EQ(head->headers.at("content-type"), "text/plain");
  EXPECT_EQ(head->headers.at("connection"), "keep-alive");
  EXPECT_EQ(client.next_chunk(), "one");
  first_came = true;
  EXPECT_EQ(client.next_chunk(), "two");
  EXPECT_EQ(client.next_chunk(), "");
  EXPECT_EQ(client.exchange(get("/next")).headers.at("x-path"), "/next");
  EXPECT_TRUE(stop(5s));
}

TEST_F(HttpStreamTest, AnEmptyPieceIsTheHeadAndNoEnd) {
  answer_with({"", "a", "", "b", ""});
  start();
  TestClient client = this->client();
  for (int i = 0; i < 3; ++i) {
    const Answer answer = client.exchange(get("/custom"));
    EXPECT_EQ(answer.status, 201);
    EXPECT_EQ(answer.body, "ab");
  }
}

TEST_F(HttpStreamTest, AnAnswerWithoutPiecesIsWhole) {
  answer_with({});
  start();
  TestClient client = this->client();
  EXPECT_EQ(client.exchange(get("/custom")).body, "");
  EXPECT_EQ(client.exchange(get("/next")).status, 200);
}

TEST_F(HttpStreamTest, AKnownLengthIsAnnounced) {
  answer_with({"abc", "def"}, 6);
  start();
  TestClient client = this->client();
  for (const std::string version : {"1.1", "1.0"}) {
    const Answer answer = client.exchange("GET /custom HTTP/" + version +
                                          "\r\nHost: a\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_EQ(answer.headers.at("content-length"), "6");
    EXPECT_EQ(answer.headers.at("connection"), "keep-alive");
    EXPECT_EQ(answer.body, "abcdef");
  }
}

TEST_F(HttpStreamTest, Http10GetsNoChunks) {
  answer_with({"abc", "def"});
  start();
  TestClient client = this->client();
  client.send("GET /custom HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  const auto head = client.receive_head();
  ASSERT_TRUE(head.has_value());
  EXPECT_EQ(head->headers.count("transfer-encoding"), 0u);
  EXPECT_EQ(head->headers.at("connection"), "close");
  EXPECT_EQ(client.take(6), "abcdef");
  EXPECT_TRUE(client.at_end());
}

TEST_F(HttpStreamTest, HeadHasNoPieces) {
  std::atomic<int> refused{0};
  handler_.custom = [&](Request request, runtime::Cancel) -> awaitable<Response> {
    request.stream->begin({.content_type = "text/plain"});
    if (!co_await request.stream->write("piece")) ++refused;
    co_return Response();
  };
  start();
  TestClient client = this->client();
  client.send("HEAD /custom HTTP/1.1\r\nHost: a\r\n\r\n" + get("/next"));
  const auto head = client.receive("HEAD");
  ASSERT_TRUE(head.has_value());
  EXPECT_EQ(head->headers.at("transfer-encoding"), "chunked");
  EXPECT_EQ(head->headers.at("content-type"), "text/plain");
  EXPECT_EQ(client.receive()->headers.at("x-path"), "/next");
  EXPECT_EQ(refused, 1);
  EXPECT_TRUE(stop(5s));
}

// A handler that returns or fails before the end is not taken for one that is done.
TEST_F(HttpStreamTest, AnAnswerThatBreaksOffHasNoLastChunk) {
  for (const bool throws : {false, true}) {
    handler_.custom = [throws](Request request, runtime::Cancel) -> awaitable<Response> {
      request.stream->begin({});
      co_await request.stream->write("half");
      if (throws) throw std::runtime_error("on purpose");
      co_return Response();
    };
    if (!server_) start();
    TestClient client = this->client();
    client.send(get("/custom"));
    ASSERT_TRUE(client.receive_head().has_value());
    EXPECT_EQ(client.next_chunk(), "half");
    EXPECT_EQ(client.next_chunk(), std::nullopt);
    EXPECT_TRUE(client.at_end());
  }
}

// Only the connection's end would show that the answer is over.
TEST_F(HttpStreamTest, AnAnswerThatBreaksOffIsResetWhereItsEndWouldLookRight) {
  handler_.custom = [](Request request, runtime::Cancel) -> awaitable<Response> {
    request.stream->begin({});
    co_await request.stream->write("half");
    co_return Response();
  };
  start();
  TestClient client = this->client();
  client.send("GET /custom HTTP/1.0\r\n\r\n");
  client.receive_head();
  client.take(4);
  EXPECT_TRUE(client.is_reset());
}

TEST_F(HttpStreamTest, ALengthIsKept) {
  start();
  for (const std::uint64_t length : {5u, 7u}) {
    answer_with({"abc", "def"}, length);
    TestClient client = this->client();
    client.send(get("/custom"));
    EXPECT_FALSE(client.receive().has_value()) << length;
    EXPECT_TRUE(client.at_end()) << length;
  }
}

// Data that a client has not read yet is in the kernel's buffers, or not written yet.
TEST_F(HttpStreamTest, ASlowReaderSuspendsTheHandler) {
  constexpr std::size_t piece_bytes = 1u << 20;
  constexpr std::size_t pieces = 192;
  constexpr std::size_t max_ahead = 24u << 20;
  std::atomic<std::size_t> written{0};
  const std::string piece(piece_bytes, 'x');
  handler_.custom = [&](Request request, runtime::Cancel) -> awaitable<Response> {
    request.stream->begin({}, pieces * piece_bytes);
    for (std::size_t i = 0; i < pieces && co_await request.stream->write(piece); ++i) {
      written += piece_bytes;
    }
    co_await request.stream->end();
    co_return Response();
  };
  start();
  TestClient client = slow_client();
  client.send(get("/custom"));
  ASSERT_TRUE(client.receive_head().has_value());
  std::size_t read = 0;
  std::size_t furthest_ahead = 0;
  while (const std::size_t count = client.take(piece_bytes).size()) {
    read += count;
    furthest_ahead = std::max(furthest_ahead, written > read ? written - read : 0);
  }
  EXPECT_EQ(read, pieces * piece_bytes);
  EXPECT_LT(furthest_ahead, max_ahead);
  EXPECT_TRUE(stop(5s));
}

TEST_F(HttpStreamTest, AReaderThatStallsIsDroppedAndTheWorkIsCancelled) {
  std::atomic<bool> refused{false};
  std::atomic<bool> told{false};
  const std::string piece(1u << 20, 'x');
  handler_.custom = [&](Request request, runtime::Cancel gone) -> awaitable<Response> {
    request.stream->begin({});
    while (co_await request.stream->write(piece)) {
    }
    told = gone.requested();
    refused = true;
    co_return Response();
  };
  start({.write_timeout = 100ms});
  TestClient client = slow_client();
  client.send(get("/custom"));
  EXPECT_TRUE(eventually([&] { return refused.load(); }));
  EXPECT_TRUE(told);
  EXPECT_TRUE(eventually([&] { return !log_lines().empty(); }));
  EXPECT_TRUE(stop(5s));
}

TEST_F(HttpStreamTest, AClientThatLeavesIsSeenBetweenTwoPieces) {
  std::atomic<int> gone_seen{0};
  handler_.custom = [&](Request request, runtime::Cancel gone) -> awaitable<Response> {
    request.stream->begin({});
    co_await request.stream->write("one");
    co_await until([&] { return gone.requested(); });
    ++gone_seen;
    co_return Response();
  };
  start();
  TestClient client = client_with_first_chunk();
  client.close();
  EXPECT_TRUE(eventually([&] { return gone_seen == 1; }));
  EXPECT_TRUE(stop(5s));
}

TEST_F(HttpStreamTest, KeepsWhatIsPipelinedBehindAStream) {
  std::atomic<bool> more{false};
  handler_.custom = [&](Request request, runtime::Cancel) -> awaitable<Response> {
    request.stream->begin({});
    co_await request.stream->write("one");
    co_await until([&] { return more.load(); });
    co_await request.stream->end();
    co_return Response();
  };
  start();
  TestClient client = client_with_first_chunk();
  client.send(post("/echo", std::string(30'000, 'y')) + get("/custom") + get("/last"));
  more = true;
  EXPECT_EQ(client.next_chunk(), "");
  EXPECT_EQ(client.receive()->body, std::string(30'000, 'y'));
  EXPECT_EQ(client.receive()->body, "one");
  EXPECT_EQ(client.receive()->headers.at("x-path"), "/last");
  EXPECT_TRUE(stop(5s));
}

TEST_F(HttpStreamTest, StopWaitsForAStreamAndThenClosesTheConnection) {
  std::atomic<bool> more{false};
  handler_.custom = [&](Request request, runtime::Cancel) -> awaitable<Response> {
    request.stream->begin({});
    co_await request.stream->write("one");
    co_await until([&] { return more.load(); });
    co_await request.stream->write("two");
    co_await request.stream->end();
    co_return Response();
  };
  start();
  TestClient client = client_with_first_chunk();
  auto stopped = stopping(5s);
  more = true;
  EXPECT_EQ(client.next_chunk(), "two");
  EXPECT_EQ(client.next_chunk(), "");
  EXPECT_TRUE(stopped.get());
  EXPECT_TRUE(client.at_end());
}

TEST_F(HttpStreamTest, StopDoesNotWaitForAReaderThatStalls) {
  std::atomic<bool> began{false};
  const std::string piece(1u << 20, 'x');
  handler_.custom = [&](Request request, runtime::Cancel gone) -> awaitable<Response> {
    request.stream->begin({});
    while (!gone.requested() && co_await request.stream->write(piece)) began = true;
    co_return Response();
  };
  start({.last_write_timeout = 50ms});
  TestClient client = slow_client();
  client.send(get("/custom"));
  ASSERT_TRUE(eventually([&] { return began.load(); }));
  EXPECT_TRUE(stop(50ms));
}

TEST_F(HttpStreamTest, AccessLinesSayWhatWasSent) {
  answer_with({"abc"});
  start();
  exchange(get("/custom"));
  ASSERT_TRUE(eventually([&] { return log_lines().size() == 1; }));
  EXPECT_THAT(log_lines()[0], ::testing::HasSubstr("\"status\":201"));
}

}  // namespace
}  // namespace server
