// The requests that a program in a jail may send to the proxy, whole and in pieces of any size.
#include "egress/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "egress/answer.h"

namespace jail::egress {
namespace {

using testing::HasSubstr;
using testing::Not;
using State = Reading::State;

// A request's outcome as text, to be compared whole.
std::string outcome(RequestReader& reader) {
  const Reading& reading = reader.reading();
  std::string text = "reply=" + reader.take_reply() + " asked=" + reading.asked;
  if (reading.state == State::more) return text + " more";
  if (reading.state == State::refused) {
    return text + " refused " + std::to_string(static_cast<int>(reading.refusal.why)) + " " +
           reading.refusal.reason;
  }
  return text + " to=" + reading.request.destination.text();
}

std::string read_whole(const std::string& bytes) {
  RequestReader reader;
  reader.feed(bytes);
  return outcome(reader);
}

Reading read(const std::string& bytes) {
  RequestReader reader;
  reader.feed(bytes);
  return reader.take();
}

std::string with_line(const std::string& first) { return first + "\r\nHost: x\r\n\r\n"; }

std::string socks(const std::string& request) { return std::string("\x05\x01\x00", 3) + request; }

std::string socks_name(const std::string& name, int port, char command = 1) {
  return socks(std::string{5, command, 0, 3, static_cast<char>(name.size())} + name +
               std::string{static_cast<char>(port >> 8), static_cast<char>(port)});
}

TEST(EgressRequests, Connect) {
  const Reading reading = read(with_line("CONNECT PyPI.org:443 HTTP/1.1") + "early");
  ASSERT_EQ(reading.state, State::complete);
  EXPECT_EQ(reading.request.destination.text(), "pypi.org:443");
  EXPECT_EQ(reading.request.first_bytes, "early");
  EXPECT_EQ(read(with_line("CONNECT [::1]:443 HTTP/1.0")).request.destination.text(), "[::1]:443");
  EXPECT_EQ(read(with_line("CONNECT [::ffff:127.0.0.1]:443 HTTP/1.0")).request.destination.text(),
            "127.0.0.1:443");
}

TEST(EgressRequests, PlainHttp) {
  const Reading reading = read(
      "GET HTTP://Example.org:8080/a/b?c=d HTTP/1.1\r\nHost: evil.com\r\nproxy-authorization: x\r\n"
      "Proxy-Connection: keep-alive\r\nConnection: Keep-Alive, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: "
      "5\r\n"
      "X-Kept:  as it is \r\nContent-Length: 3\r\n\r\nabc");
  ASSERT_EQ(reading.state, State::complete);
  EXPECT_EQ(reading.asked, "Example.org:8080");
  EXPECT_EQ(reading.request.first_bytes,
            "GET /a/b?c=d HTTP/1.1\r\nHost: example.org:8080\r\nConnection: close\r\n"
            "X-Kept:  as it is \r\nContent-Length: 3\r\n\r\nabc");
}

TEST(EgressRequests, PlaceOfPlainHttp) {
  const auto first_line = [](const std::string& line) {
    const Reading reading = read(with_line(line));
    return reading.request.first_bytes.substr(0, reading.request.first_bytes.find("\r\nConn"));
  };
  EXPECT_EQ(first_line("GET http://a.org HTTP/1.0"), "GET / HTTP/1.0\r\nHost: a.org");
  EXPECT_EQ(first_line("GET http://a.org:80?q HTTP/1.1"), "GET /?q HTTP/1.1\r\nHost: a.org");
  EXPECT_EQ(first_line("OPTIONS http://a.org HTTP/1.1"), "OPTIONS * HTTP/1.1\r\nHost: a.org");
  EXPECT_EQ(first_line("GET http://[2001:db8::1]:81/ HTTP/1.1"),
            "GET / HTTP/1.1\r\nHost: [2001:db8::1]:81");
  EXPECT_EQ(first_line("GET http://a.org//evil.com/ HTTP/1.1"),
            "GET //evil.com/ HTTP/1.1\r\nHost: a.org");
}

TEST(EgressRequests, Socks) {
  RequestReader reader;
  reader.feed(socks_name("PyPI.org", 443) + "early");
  EXPECT_EQ(reader.take_reply(), std::string("\x05\x00", 2));
  ASSERT_EQ(reader.reading().state, State::complete);
  EXPECT_EQ(reader.reading().request.destination.text(), "pypi.org:443");
  EXPECT_EQ(reader.reading().request.first_bytes, "early");
  const Reading v4 = read(socks(std::string("\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50", 10)));
  EXPECT_EQ(v4.request.destination.text(), "127.0.0.1:80");
  const std::string loopback = std::string(15, '\0') + "\x01";
  const Reading v6 =
      read(socks(std::string("\x05\x01\x00\x04", 4) + loopback + std::string("\x00\x50", 2)));
  EXPECT_EQ(v6.request.destination.text(), "[::1]:80");
  EXPECT_EQ(read(socks_name("::1", 80)).request.destination.text(), "[::1]:80");
  EXPECT_TRUE(read(socks_name("127.0.0.1", 80)).request.destination.address.has_value());
}

TEST(EgressRequests, TheSameInPiecesOfAnySize) {
  const std::string requests[] = {with_line("CONNECT pypi.org:443 HTTP/1.1"),
                                  with_line("GET http://example.org/ HTTP/1.1"),
                                  with_line("GET http://user@example.org/ HTTP/1.1"),
                                  "GET http://a.org/ HTTP/1.1\r\nA: b\r\n c\r\n\r\n",
                                  "GET http://a.org/ HTTP/1.1\nHost: x\r\n\r\n",
                                  socks_name("pypi.org", 443),
                                  socks_name("pypi.org", 443, 2),
                                  socks_name("127.1", 80),
                                  socks(std::string("\x05\x01\x00\x07", 4)),
                                  socks("GET http://a.org/ HTTP/1.1\r\n\r\n"),
                                  std::string("\x05\x02\x01\x02", 4)};
  for (const std::string& request : requests) {
    const std::string whole = read_whole(request);
    for (std::size_t cut = 0; cut <= request.size(); ++cut) {
      RequestReader reader;
      reader.feed(std::string_view(request).substr(0, cut));
      std::string reply = reader.take_reply();
      reader.feed(std::string_view(request).substr(cut));
      std::string pieces = outcome(reader);
      pieces.insert(6, reply);
      EXPECT_EQ(pieces, whole) << cut << " of " << request;
    }
    RequestReader reader;
    std::string reply;
    for (const char& byte : request) {
      reader.feed({&byte, 1});
      reply += reader.take_reply();
    }
    EXPECT_EQ(outcome(reader).insert(6, reply), whole) << request;
  }
}

TEST(EgressRequests, NoByteTooFew) {
  for (const std::string& request :
       {with_line("CONNECT pypi.org:443 HTTP/1.1"), socks_name("pypi.org", 443)}) {
    for (std::size_t cut = 0; cut < request.size(); ++cut) {
      EXPECT_EQ(read(request.substr(0, cut)).state, State::more) << cut;
    }
  }
}

void expect_refused(const std::string& request, Why why, const std::string& reason) {
  const Reading reading = read(request);
  ASSERT_EQ(reading.state, State::refused) << request;
  EXPECT_EQ(reading.refusal.why, why) << request << ": " << reading.refusal.reason;
  EXPECT_THAT(reading.refusal.reason, HasSubstr(reason)) << request;
}

TEST(EgressRequests, HttpThatCannotBeRead) {
  const std::pair<std::string, const char*> lines[] = {
      {"GET / HTTP/1.1", "http://HOST"},
      {"GET https://a.org/ HTTP/1.1", "http://HOST"},
      {"GET ftp://a.org/ HTTP/1.1", "http://HOST"},
      {"GET http:/a.org/ HTTP/1.1", "http://HOST"},
      {"GET http:///x HTTP/1.1", "not HOST:PORT"},
      {"GET http://a.org:/ HTTP/1.1", "not HOST:PORT"},
      {"GET http://a.org:0/ HTTP/1.1", "from 1 to 65535"},
      {"GET http://a.org:99999/ HTTP/1.1", "from 1 to 65535"},
      {"GET http://u:p@a.org/ HTTP/1.1", "user name"},
      {"GET http://a.org#f HTTP/1.1", "fragment"},
      {"GET http://a.org/#f HTTP/1.1", "fragment"},
      {"GET http://a.org/ HTTP/2.0", "no HTTP/1"},
      {"GET http://a.org/", "METHOD TARGET VERSION"},
      {"GET  http://a.org/ HTTP/1.1", "characters"},
      {"GET http://a.org/ x HTTP/1.1", "no HTTP/1"},
      {"G(T http://a.org/ HTTP/1.1", "no token"},
      {"GET http://a.org/\x01 HTTP/1.1", "characters"},
      {"GET http://a.org/\xff HTTP/1.1", "characters"},
      {"GET http://a.org/\t HTTP/1.1", "characters"},
      {"GET http://a.org/\rX: y HTTP/1.1", "characters"},
      {"CONNECT a.org HTTP/1.1", "not HOST:PORT"},
      {"CONNECT a.org: HTTP/1.1", "not HOST:PORT"},
      {"CONNECT u@a.org:443 HTTP/1.1", "user name"},
      {"CONNECT http://a.org:443/ HTTP/1.1", "not HOST:PORT"},
      {"CONNECT a.org:443/x HTTP/1.1", "from 1 to 65535"},
      {"PRI * HTTP/2.0", "no HTTP/1"}};
  for (const auto& [line, reason] : lines) expect_refused(with_line(line), Why::unreadable, reason);
  const std::string get = "GET http://a.org/ HTTP/1.1\r\n";
  expect_refused(get + "A: b\r\n c\r\n\r\n", Why::unreadable, "folded");
  expect_refused(get + " A: b\r\n\r\n", Why::unreadable, "folded");
  expect_refused(get + "A\r\n\r\n", Why::unreadable, "without a colon");
  expect_refused(get + "A : b\r\n\r\n", Why::unreadable, "no token");
  expect_refused(get + ": b\r\n\r\n", Why::unreadable, "no token");
  expect_refused(get + "A: b\rC: d\r\n\r\n", Why::unreadable, "control character");
  expect_refused(get + "A: b\nC: d\r\n\r\n", Why::unreadable, "CR LF");
  expect_refused(get + std::string("A: b\0c\r\n\r\n", 10), Why::unreadable, "control character");
  expect_refused(std::string("GET http://a.org/\0 HTTP/1.1\r\n\r\n", 31), Why::unreadable,
                 "characters");
  expect_refused("\r\n" + get + "\r\n", Why::unreadable, "no HTTP and no SOCKS5");
  expect_refused("\x16\x03\x01", Why::unreadable, "no HTTP and no SOCKS5");
  expect_refused(std::string("\x04\x01\x00\x50", 4), Why::unreadable, "no HTTP and no SOCKS5");
}

TEST(EgressRequests, HostsThatAreNone) {
  for (const char* host :
       {"127.1", "2130706433", "0x7f.1", "0x7f000001", "0177.0.0.1", "a..b", "-a"}) {
    expect_refused(with_line("CONNECT " + std::string(host) + ":80 HTTP/1.1"), Why::not_allowed,
                   "no name and no address");
    expect_refused(with_line("GET http://" + std::string(host) + "/ HTTP/1.1"), Why::not_allowed,
                   "no name and no address");
    expect_refused(socks_name(host, 80), Why::not_allowed, "no name and no address");
  }
  expect_refused(socks_name(std::string("a\0.b", 4), 80), Why::not_allowed, "no name");
  expect_refused(socks_name("a\r\nb", 80), Why::not_allowed, "no name");
  expect_refused(socks_name("", 80), Why::not_allowed, "no name");
}

TEST(EgressRequests, SocksThatIsNotServed) {
  expect_refused(socks_name("a.org", 80, 2), Why::other_command, "CONNECT");
  expect_refused(socks_name("a.org", 80, 3), Why::other_command, "CONNECT");
  expect_refused(socks_name("a.org", 0), Why::not_allowed, "port 0");
  expect_refused(socks(std::string("\x05\x01\x00\x02", 4)), Why::other_addresses,
                 "type of address");
  expect_refused(socks(std::string("\x05\x01\x01\x01", 4)), Why::unreadable, "reserved");
  expect_refused(socks("\x04\x01"), Why::unreadable, "version");
  expect_refused(std::string("\x05\x00", 2), Why::unreadable, "no method");
  expect_refused("\x05\x01\x02", Why::no_method, "authenticate");
}

TEST(EgressRequests, LongHeads) {
  const std::string start = "GET http://a.org/ HTTP/1.1\r\nA: ";
  const std::string end = "\r\n\r\n";
  const std::string fits(max_head_bytes - start.size() - end.size(), 'a');
  EXPECT_EQ(read(start + fits + end).state, State::complete);
  expect_refused(start + fits + "a" + end, Why::head_too_large, "64 KiB");
  expect_refused(start + std::string(max_head_bytes, 'a'), Why::head_too_large, "64 KiB");
}

TEST(EgressRequests, WhatIsLoggedCanBePrinted) {
  const Reading reading = read(socks_name("a\x1b[31m\n.org", 80));
  EXPECT_EQ(reading.asked, "a\\x1b[31m\\x0a.org:80");
  EXPECT_EQ(printable(std::string(500, 'x'), 10), "xxxxxxx...");
  const Reading secret = read(with_line("GET http://user:secret@a.org/ HTTP/1.1"));
  EXPECT_THAT(secret.asked + secret.refusal.reason, Not(HasSubstr("secret")));
}

TEST(EgressAnswers, Http) {
  const std::string text =
      answer(Protocol::connect, {Why::not_allowed, "no rule names it"}, "evil.com:443");
  EXPECT_THAT(text, HasSubstr("HTTP/1.1 403 Forbidden\r\n"));
  EXPECT_THAT(text, HasSubstr("\r\nContent-Type: text/plain"));
  EXPECT_TRUE(text.ends_with(
      "\r\n\r\nagent-sandbox: egress to evil.com:443 is not allowed: no rule names it\n"));
  EXPECT_THAT(text, HasSubstr("Content-Length: 71\r\n"));
  const std::pair<Why, const char*> table[] = {
      {Why::unreadable, " 400 "}, {Why::head_too_large, " 431 "}, {Why::too_slow, " 408 "},
      {Why::unresolved, " 502 "}, {Why::unreachable, " 502 "},    {Why::refused, " 502 "},
      {Why::busy, " 503 "}};
  for (const auto& [why, status] : table) {
    EXPECT_THAT(answer(Protocol::http, {why, "x"}, "a:1"), HasSubstr(status));
  }
}

TEST(EgressAnswers, Socks) {
  const std::pair<Why, int> table[] = {
      {Why::not_allowed, 2},   {Why::unresolved, 4},      {Why::unreachable, 4}, {Why::refused, 5},
      {Why::other_command, 7}, {Why::other_addresses, 8}, {Why::unreadable, 1},  {Why::busy, 1}};
  for (const auto& [why, code] : table) {
    const std::string text = answer(Protocol::socks, {why, "x"}, "a:1");
    EXPECT_EQ(text, std::string("\x05", 1) + static_cast<char>(code) +
                        std::string("\0\x01\0\0\0\0\0\0", 8));
  }
  EXPECT_EQ(answer(Protocol::socks, {Why::no_method, "x"}, ""), "\x05\xff");
  EXPECT_EQ(go_ahead(Protocol::http), "");
}

}  // namespace
}  // namespace jail::egress
