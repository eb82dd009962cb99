#include <gmock/gmock.h>

#include "tests/unit/server/http_fixture.h"

namespace server {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

TEST_F(HttpTest, ConnectionsBeyondTheLimitHear503) {
  start({.max_connections = 2});
  TestClient first = client();
  TestClient second = client();
  EXPECT_EQ(first.exchange(get("/a")).status, 200);
  EXPECT_EQ(second.exchange(get("/a")).status, 200);
  const Answer answer = exchange(get("/a"));
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.headers.at("retry-after"), "1");
  second.close();
  EXPECT_TRUE(eventually([&] { return exchange(get("/a")).status == 200; }));
  EXPECT_EQ(first.exchange(get("/a")).status, 200);
}

TEST_F(HttpTest, OnePeerMayNotHaveThemAll) {
  start({.max_connections_per_peer = 2});
  TestClient first = client();
  TestClient second = client();
  EXPECT_EQ(first.exchange(get("/a")).status, 200);
  EXPECT_EQ(second.exchange(get("/a")).status, 200);
  const Answer answer = exchange(get("/a"));
  EXPECT_EQ(answer.status, 429);
  EXPECT_EQ(answer.headers.at("retry-after"), "1");
  EXPECT_THAT(answer.body, HasSubstr("one address"));
  TestClient other(port_, "127.0.0.2");
  EXPECT_EQ(other.exchange(get("/a")).status, 200);
  second.close();
  EXPECT_TRUE(eventually([&] { return exchange(get("/a")).status == 200; }));
  EXPECT_EQ(first.exchange(get("/a")).status, 200);
}

TEST_F(HttpTest, AConnectionThatAsksNothingMoreIsClosed) {
  start({.idle_timeout = 500ms});
  TestClient idle = client();
  EXPECT_EQ(idle.exchange(get("/a")).status, 200);
  const auto began = std::chrono::steady_clock::now();
  EXPECT_TRUE(idle.at_end());
  EXPECT_GE(std::chrono::steady_clock::now() - began, 400ms);
}

TEST_F(HttpTest, APortInUseIsNamed) {
  start();
  const auto result = listen_tcp("127.0.0.1", port_);
  ASSERT_FALSE(result.has_value());
  EXPECT_THAT(result.error().message(), HasSubstr(std::to_string(port_)));
  EXPECT_THAT(result.error().message(), HasSubstr("another process listens there"));
}

TEST_F(HttpTest, StopClosesIdleConnectionsAtOnce) {
  start();
  TestClient idle = client();
  TestClient used = client();
  EXPECT_EQ(used.exchange(get("/a")).status, 200);
  const auto began = std::chrono::steady_clock::now();
  EXPECT_TRUE(stop(10s));
  EXPECT_LT(std::chrono::steady_clock::now() - began, 3s);
  EXPECT_TRUE(idle.at_end());
  EXPECT_TRUE(used.at_end());
}

TEST_F(HttpTest, StopAnswersWhatRuns) {
  start();
  handler_.longest = 1s;
  TestClient client = this->client();
  client.send(post("/wait", "result"));
  ASSERT_TRUE(eventually([&] { return handler_.handled == 1; }));
  auto stopped = stopping(5s);
  const auto answer = client.receive();
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->body, "result");
  EXPECT_EQ(answer->headers.at("connection"), "close");
  EXPECT_TRUE(stopped.get());
  EXPECT_EQ(handler_.gone_seen, 0);
}

TEST_F(HttpTest, WhoComesWhileItStopsIsHeard) {
  start(HttpOptions{.drain_grace = scaled(1s)});
  handler_.longest = 1s;
  TestClient busy = client();
  TestClient kept = client();
  EXPECT_EQ(kept.exchange(get("/a")).headers.at("connection"), "keep-alive");
  busy.send(post("/wait", "x"));
  ASSERT_TRUE(eventually([&] { return handler_.handled == 2; }));
  auto stopped = stopping(5s);
  EXPECT_TRUE(
      eventually([&] { return exchange(get("/new")).headers.at("connection") == "close"; }));
  EXPECT_EQ(kept.exchange(get("/b")).headers.at("connection"), "close");
  EXPECT_EQ(busy.receive()->status, 200);
  EXPECT_TRUE(stopped.get());
}

TEST_F(HttpTest, StopCancelsWhatRunsTooLong) {
  start();
  handler_.longest = 10s;
  TestClient client = this->client();
  client.send(post("/wait", "x"));
  ASSERT_TRUE(eventually([&] { return handler_.handled == 1; }));
  EXPECT_TRUE(stop(50ms));
  EXPECT_EQ(handler_.gone_seen, 1);
  EXPECT_EQ(client.receive()->status, 200);
}

// A reset would not tell the client that it may ask another server.
TEST_F(HttpTest, WhoIsStillSendingWhenTheTimeIsOverIsTold) {
  start();
  handler_.longest = 10s;
  TestClient busy = client();
  busy.send(post("/wait", "x"));
  TestClient in_its_head = client();
  in_its_head.send("POST /echo HTTP/1.1\r\n");
  TestClient in_its_body = client();
  in_its_body.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345");
  ASSERT_TRUE(eventually([&] { return handler_.handled == 1; }));
  EXPECT_TRUE(stop(50ms));
  EXPECT_EQ(busy.receive()->status, 200);
  for (TestClient* late : {&in_its_head, &in_its_body}) {
    const auto answer = late->receive();
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->status, 503);
    EXPECT_EQ(answer->headers.at("retry-after"), "5");
  }
}

TEST_F(HttpTest, WhoSendsTheRestWhenTheTimeIsOverIsAnswered) {
  start(HttpOptions{.drain_grace = scaled(1s)});
  handler_.longest = 10s;
  TestClient busy = client();
  busy.send(post("/wait", "x"));
  TestClient late = client();
  late.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345");
  ASSERT_TRUE(eventually([&] { return handler_.handled == 1; }));
  auto stopped = stopping(50ms);
  EXPECT_EQ(busy.receive()->status, 200);
  late.send("67890");
  const auto answer = late.receive();
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->body, "1234567890");
  EXPECT_TRUE(stopped.get());
}

TEST_F(HttpTest, WhoWasNotAcceptedYetIsAnsweredBeforeTheEnd) {
  start(HttpOptions{.drain_grace = 50ms});
  handler_.longest = 1s;
  TestClient blocking = client();
  blocking.send(get("/block"));
  ASSERT_TRUE(eventually([&] { return handler_.handled == 1; }));
  auto stopped = stopping(5s);
  TestClient waiting = client();  // in the backlog: accepting is blocked
  waiting.send(get("/late"));
  EXPECT_EQ(blocking.receive()->status, 200);
  const auto answer = waiting.receive();
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->status, 200);
  EXPECT_TRUE(stopped.get());
}

TEST_F(HttpTest, AStoppedServerAcceptsNoMore) {
  start();
  EXPECT_TRUE(stop(1s));
  EXPECT_TRUE(listen_tcp("127.0.0.1", port_).has_value());
}

}  // namespace
}  // namespace server
