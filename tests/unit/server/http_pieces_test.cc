#include <gmock/gmock.h>

#include <array>
#include <boost/asio/experimental/awaitable_operators.hpp>

#include "tests/unit/server/http_fixture.h"

namespace server {
namespace {

using namespace std::chrono_literals;
using boost::asio::awaitable;
using State = RequestBody::Piece::State;

// Handlers that read their body in pieces. A test whose handler uses local variables must stop the
// server before these go.
class HttpPiecesTest : public HttpTest {
 protected:
  // Answers with the bytes that it read, at most `most`; with the refusal where that failed.
  void echo_body(std::size_t most, std::size_t room_bytes = 7) {
    handler_.custom = [most, room_bytes](Request request, runtime::Cancel) -> awaitable<Response> {
      Response response;
      std::string room(room_bytes, ' ');
      State state = State::more;
      while (state == State::more && response.body.size() < most) {
        const RequestBody::Piece piece = co_await request.pieces->read(room);
        response.body.append(room, 0, piece.size);
        state = piece.state;
      }
      if (state == State::failed) co_return request.pieces->refusal();
      co_return response;
    };
  }

  // Counts the bytes that it reads, and keeps none of them.
  void count_body() {
    handler_.custom = [this](Request request, runtime::Cancel) -> awaitable<Response> {
      const auto room = std::make_unique<std::array<char, 64u << 10>>();
      RequestBody::Piece piece;
      do {
        while (paused_) co_await tick();
        piece = co_await request.pieces->read(*room);
        counted_ += piece.size;
      } while (piece.state == State::more);
      if (piece.state == State::failed) co_return request.pieces->refusal();
      Response response;
      response.body = std::to_string(counted_);
      co_return response;
    };
  }

  static awaitable<void> tick() {
    boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor, 1ms);
    co_await timer.async_wait(boost::asio::use_awaitable);
  }

  static std::string chunked(const std::vector<std::string>& chunks, std::string_view rest = {}) {
    std::string text = "POST /pieces HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (const std::string& chunk : chunks) {
      char line[20];
      std::snprintf(line, sizeof line, "%zx\r\n", chunk.size());
      text += line + chunk + "\r\n";
    }
    return text + "0\r\n\r\n" + std::string(rest);
  }

  static std::string announcing(std::uint64_t length) {
    return "POST /pieces HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(length) +
           "\r\n\r\n";
  }

  std::atomic<bool> paused_{false};
  std::atomic<std::uint64_t> counted_{0};
};

TEST_F(HttpPiecesTest, ABodyIsTheSameHoweverItIsRead) {
  const std::string body = "0\r\nhello 0\r\n\r\nworld, 0123456789 and more of it";
  start();
  TestClient client = this->client();
  for (const std::size_t room : {1u, 2u, 3u, 7u, 64u, 100'000u}) {
    echo_body(SIZE_MAX, room);
    EXPECT_EQ(client.exchange(post("/pieces", body)).body, body) << room;
    EXPECT_EQ(client.exchange(chunked({body, "0\r\n", "x"})).body, body + "0\r\nx") << room;
    EXPECT_EQ(client.exchange(post("/pieces", "")).body, "") << room;
    EXPECT_EQ(client.exchange(get("/pieces")).body, "") << room;
  }
}

TEST_F(HttpPiecesTest, ABodyMayComeByteByByte) {
  start();
  echo_body(SIZE_MAX);
  TestClient client = this->client();
  for (const char c : chunked({"0\r\n0\r\n", "hello"})) client.send(std::string_view(&c, 1));
  EXPECT_EQ(client.receive()->body, "0\r\n0\r\nhello");
  EXPECT_EQ(client.exchange(get("/next")).headers.at("x-path"), "/next");
}

TEST_F(HttpPiecesTest, PiecesComeWhileTheClientStillSends) {
  std::atomic<std::size_t> read{0};
  handler_.custom = [&](Request request, runtime::Cancel) -> awaitable<Response> {
    std::array<char, 100> room;
    RequestBody::Piece piece;
    do {
      piece = co_await request.pieces->read(room);
      read += piece.size;
    } while (piece.state == State::more);
    co_return Response();
  };
  start();
  TestClient client = this->client();
  client.send("POST /pieces HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n0\r\n");
  EXPECT_TRUE(eventually([&] { return read == 3; }));
  client.send("hello\r\n");
  EXPECT_TRUE(eventually([&] { return read == 8; }));
  client.send("0\r\n\r\n");
  EXPECT_EQ(client.receive()->status, 200);
  EXPECT_TRUE(stop(5s));
}

// Nobody waits for what a client may still send after it got its answer.
TEST_F(HttpPiecesTest, ABodyThatNobodyWantsAnyMoreIsNotWaitedFor) {
  std::atomic<bool> has_failed{false};
  handler_.custom = [&](Request request, runtime::Cancel) -> awaitable<Response> {
    RequestBody& body = *request.pieces;
    const auto reading = [&]() -> awaitable<void> {
      std::array<char, 100> room;
      RequestBody::Piece piece;
      do {
        piece = co_await body.read(room);
      } while (piece.state == State::more);
      has_failed = piece.state == State::failed;
    };
    const auto stopping = [&]() -> awaitable<void> {
      co_await tick();
      body.stop();
      body.stop();
    };
    using boost::asio::experimental::awaitable_operators::operator&&;
    co_await (reading() && stopping());
    co_return Response();
  };
  start();
  TestClient client = this->client();
  client.send(announcing(100) + "some of it");
  EXPECT_EQ(client.receive()->status, 200);
  EXPECT_TRUE(has_failed);
  EXPECT_TRUE(stop(5s));
}

// The body exceeds every bound of a held body, and is held nowhere.
TEST_F(HttpPiecesTest, AGigabyteGoesThroughAndIsNotHeld) {
  constexpr std::uint64_t total = 1u << 30;
  const std::string piece(1u << 20, 'x');
  start({.max_body_bytes = 1000, .max_bodies_bytes = 1000});
  count_body();
  TestClient client = this->client();
  client.send(announcing(total));
  for (std::uint64_t sent = 0; sent < total; sent += piece.size()) client.send(piece);
  EXPECT_EQ(client.receive()->body, std::to_string(total));
  EXPECT_EQ(client.exchange(get("/next")).status, 200);
}

// Data that is sent while the handler does not read stays with the client, except for the kernel's
// buffers and the little that is read ahead.
TEST_F(HttpPiecesTest, AClientWaitsForAHandlerThatDoesNotRead) {
  constexpr std::uint64_t total = 512u << 20;
  constexpr std::uint64_t max_held = 48u << 20;
  const std::string piece(1u << 20, 'x');
  start();
  paused_ = true;
  count_body();
  TestClient client = this->client();
  client.send(announcing(total));
  std::atomic<std::uint64_t> sent{0};
  std::thread sender([&] {
    while (sent < total) {
      client.send(piece);
      sent += piece.size();
    }
  });
  std::uint64_t before = 0;
  do {  // until nothing more is taken
    before = sent;
    std::this_thread::sleep_for(scaled(100ms));
  } while (sent != before || sent == 0);
  EXPECT_LT(sent, max_held);
  EXPECT_EQ(counted_, 0u);
  paused_ = false;
  sender.join();
  EXPECT_EQ(client.receive()->body, std::to_string(total));
}

TEST_F(HttpPiecesTest, ALittleThatIsNotReadIsSkipped) {
  start();
  echo_body(5, 5);
  TestClient client = this->client();
  client.send(post("/pieces", "hello" + std::string(100'000, 'x')) +
              chunked({"hello", std::string(100'000, 'y')}, get("/next")));
  for (int i = 0; i < 2; ++i) {
    const auto answer = client.receive();
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->body, "hello");
  }
  EXPECT_EQ(client.receive()->headers.at("x-path"), "/next");
}

TEST_F(HttpPiecesTest, MuchThatIsNotReadEndsTheConnectionBehindTheAnswer) {
  start();
  echo_body(5, 5);
  for (const std::string& request :
       {announcing(1ull << 40),
        "POST /pieces HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked"
        "\r\n\r\nffffffff\r\n" +
            std::string(1u << 20, 'x')}) {
    TestClient client = this->client();
    client.send(request + "hello");
    const auto answer = client.receive();
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->status, 200);
    client.send(get("/next"));
    client.stop_sending();
    EXPECT_TRUE(client.at_end());
  }
  EXPECT_EQ(handler_.handled, 2);
}

TEST_F(HttpPiecesTest, WhoAsksIsToldToContinueWhenItsBodyIsRead) {
  std::atomic<bool> reads{false};
  handler_.custom = [&](Request request, runtime::Cancel) -> awaitable<Response> {
    std::array<char, 100> room;
    while (!reads) co_await tick();
    const RequestBody::Piece piece = co_await request.pieces->read(room);
    Response response;
    response.body.assign(room.data(), piece.size);
    co_return response;
  };
  start();
  TestClient client = this->client();
  client.send(
      "POST /pieces HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return handler_.handled == 1; }));
  EXPECT_FALSE(client.has_input_within(20ms));
  reads = true;
  EXPECT_EQ(client.receive()->status, 100);
  client.send("body");
  EXPECT_EQ(client.receive()->body, "body");
  EXPECT_EQ(client.exchange(get("/next")).status, 200);
  EXPECT_TRUE(stop(5s));
}

TEST_F(HttpPiecesTest, WhoIsRefusedIsNotToldToContinue) {
  handler_.custom = [](Request, runtime::Cancel) -> awaitable<Response> {
    co_return problem(RefusalCode::exists, "not now");
  };
  start();
  TestClient client = this->client();
  client.send(
      "POST /pieces HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.receive()->status, 409);
  client.stop_sending();
  EXPECT_TRUE(client.at_end());
}

TEST_F(HttpPiecesTest, ABodyThatIsNotFramedRightIsRefusedAndNothingBehindItIsRead) {
  start();
  echo_body(SIZE_MAX);
  const std::string zeros(80'000, '0');
  for (const std::string& body : std::vector<std::string>{
           "zz\r\nhello\r\n0\r\n\r\n", "4\r\nhello\r\n0\r\n\r\n", "5\nhello\n0\n\n\r\n\r\n",
           "5;x=\"\n\"\r\nhello\r\n0\r\n\r\n", "5;a=\"\r\nhello\r\n0\r\n\r\n", zeros,
           "5\r\nhello\r\n0;" + std::string(5000, 'x') + "\r\n\r\n"}) {
    TestClient client = this->client();
    const int before = handler_.handled;
    const Answer answer =
        client.exchange("POST /pieces HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" +
                        body + get("/next"));
    EXPECT_EQ(answer.status, 400) << body.substr(0, 50);
    client.stop_sending();
    EXPECT_TRUE(client.at_end()) << body.substr(0, 50);
    EXPECT_EQ(handler_.handled, before + 1) << body.substr(0, 50);
  }
}

TEST_F(HttpPiecesTest, ASlowBodyIsTimedOut) {
  start({.body_timeout = 50ms});
  echo_body(SIZE_MAX);
  TestClient client = this->client();
  client.send("POST /pieces HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_EQ(client.receive()->status, 408);
  client.stop_sending();
  EXPECT_TRUE(client.at_end());
}

TEST_F(HttpPiecesTest, ABodyThatStallsDoesNotHoldUpTheServersEnd) {
  start();
  echo_body(SIZE_MAX);
  TestClient client = this->client();
  client.send(announcing(10) + "abc");
  ASSERT_TRUE(eventually([&] { return handler_.handled == 1; }));
  EXPECT_TRUE(stop(10ms));
  const auto answer = client.receive();
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->status, 503);
}

// Bytes now and then extend the time only by their share.
TEST_F(HttpPiecesTest, ATricklingBodyIsTimedOut) {
  start({.body_timeout = 60ms});
  echo_body(SIZE_MAX);
  TestClient client = this->client();
  client.send(announcing(1'000'000));
  const auto began = std::chrono::steady_clock::now();
  while (!client.has_input_within(10ms)) client.send("x");
  EXPECT_EQ(client.receive()->status, 408);
  EXPECT_LT(std::chrono::steady_clock::now() - began, scaled(2s));
}

// The time in which the handler does not read does not count against the client.
TEST_F(HttpPiecesTest, ASlowHandlerIsNotTheClientsFault) {
  start({.body_timeout = 300ms});
  paused_ = true;
  count_body();
  TestClient client = this->client();
  client.send(post("/pieces", std::string(300'000, 'x')));
  ASSERT_TRUE(eventually([&] { return handler_.handled == 1; }));
  std::this_thread::sleep_for(700ms);
  paused_ = false;
  EXPECT_EQ(client.receive()->body, "300000");
}

TEST_F(HttpPiecesTest, AClientThatLeavesIsSeen) {
  std::atomic<bool> failed{false};
  std::atomic<bool> told{false};
  handler_.custom = [&](Request request, runtime::Cancel gone) -> awaitable<Response> {
    std::array<char, 100> room;
    RequestBody::Piece piece;
    do {
      piece = co_await request.pieces->read(room);
    } while (piece.state == State::more);
    told = gone.requested();
    failed = piece.state == State::failed;
    co_return Response();
  };
  start();
  TestClient client = this->client();
  client.send(announcing(1'000'000) + "some of it");
  ASSERT_TRUE(eventually([&] { return handler_.handled == 1; }));
  client.close();
  EXPECT_TRUE(eventually([&] { return failed.load(); }));
  EXPECT_TRUE(told);
  EXPECT_TRUE(stop(5s));
}

// An answer may begin before the body has ended.
TEST_F(HttpPiecesTest, WhatIsReadCanBeAnsweredAtOnce) {
  handler_.custom = [](Request request, runtime::Cancel) -> awaitable<Response> {
    std::array<char, 100> room;
    request.stream->begin({});
    RequestBody::Piece piece;
    do {
      piece = co_await request.pieces->read(room);
      if (piece.size > 0) co_await request.stream->write(std::string_view(room.data(), piece.size));
    } while (piece.state == State::more);
    co_await request.stream->end();
    co_return Response();
  };
  start();
  TestClient client = this->client();
  client.send(announcing(8) + "ping");
  ASSERT_TRUE(client.receive_head().has_value());
  EXPECT_EQ(client.next_chunk(), "ping");
  client.send("pong" + get("/next"));
  EXPECT_EQ(client.next_chunk(), "pong");
  EXPECT_EQ(client.next_chunk(), "");
  EXPECT_EQ(client.receive()->headers.at("x-path"), "/next");
}

}  // namespace
}  // namespace server
