#include "runtime/llm/polled_http.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "jail/fd.h"
#include "tests/time_scale.h"
#include "tests/unit/llm/loopback_server.h"

namespace runtime::llm {
namespace {

using namespace std::chrono_literals;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Peer = LoopbackServer::Peer;

// Answers every request of a connection with the request itself.
void answer_with_request(Peer& peer) {
  for (;;) {
    const std::string request = peer.read_request();
    if (request.empty() || !peer.send(reply_with(request))) return;
  }
}

HttpRequest request_to(std::string url, std::string method = "GET", std::string body = "") {
  HttpRequest request;
  request.method = std::move(method);
  request.url = std::move(url);
  request.body = std::move(body);
  return request;
}

class PolledHttpTest : public ::testing::Test {
 protected:
  HttpOutcome outcome_of(HttpRequest request, PolledOptions options = {}) {
    const auto call = http_.begin(std::move(request), std::move(options));
    while (call->outcome() == nullptr) http_.wait();
    return *call->outcome();
  }
  HttpReply reply_of(HttpRequest request, PolledOptions options = {}) {
    HttpOutcome outcome = outcome_of(std::move(request), std::move(options));
    if (const auto* fault = std::get_if<HttpFault>(&outcome)) ADD_FAILURE() << fault->text;
    auto* reply = std::get_if<HttpReply>(&outcome);
    return reply == nullptr ? HttpReply() : std::move(*reply);
  }

  PolledHttp http_;
};

// Supplies `text` in pieces of at most three bytes.
auto piece_by_piece(std::string text) {
  return [text = std::move(text),
          done = std::size_t{0}](std::span<char> room) mutable -> std::optional<std::size_t> {
    const std::size_t count = std::min({room.size(), text.size() - done, std::size_t{3}});
    text.copy(room.data(), count, done);
    done += count;
    return count;
  };
}

TEST_F(PolledHttpTest, ARequestAsItIsSent) {
  LoopbackServer server(answer_with_request);
  HttpRequest request = request_to(server.url("/a/../%2e?x=1"), "PATCH", "{}");
  request.headers.emplace_back("Authorization", "Bearer SECRET");
  const std::string sent = reply_of(std::move(request)).body;
  EXPECT_THAT(sent, StartsWith("PATCH /a/../%2e?x=1 HTTP/1.1\r\n"));
  EXPECT_THAT(sent, HasSubstr("\r\nAuthorization: Bearer SECRET\r\n"));
  EXPECT_THAT(sent, HasSubstr("\r\nContent-Length: 2\r\n"));
  EXPECT_THAT(sent, EndsWith("\r\n\r\n{}"));
  EXPECT_THAT(sent, Not(HasSubstr("Expect:")));
  EXPECT_THAT(sent, Not(HasSubstr("Content-Type:")));
}

TEST_F(PolledHttpTest, AMethodWithoutABody) {
  LoopbackServer server(answer_with_request);
  for (const char* method : {"GET", "DELETE"}) {
    EXPECT_THAT(reply_of(request_to(server.url(), method)).body,
                StartsWith(std::string(method) + " / HTTP/1.1\r\n"));
  }
  EXPECT_EQ(server.accepted(), 1) << "a connection is kept";
}

TEST_F(PolledHttpTest, AGoodBodyIsHandedOutAndABadOneKept) {
  LoopbackServer server([](Peer& peer) {
    peer.read_request();
    peer.send(reply_with("good"));
    peer.read_request();
    peer.send(reply_with("bad", "404 Not Found"));
  });
  std::string handed_out;
  const PolledOptions options{.on_body = [&](std::string_view bytes) {
    handed_out += bytes;
    return true;
  }};
  HttpReply reply = reply_of(request_to(server.url()), options);
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "");
  EXPECT_EQ(handed_out, "good");
  reply = reply_of(request_to(server.url()), options);
  EXPECT_EQ(reply.status, 404);
  EXPECT_EQ(reply.body, "bad");
  EXPECT_EQ(handed_out, "good");
}

TEST_F(PolledHttpTest, WhoWantsNoMoreEndsTheCall) {
  LoopbackServer server([](Peer& peer) {
    peer.read_request();
    while (peer.send(reply_with("x"))) {
    }
  });
  const auto outcome =
      outcome_of(request_to(server.url()), {.on_body = [](std::string_view) { return false; }});
  EXPECT_EQ(std::get<HttpFault>(outcome).kind, HttpFault::interrupted);
}

TEST_F(PolledHttpTest, ABodyInPieces) {
  LoopbackServer server(answer_with_request);
  const std::string sent = reply_of(request_to(server.url(), "PUT"),
                                    {.next_piece = piece_by_piece("0123456789"), .body_bytes = 10})
                               .body;
  EXPECT_THAT(sent, StartsWith("PUT / HTTP/1.1\r\n"));
  EXPECT_THAT(sent, HasSubstr("\r\nContent-Length: 10\r\n"));
  EXPECT_THAT(sent, EndsWith("\r\n\r\n0123456789"));
}

TEST_F(PolledHttpTest, ABodyThatCannotBeReadEndsTheCall) {
  LoopbackServer server(answer_with_request);
  const auto outcome =
      outcome_of(request_to(server.url(), "PUT"),
                 {.next_piece = [](std::span<char>) { return std::nullopt; }, .body_bytes = 10});
  EXPECT_EQ(std::get<HttpFault>(outcome).kind, HttpFault::interrupted);
}

TEST_F(PolledHttpTest, OneCallGoesOnWhileOthersCome) {
  LoopbackServer server([](Peer& peer) {
    const std::string request = peer.read_request();
    if (!request.starts_with("GET /stream")) {
      peer.send(reply_with("short"));
      return;
    }
    peer.send("HTTP/1.1 200 OK\r\n\r\nbegun");
    peer.left_within(scaled(20s));
  });
  std::string came;
  auto stream =
      http_.begin(request_to(server.url("/stream")), {.on_body = [&](std::string_view bytes) {
                    came += bytes;
                    return true;
                  }});
  while (came != "begun") http_.wait();
  EXPECT_EQ(reply_of(request_to(server.url("/other"), "POST", "x")).body, "short");
  EXPECT_EQ(stream->outcome(), nullptr);
}

TEST_F(PolledHttpTest, WhoLetsGoOfACallClosesItsConnection) {
  std::atomic<bool> left = false;
  {
    LoopbackServer server([&](Peer& peer) {
      peer.read_request();
      peer.send("HTTP/1.1 200 OK\r\n\r\nbegun");
      left = peer.left_within(scaled(20s));
    });
    std::string came;
    auto call = http_.begin(request_to(server.url()), {.on_body = [&](std::string_view bytes) {
                              came += bytes;
                              return true;
                            }});
    while (came.empty()) http_.wait();
    call.reset();
    const auto deadline = std::chrono::steady_clock::now() + scaled(20s);
    while (!left && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  }
  EXPECT_TRUE(left);
}

TEST_F(PolledHttpTest, OtherDescriptorsAreWaitedFor) {
  LoopbackServer server([](Peer& peer) { peer.left_within(scaled(20s)); });
  const auto call = http_.begin(request_to(server.url()));
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const jail::Fd reader(ends[0]);
  jail::Fd writer(ends[1]);
  std::array<pollfd, 1> others{{{.fd = reader.get(), .events = POLLIN, .revents = 0}}};
  ASSERT_EQ(::write(writer.get(), "x", 1), 1);
  while (others[0].revents == 0) http_.wait(others);
  EXPECT_NE(others[0].revents & POLLIN, 0);
  char byte = 0;
  ASSERT_EQ(::read(reader.get(), &byte, 1), 1);
  writer.reset();
  http_.wait(others);
  while (others[0].revents == 0) http_.wait(others);
  EXPECT_NE(others[0].revents & POLLHUP, 0) << "the end of a pipe is told, too";
  EXPECT_EQ(call->outcome(), nullptr);
}

TEST_F(PolledHttpTest, WhereNobodyListensIsSaid) {
  std::uint16_t port = 0;
  const jail::Fd bound = bound_socket(port);
  const auto outcome = outcome_of(request_to("http://127.0.0.1:" + std::to_string(port)));
  EXPECT_EQ(std::get<HttpFault>(outcome).kind, HttpFault::unreachable);
  EXPECT_EQ(std::get<HttpFault>(outcome).text, "Connection refused");
}

TEST_F(PolledHttpTest, AConnectionThatEndsEarlyIsInterrupted) {
  LoopbackServer server([](Peer& peer) {
    peer.read_request();
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
  });
  EXPECT_EQ(std::get<HttpFault>(outcome_of(request_to(server.url()))).kind, HttpFault::interrupted);
}

TEST_F(PolledHttpTest, WhatCannotBeSentIsAFault) {
  HttpRequest request = request_to("http://127.0.0.1:1");
  request.headers.emplace_back("Authorization", "a\r\nb: c");
  EXPECT_EQ(std::get<HttpFault>(outcome_of(std::move(request))).kind, HttpFault::unreachable);
  EXPECT_TRUE(std::holds_alternative<HttpFault>(outcome_of(request_to("file:///etc/passwd"))));
}

}  // namespace
}  // namespace runtime::llm
