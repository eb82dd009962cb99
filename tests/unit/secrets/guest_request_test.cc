// What a program may say to the gateway: one reading or none.
#include "runtime/secrets/guest_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>

namespace runtime {
namespace {

using testing::ElementsAre;
using testing::Pair;

const std::string host_line = "Host: gateway\r\n";

// 0: it is served.
int status_of(const std::string& head) {
  const auto read = read_guest_head(head);
  const auto* const refusal = std::get_if<GatewayRefusal>(&read);
  return refusal == nullptr ? 0 : refusal->status;
}

GuestRequest request_of(const std::string& head) {
  auto read = read_guest_head(head);
  const auto* const refusal = std::get_if<GatewayRefusal>(&read);
  EXPECT_EQ(refusal, nullptr) << (refusal == nullptr ? "" : refusal->reason);
  return refusal == nullptr ? std::get<GuestRequest>(read) : GuestRequest{};
}

TEST(GuestRequest, IsTakenApart) {
  const GuestRequest request =
      request_of("POST /a.example:8443/b/../c?d=/e HTTP/1.1\r\n" + host_line +
                 "X-A:  b c \t\r\nx-a:\r\nContent-Length: 12\r\nExpect: 100-Continue\r\n\r\n");
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.place, "a.example:8443");
  EXPECT_EQ(request.path, "/b/../c?d=/e");
  EXPECT_EQ(request.body_bytes, 12u);
  EXPECT_TRUE(request.awaits_continue);
  EXPECT_THAT(request.headers, ElementsAre(Pair("X-A", "b c"), Pair("x-a", "")));
}

TEST(GuestRequest, HasAPathInAnyCase) {
  EXPECT_EQ(request_of("GET /a HTTP/1.1\r\n" + host_line + "\r\n").path, "/");
  EXPECT_EQ(request_of("GET /a?b HTTP/1.1\r\n" + host_line + "\r\n").path, "/?b");
  EXPECT_EQ(request_of("GET /a/ HTTP/1.1\r\n" + host_line + "\r\n").path, "/");
  EXPECT_EQ(request_of("GET / HTTP/1.1\r\n" + host_line + "\r\n").place, "");
}

TEST(GuestRequest, KeepsHeadersOfThisConnectionToItself) {
  const GuestRequest request = request_of(
      "GET /a/ HTTP/1.1\r\n" + host_line +
      "Connection: close,  x-one\r\nCONNECTION: X_Two\r\nX-One: 1\r\nX-Two: 2\r\nX-Three: 3\r\n"
      "Keep-Alive: 1\r\nTE: trailers\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\nProxy-Any: y\r\n\r\n");
  EXPECT_THAT(request.headers, ElementsAre(Pair("X-Three", "3")));
}

TEST(GuestRequest, BoundsAreWhereTheySay) {
  const std::string start = "POST /a/ HTTP/1.1\r\n" + host_line;
  const auto length = [&](std::uint64_t bytes) {
    return status_of(start + "Content-Length: " + std::to_string(bytes) + "\r\n\r\n");
  };
  EXPECT_EQ(length(max_guest_body_bytes), 0);
  EXPECT_EQ(length(max_guest_body_bytes + 1), 413);
  std::string most = start;
  for (std::size_t number = 1; number < max_guest_headers; ++number) most += "X: y\r\n";
  EXPECT_EQ(status_of(most + "\r\n"), 0);
  EXPECT_EQ(status_of(most + "X: y\r\n\r\n"), 431);
}

TEST(GuestRequest, IsRefusedWhereItCouldBeReadTwoWays) {
  const auto with = [](const std::string& lines) {
    return status_of("GET /a/ HTTP/1.1\r\n" + host_line + lines + "\r\n");
  };
  EXPECT_EQ(with(""), 0);
  for (const char* const lines :
       {"X\r\n", ": y\r\n", "X : y\r\n", " X: y\r\n", "X: y\r\n\tz\r\n", "X: a\rb\r\n",
        "X: a\nb\r\n", "Host: b\r\n", "Content-Length: 1\r\nContent-Length: 1\r\n",
        "Content-Length: \r\n", "Content-Length: -1\r\n", "Content-Length: 1 1\r\n",
        "Content_Length: 1\r\n", "X\x80: y\r\n", "X: \x7f\r\n", "X\"y: z\r\n"}) {
    EXPECT_EQ(with(lines), 400) << lines;
  }
  EXPECT_EQ(with("Transfer-Encoding: identity\r\n"), 411);
  EXPECT_EQ(with("transfer_encoding: chunked\r\n"), 411);
  EXPECT_EQ(with("Expect: 200\r\n"), 417);
  EXPECT_EQ(status_of("GET /a/ HTTP/1.0\r\n" + host_line + "\r\n"), 505);
  EXPECT_EQ(status_of("TRACE /a/ HTTP/1.1\r\n" + host_line + "\r\n"), 405);
  EXPECT_EQ(status_of("GET /a/ HTTP/1.1\r\n\r\n"), 400);
  for (const char* const target : {"a/", "http://a/", "*", "/a/ b", "/a/\x01", "/a/#b", "/a/\\b",
                                   "/a/\"", "/a/\xc3\xa9", ""}) {
    EXPECT_EQ(status_of(std::string("GET ") + target + " HTTP/1.1\r\n" + host_line + "\r\n"), 400)
        << target;
  }
}

TEST(GuestRequest, BareLineFeedsAreSeenEarly) {
  EXPECT_FALSE(has_bare_line_feed("GET / HTTP/1.1\r\nHost: a\r"));
  EXPECT_TRUE(has_bare_line_feed("GET / HTTP/1.1\nHo"));
  EXPECT_TRUE(has_bare_line_feed("\n"));
}

// No part of any input makes it fail otherwise than by an answer.
TEST(GuestRequest, EveryCutAndEveryChangedByteIsAnswered) {
  const std::string head = "POST /a.example/b?c HTTP/1.1\r\n" + host_line +
                           "Connection: x, y\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n";
  for (std::size_t at = 0; at < head.size(); ++at) {
    (void)read_guest_head(head.substr(0, at));
    std::string changed = head;
    for (int byte = 0; byte < 256; ++byte) {
      changed[at] = static_cast<char>(byte);
      const auto read = read_guest_head(changed);
      const auto* const request = std::get_if<GuestRequest>(&read);
      if (request == nullptr) continue;
      EXPECT_EQ(request->path.find_first_of(" \r\n\t#\\"), std::string::npos);
      for (const auto& [name, value] : request->headers) {
        EXPECT_EQ(value.find_first_of("\r\n"), std::string::npos);
      }
    }
  }
}

}  // namespace
}  // namespace runtime
