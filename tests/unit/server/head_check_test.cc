#include "server/http/head_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace server {
namespace {

std::string complaint_of(std::string_view head) { return check_head(head).value_or("fine"); }

std::string with(std::string_view lines) {
  return "POST / HTTP/1.1\r\nHost: a\r\n" + std::string(lines) + "\r\n";
}

TEST(HeadCheck, AcceptsWhatClientsSend) {
  EXPECT_EQ(complaint_of(with("")), "fine");
  EXPECT_EQ(complaint_of(with("Content-Length: 12\r\nAccept: a\r\nAccept: b\r\nX:\r\n")), "fine");
  EXPECT_EQ(complaint_of(with("transfer-encoding:  Chunked \r\n")), "fine");
  EXPECT_EQ(complaint_of(with("Cookie: a=\xC3\xA9\tb\r\n")), "fine");
  EXPECT_EQ(complaint_of("GET / HTTP/1.0\r\n\r\n"), "fine");
}

TEST(HeadCheck, RefusesWhatTwoReadersReadDifferently) {
  const std::pair<std::string, const char*> cases[] = {
      {with("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"), "both"},
      {with("Transfer-Encoding: chunked\r\nContent-Length: 1\r\n"), "both"},
      {with("Content-Length: 1\r\nContent-Length: 1\r\n"), "more than one Content-Length"},
      {with("content-length: 1\r\nCONTENT-LENGTH: 2\r\n"), "more than one Content-Length"},
      {with("Content-Length: 1, 1\r\n"), "one decimal number"},
      {with("Content-Length: +1\r\n"), "one decimal number"},
      {with("Content-Length: 0x1\r\n"), "one decimal number"},
      {with("Content-Length:\r\n"), "one decimal number"},
      {with("Content-Length: 9999999999999999999\r\n"), "one decimal number"},
      {with("Transfer-Encoding: gzip, chunked\r\n"), "chunked and nothing else"},
      {with("Transfer-Encoding: identity\r\n"), "chunked and nothing else"},
      {with("Transfer-Encoding: xchunked\r\n"), "chunked and nothing else"},
      {with("Transfer-Encoding: chunked, chunked\r\n"), "chunked and nothing else"},
      {with("Transfer-Encoding: \"chunked\"\r\n"), "chunked and nothing else"},
      {with("Transfer-Encoding: chunked;x\r\n"), "chunked and nothing else"},
      {with("Transfer-Encoding:\r\n"), "chunked and nothing else"},
      {with("Transfer-Encoding : chunked\r\n"), "blanks in a header's name"},
      {with("Transfer-Encoding:\x0b"
            "chunked\r\n"),
       "control"},
      {with("Content-Length: -0\r\n"), "one decimal number"},
      {with("Content-Length: 1 1\r\n"), "one decimal number"},
      {with("Content-Length: 1e1\r\n"), "one decimal number"},
      {with("Content-Length: 1_0\r\n"), "one decimal number"},
      {with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), "more than one"},
      {with("Host: b\r\n"), "more than one Host"},
      {with("Authorization: a\r\nauthorization: b\r\n"), "more than one Authorization"},
      {with("A: b\r\n folded\r\n"), "folded"},
      {with("A: b\r\n\tfolded\r\n"), "folded"},
      {with("Content-Length : 1\r\n"), "blanks in a header's name"},
      {with("no colon\r\n"), "without a name"},
      {with(": x\r\n"), "without a name"},
      {with("A: b\n"), "CRLF"},
      {with("A: b\rC: d\r\n"), "control"},
      {with(std::string("A: b\0c\r\n", 8)), "control"},
      {with("A: \x7f\r\n"), "control"},
      {"GET / HTTP/1.1\nHost: a\n\n", "CRLF"},
      {"GET / HTTP/1.1\r\nHost: a\r\n\n", "CRLF"},
      {"GET / HTTP/1.1\r\n\r\n", "no Host"},
      {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "HTTP/1.0"},
  };
  for (const auto& [head, words] : cases) {
    EXPECT_THAT(complaint_of(head), ::testing::HasSubstr(words)) << head;
  }
}

TEST(HeadCheck, ATargetNamesTheHostThatHostNames) {
  for (const char* head :
       {"GET http://a/x HTTP/1.1\r\nHost: A\r\n\r\n",
        "GET http://a:80?x HTTP/1.1\r\nHost: a:80\r\n\r\n",
        "GET /x?y=http://b/ HTTP/1.1\r\nHost: a\r\n\r\n", "GET http://a/ HTTP/1.0\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "CONNECT b:443 HTTP/1.1\r\nHost: b:443\r\n\r\n"}) {
    EXPECT_EQ(complaint_of(head), "fine") << head;
  }
  for (const char* head :
       {"GET http://b/x HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET http://a:80/ HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET http://a@b/ HTTP/1.1\r\nHost: a\r\n\r\n", "GET http://b HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n", "GET http://b/ HTTP/1.0\r\nHost: a\r\n\r\n"}) {
    EXPECT_THAT(complaint_of(head), ::testing::HasSubstr("another host")) << head;
  }
}

TEST(HeadCheck, BoundsTheNumberOfLines) {
  std::string lines;
  for (int i = 1; i < max_header_lines; ++i) lines += "A: b\r\n";
  EXPECT_EQ(complaint_of(with(lines)), "fine");
  EXPECT_EQ(complaint_of(with(lines + "A: b\r\n")), "more than 100 header lines");
}

}  // namespace
}  // namespace server
