#include <gmock/gmock.h>

#include "runtime/json/reader.h"
#include "runtime/observe/uuid.h"
#include "tests/unit/server/http_fixture.h"

namespace server {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

TEST_F(HttpTest, AnswersSeveralRequestsOnOneConnection) {
  start();
  TestClient client = this->client();
  for (const std::string body : {"one", "", "three"}) {
    const Answer answer = client.exchange(post("/echo?x=1", body));
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, body);
    EXPECT_EQ(answer.headers.at("x-path"), "/echo");
    EXPECT_EQ(answer.headers.at("connection"), "keep-alive");
  }
}

TEST_F(HttpTest, AnswersPipelinedRequestsInOrder) {
  start();
  TestClient client = this->client();
  std::string all;
  for (int i = 0; i < 20; ++i) all += post("/" + std::to_string(i), std::string(1000, 'x'));
  client.send(all);
  for (int i = 0; i < 20; ++i) {
    const auto answer = client.receive();
    ASSERT_TRUE(answer.has_value()) << i;
    EXPECT_EQ(answer->headers.at("x-path"), "/" + std::to_string(i));
    EXPECT_EQ(answer->body.size(), 1000u);
  }
}

// There are more of them than the parser may leave unused of one body.
TEST_F(HttpTest, AnswersManyPipelinedRequestsThatComeAtOnce) {
  start();
  handler_.longest = 100ms;
  TestClient client = this->client();
  std::string all = post("/wait", "first");
  for (int i = 0; i < 100; ++i) all += post("/" + std::to_string(i), std::string(1000, 'x'));
  client.send(all);
  EXPECT_EQ(client.receive()->body, "first");
  for (int i = 0; i < 100; ++i) {
    const auto answer = client.receive();
    ASSERT_TRUE(answer.has_value()) << i;
    ASSERT_EQ(answer->status, 200) << i;
    EXPECT_EQ(answer->headers.at("x-path"), "/" + std::to_string(i));
  }
}

TEST_F(HttpTest, KeepsWhatIsPipelinedWhileItWorks) {
  start();
  handler_.longest = 50ms;
  TestClient client = this->client();
  client.send(post("/wait", "first"));
  EXPECT_TRUE(eventually([&] { return handler_.handled == 1; }));
  client.send(post("/echo", std::string(200'000, 'y')));
  EXPECT_EQ(client.receive()->body, "first");
  EXPECT_EQ(client.receive()->body, std::string(200'000, 'y'));
  EXPECT_EQ(handler_.gone_seen, 0);
}

// The beginning of the next protocol is not taken for a request.
TEST_F(HttpTest, ASwitchBehindAPipelinedRequestReadsNothingAhead) {
  start();
  handler_.longest = 50ms;
  TestClient client = this->client();
  client.send(post("/wait", "first"));
  EXPECT_TRUE(eventually([&] { return handler_.handled == 1; }));
  client.send(get("/switch"));
  EXPECT_EQ(client.receive()->body, "first");
  EXPECT_TRUE(eventually([&] { return handler_.upgraded == 1; }));
  for (const std::string four : {"ping", "pong"}) {
    client.send(four);
    EXPECT_EQ(client.take(4), four);
  }
}

TEST_F(HttpTest, ConnectionsAreDividedAmongTheExecutors) {
  start();
  handler_.longest = 4s;
  TestClient blocked = client();
  EXPECT_EQ(blocked.exchange(get("/one")).status, 200);
  TestClient free = client();
  EXPECT_EQ(free.exchange(get("/two")).status, 200);
  const auto begun = std::chrono::steady_clock::now();
  blocked.send(get("/block"));
  EXPECT_TRUE(eventually([&] { return handler_.handled == 3; }));
  EXPECT_EQ(free.exchange(get("/three")).status, 200);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, handler_.longest);
  EXPECT_EQ(blocked.receive()->status, 200);
}

TEST_F(HttpTest, ReadsARequestThatComesByteByByte) {
  start();
  TestClient client = this->client();
  for (const char c : post("/slow", "body")) client.send(std::string_view(&c, 1));
  EXPECT_EQ(client.receive()->body, "body");
}

TEST_F(HttpTest, ReadsChunks) {
  start();
  TestClient client = this->client();
  client.send(
      "POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5\r\nhello\r\n6;ext=1\r\n world\r\n0\r\nTrailer: x\r\n\r\n" +
      get("/next"));
  EXPECT_EQ(client.receive()->body, "hello world");
  EXPECT_EQ(client.receive()->headers.at("x-path"), "/next");
}

TEST_F(HttpTest, RefusesBadChunksAndCloses) {
  start();
  const std::string zeros(80'000, '0');
  for (const std::string& body : std::vector<std::string>{
           "zz\r\nhello\r\n0\r\n\r\n",
           "0x5\r\nhello\r\n0\r\n\r\n",
           "+5\r\nhello\r\n0\r\n\r\n",
           "-5\r\nhello\r\n0\r\n\r\n",
           " 5\r\nhello\r\n0\r\n\r\n",
           "5 \r\nhello\r\n0\r\n\r\n",
           "\r\n0\r\n\r\n",
           "5\nhello\n0\n\n\r\n\r\n",
           "5\rhello\r\n0\r\n\r\n",
           "4\r\nhello\r\n0\r\n\r\n",
           "5\r\nhelloX\r\n0\r\n\r\n",
           "5\r\nhello\n0\r\n\r\n",
           "5;\r\nhello\r\n0\r\n\r\n",
           "5;=x\r\nhello\r\n0\r\n\r\n",
           "5;x=\"\n\"\r\nhello\r\n0\r\n\r\n",
           std::string("5;x=\"\0\"\r\nhello\r\n0\r\n\r\n", 21),
           "10000000000000005\r\nhello\r\n0\r\n\r\n",
           "fffffffffffffffff\r\nhello\r\n0\r\n\r\n",
           "0\r\nContent-Length: 5\r\n\r\n",
           "0\r\nX : y\r\n\r\n",
           "0\r\nX: y\n\r\n\r\n",
           "0\r\nno colon\r\n\r\n",
           zeros + "5\r\nhello\r\n0\r\n\r\n",
           "5;x=" + zeros + "\r\nhello\r\n0\r\n\r\n",
           "0\r\nX: " + zeros + "\r\n\r\n",
       }) {
    TestClient client = this->client();
    const Answer answer = client.exchange(
        "POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + body + get("/next"));
    EXPECT_EQ(answer.status, 400) << body.substr(0, 60);
    client.stop_sending();
    EXPECT_TRUE(client.at_end()) << body.substr(0, 60) << ": what follows is taken for a request";
  }
  EXPECT_EQ(handler_.handled, 0);
}

// One chunk is larger than 64 bits can count, the other exactly as large as they can.
TEST_F(HttpTest, AChunkLargerThanAnyBodyIsTooLarge) {
  start();
  for (const char* size : {"ffffffffffffffff", "7fffffffffffffff", "1000001"}) {
    const Answer answer =
        exchange("POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" +
                 std::string(size) + "\r\nhello");
    EXPECT_EQ(answer.status, 413) << size;
  }
}

TEST_F(HttpTest, ChunkExtensionsAreBoundedTogether) {
  start();
  const auto with_extensions = [](int chunks) {
    std::string request = "POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (int i = 0; i < chunks; ++i) request += "1;x=" + std::string(97, 'y') + "\r\nz\r\n";
    return request + "0\r\n\r\n";
  };
  EXPECT_EQ(exchange(with_extensions(40)).body, std::string(40, 'z'));
  EXPECT_EQ(exchange(with_extensions(41)).status, 400);
}

// A trailer comes after everything was decided, so it changes nothing.
TEST_F(HttpTest, TrailersAreForgotten) {
  start();
  TestClient client = this->client();
  const Answer answer = client.exchange(
      "POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5\r\nhello\r\n0\r\nX-Request-Id: 6ba7b810-9dad-11d1-80b4-00c04fd430c8\r\nHost: b\r\n\r\n");
  EXPECT_EQ(answer.body, "hello");
  EXPECT_NE(answer.headers.at("x-request-id"), "6ba7b810-9dad-11d1-80b4-00c04fd430c8");
  EXPECT_EQ(client.exchange(get("/next")).status, 200);
}

TEST_F(HttpTest, RefusesChunkExtensionsThatOthersMayReadDifferently) {
  start();
  for (const std::string& extension : {std::string(";a=\"\n\""), std::string(";a=\"\0\"", 6)}) {
    TestClient client = this->client();
    const Answer answer =
        client.exchange("POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1" +
                        extension + "\r\nx\r\n0\r\n\r\n");
    EXPECT_EQ(answer.status, 400) << extension;
    EXPECT_TRUE(client.at_end());
  }
  EXPECT_EQ(handler_.handled, 0);
}

// A parser that looks for the quote's end beyond the line waits for bytes that never come.
TEST_F(HttpTest, RefusesChunkExtensionsWhoseQuoteStaysOpen) {
  start();
  for (const std::string chunks :
       {"1;a=\"\r\nx\r\n0\r\n\r\n", "0;a=\"x\\\"\r\n\r\n", "1\r\nx\r\n0;a=\"b\";c=\"\r\n\r\n"}) {
    TestClient client = this->client();
    const Answer answer = client.exchange(
        "POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks);
    EXPECT_EQ(answer.status, 400) << chunks;
    EXPECT_TRUE(client.at_end());
  }
  EXPECT_EQ(handler_.handled, 0);
}

TEST_F(HttpTest, TakesChunkExtensionsWithQuotes) {
  start();
  TestClient client = this->client();
  const Answer answer = client.exchange(
      "POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
      "1;a=\"\\\"\"\r\nx\r\n0;b=\"c\"\r\n\r\n");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(handler_.handled, 1);
}

TEST_F(HttpTest, SpeaksHttp10) {
  start();
  TestClient closing = client();
  EXPECT_EQ(closing.exchange("GET /a HTTP/1.0\r\n\r\n").headers.at("connection"), "close");
  EXPECT_TRUE(closing.at_end());
  TestClient keeping = client();
  const std::string request = "GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
  EXPECT_EQ(keeping.exchange(request).headers.at("connection"), "keep-alive");
  EXPECT_EQ(keeping.exchange(request).status, 200);
}

TEST_F(HttpTest, ClosesWhenAsked) {
  start();
  TestClient client = this->client();
  EXPECT_EQ(client.exchange(get("/a", "Connection: close\r\n")).headers.at("connection"), "close");
  EXPECT_TRUE(client.at_end());
}

TEST_F(HttpTest, HeadHasTheLengthButNoBody) {
  start();
  TestClient client = this->client();
  client.send("HEAD /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nxyz" + get("/next"));
  const auto answer = client.receive("HEAD");
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->headers.at("content-length"), "3");
  EXPECT_EQ(client.receive()->headers.at("x-path"), "/next");
}

TEST_F(HttpTest, AskedForItSaysContinue) {
  start();
  TestClient client = this->client();
  client.send("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.receive()->status, 100);
  client.send("body");
  EXPECT_EQ(client.receive()->body, "body");
  EXPECT_EQ(exchange(get("/a", "Expect: miracles\r\n")).status, 417);
}

TEST_F(HttpTest, Http10IsNotToldToContinue) {
  start();
  TestClient client = this->client();
  client.send("POST /a HTTP/1.0\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_FALSE(client.has_input_within(50ms));
  EXPECT_EQ(client.exchange("body").body, "body");
}

TEST_F(HttpTest, ARefusedSwitchSaysWhyAlsoBehindAHead) {
  start();
  TestClient client = this->client();
  client.send("HEAD /a HTTP/1.1\r\nHost: a\r\n\r\n" + get("/switch") + "early");
  EXPECT_EQ(client.receive("HEAD")->status, 200);
  const auto refusal = client.receive();
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->status, 400);
  EXPECT_THAT(refusal->body, HasSubstr("before the server switched"));
}

TEST_F(HttpTest, RefusesByTheHeadWithoutReadingTheBody) {
  start();
  TestClient client = this->client();
  client.send(
      "POST /refused HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.receive()->status, 404);
  EXPECT_TRUE(client.at_end());
  EXPECT_EQ(handler_.handled, 0);
}

TEST_F(HttpTest, ARefusalWithoutABodyKeepsTheConnection) {
  start();
  TestClient client = this->client();
  EXPECT_EQ(client.exchange(get("/refused")).status, 404);
  EXPECT_EQ(client.exchange(get("/a")).status, 200);
}

TEST_F(HttpTest, AnnouncedBodiesBeyondTheLimitAreRefusedUnread) {
  start({.max_body_bytes = 1000});
  TestClient client = this->client();
  const Answer answer =
      client.exchange("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n");
  EXPECT_EQ(answer.status, 413);
  EXPECT_THAT(answer.body, HasSubstr("1000 bytes"));
  EXPECT_EQ(exchange(post("/a", std::string(1000, 'x'))).status, 200);
}

// A client that sends all of its body before it reads must still get the answer.
TEST_F(HttpTest, ARefusedUploadStillHearsWhy) {
  start({.max_body_bytes = 1000});
  EXPECT_EQ(exchange(post("/a", std::string(8u << 20, 'x'))).status, 413);
}

TEST_F(HttpTest, ChunkedBodiesBeyondTheLimitAreRefused) {
  start({.max_body_bytes = 1000});
  std::string request = "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 11; ++i) request += "64\r\n" + std::string(100, 'x') + "\r\n";
  EXPECT_EQ(exchange(request).status, 413);
  EXPECT_EQ(handler_.handled, 0);
}

TEST_F(HttpTest, LargeBodiesShareABudget) {
  start({.max_bodies_bytes = 3u << 20});
  handler_.longest = 5s;
  TestClient first = client();
  first.send(post("/wait", std::string(1u << 20, 'x')));
  ASSERT_TRUE(eventually([&] { return handler_.handled == 1; }));
  const std::string large(2u << 20, 'y');
  EXPECT_EQ(exchange(post("/a", large)).status, 503);
  EXPECT_EQ(exchange(post("/a", std::string(60u << 10, 'z'))).status, 200);
  first.close();
  EXPECT_TRUE(eventually([&] { return exchange(post("/a", large)).status == 200; }));
}

TEST_F(HttpTest, RefusesLargeHeads) {
  start();
  const std::string value(17u << 10, 'x');
  EXPECT_EQ(exchange(get("/a", "X: " + value + "\r\n")).status, 431);
  EXPECT_EQ(exchange(get("/" + value)).status, 431);
  EXPECT_EQ(exchange("GET /" + value + value).status, 431);
  EXPECT_EQ(exchange(get("/a", "X: " + value.substr(0, 15u << 10) + "\r\n")).status, 200);
}

TEST_F(HttpTest, RefusesWhatIsNoHttp) {
  start();
  for (const char* bytes :
       {"hello\r\n\r\n", "GET /\r\n\r\n", "GET / HTTP/3.0\r\nHost: a\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
        "G@T / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\nHost: a\n\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n"}) {
    TestClient client = this->client();
    const Answer answer = client.exchange(bytes);
    EXPECT_EQ(answer.status, 400) << bytes;
    EXPECT_EQ(answer.headers.at("content-type"), "application/problem+json") << bytes;
    client.stop_sending();
    EXPECT_TRUE(client.at_end()) << bytes;
  }
  EXPECT_EQ(handler_.handled, 0);
}

TEST_F(HttpTest, ASlowHeadIsTimedOut) {
  start({.head_timeout = 50ms});
  TestClient client = this->client();
  client.send("GET / HT");
  const auto answer = client.receive();
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->status, 408);
  client.stop_sending();
  EXPECT_TRUE(client.at_end());
}

// The deadline counts from the first byte, not from the last one that came.
TEST_F(HttpTest, ATricklingHeadIsTimedOut) {
  start({.head_timeout = 60ms});
  TestClient client = this->client();
  const std::string request = get("/a");
  const auto began = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < request.size() && !client.has_input_within(10ms); ++i) {
    client.send(std::string_view(request).substr(i, 1));
  }
  EXPECT_EQ(client.receive()->status, 408);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 2s);
}

TEST_F(HttpTest, ASlowBodyIsTimedOut) {
  start({.body_timeout = 50ms});
  TestClient client = this->client();
  client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_EQ(client.receive()->status, 408);
  EXPECT_EQ(handler_.handled, 0);
}

TEST_F(HttpTest, IdleConnectionsAreClosedWithoutAWord) {
  start({.head_timeout = 500ms, .idle_timeout = 500ms});
  TestClient silent = client();
  EXPECT_TRUE(silent.at_end());
  TestClient used = client();
  EXPECT_EQ(used.exchange(get("/a")).status, 200);
  EXPECT_TRUE(used.at_end());
}

// The client's receive window stays shut: nobody reads the answer.
TEST_F(HttpTest, AClientThatNeverReadsIsDropped) {
  start({.write_timeout = 100ms});
  TestClient client = this->client();
  client.send(post("/a", std::string(12u << 20, 'x')));
  EXPECT_TRUE(eventually([&] { return !log_lines().empty(); }));
  EXPECT_FALSE(client.receive().has_value()) << "the whole answer fitted into socket buffers";
}

// Reading a byte now and then does not extend the time: the deadline is for the whole answer.
TEST_F(HttpTest, AClientThatReadsSlowlyIsDropped) {
  start({.write_timeout = 300ms});
  TestClient client = this->client();
  client.send(post("/a", std::string(12u << 20, 'x')));
  const auto began = std::chrono::steady_clock::now();
  std::size_t read = 0;
  while (log_lines().empty() && std::chrono::steady_clock::now() - began < scaled(5s)) {
    read += client.take(16384).size();
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, scaled(3s));
  while (const std::size_t more = client.take(1u << 20).size()) read += more;
  EXPECT_LT(read, 12u << 20);
}

TEST_F(HttpTest, ADisconnectIsSeenWhileTheWorkRuns) {
  start();
  TestClient client = this->client();
  client.send(post("/wait", "x"));
  EXPECT_TRUE(eventually([&] { return handler_.handled == 1; }));
  client.close();
  EXPECT_TRUE(eventually([&] { return handler_.gone_seen == 1; }));
}

TEST_F(HttpTest, ADisconnectIsSeenBehindAPipelinedRequest) {
  start();
  TestClient client = this->client();
  client.send(post("/wait", "x") + get("/next"));
  EXPECT_TRUE(eventually([&] { return handler_.handled == 1; }));
  client.close();
  EXPECT_TRUE(eventually([&] { return handler_.gone_seen == 1; }));
}

TEST_F(HttpTest, AClientThatHalfClosesStillGetsItsAnswer) {
  start();
  TestClient client = this->client();
  client.send(post("/wait", "x"));
  client.stop_sending();
  const auto answer = client.receive();
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->body, "x");
  EXPECT_TRUE(client.at_end());
}

TEST_F(HttpTest, AHandlerThatThrowsIsOurFault) {
  start();
  TestClient client = this->client();
  const Answer answer = client.exchange(get("/throw"));
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(answer.body.find("purpose"), std::string::npos);
  EXPECT_EQ(client.exchange(get("/a")).status, 200);
}

TEST_F(HttpTest, KeepsTheClientsRequestIdWhenItIsAUuid) {
  start();
  const std::string id = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";
  EXPECT_EQ(exchange(get("/a", "X-Request-Id: " + id + "\r\n")).headers.at("x-request-id"), id);
  EXPECT_TRUE(eventually([&] { return !log_lines().empty(); }));
  EXPECT_THAT(log_lines().at(0), HasSubstr(id));
  const std::string made = exchange(get("/a", "X-Request-Id: mine\r\n")).headers.at("x-request-id");
  EXPECT_TRUE(runtime::is_uuid(made)) << made;
  EXPECT_TRUE(runtime::is_uuid(exchange("nonsense\r\n\r\n").headers.at("x-request-id")));
}

TEST_F(HttpTest, AccessLinesNameTheRequestButNotItsQuery) {
  start();
  exchange(get("/a/b?key=s3cret"));
  ASSERT_TRUE(eventually([&] { return log_lines().size() == 1; }));
  const auto line = runtime::json::parse(log_lines()[0], "line");
  ASSERT_TRUE(line.has_value());
  const auto& fields = *line->as_object();
  EXPECT_EQ(*fields.at("method").as_string(), "GET");
  EXPECT_EQ(*fields.at("path").as_string(), "/a/b");
  EXPECT_EQ(*fields.at("status").as_integer(), 200);
  EXPECT_EQ(log_lines()[0].find("s3cret"), std::string::npos);
}

}  // namespace
}  // namespace server
