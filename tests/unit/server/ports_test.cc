// The parts of a request that a server inside a sandbox sees, and the parts of its answer that the
// client sees.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/ports/port_access.h"
#include "server/ports/port_headers.h"

namespace server {
namespace {

using testing::HasSubstr;
using testing::Not;

PortCall call_by(PortForm form) {
  PortCall call;
  call.target = {.form = form, .id = "box", .port = "8000", .path = "/a"};
  call.port = 8000;
  call.peer = "10.1.2.3";
  return call;
}

RequestHead request(std::vector<Header> headers = {}, std::string query = {}) {
  RequestHead head;
  head.method = "GET";
  head.path = "/a";
  head.query = std::move(query);
  head.headers = std::move(headers);
  head.request_id = "the-id";
  return head;
}

std::vector<std::string> values_of(const std::vector<Header>& headers, std::string_view name) {
  std::vector<std::string> values;
  for (const Header& header : headers) {
    if (equal_ignoring_case(header.name, name)) values.push_back(header.value);
  }
  return values;
}

using Values = std::vector<std::string>;

TEST(PortNumber, IsOneOfTcp) {
  EXPECT_EQ(port_number("1"), 1);
  EXPECT_EQ(port_number("65535"), 65535);
  for (const char* text :
       {"", "0", "65536", "08", "+8", "-1", " 8", "8 ", "8x", "0x8", "99999999999"}) {
    EXPECT_FALSE(port_number(text)) << text;
  }
}

TEST(PortOfHost, IsAPortAndAnIdBelowTheDomain) {
  const auto target = port_of_host("8000-ABC234.Sandboxes.Example:9000", "sandboxes.example");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->port, "8000");
  EXPECT_EQ(target->id, "abc234");
  EXPECT_EQ(target->path, "/");
  EXPECT_EQ(target->form, PortForm::host);
  EXPECT_EQ(port_of_host("80-my-name.localhost", "localhost")->id, "my-name");
  for (const char* host :
       {"", "sandboxes.example", "x.sandboxes.example", "8000.sandboxes.example",
        "0-a.sandboxes.example", "8000-a.b.sandboxes.example", "8000-a.sandboxes.example.evil",
        "8000-a.evil", "8000-a", "-a.sandboxes.example", "8000-a@evil/.sandboxes.example.evil",
        "[::1]", "8000-a.sandboxes.examplex", "8000-a.sandboxes.example:",
        "8000-a.sandboxes.example:80:90", "8000-a.sandboxes.example:x"}) {
    EXPECT_FALSE(port_of_host(host, "sandboxes.example")) << host;
  }
  EXPECT_FALSE(port_of_host("8000-a.", ""));
}

TEST(PortToken, IsInAHeaderOrInTheQuery) {
  EXPECT_EQ(token_shown(request({{"x-access-token", "t"}})), "t");
  EXPECT_EQ(token_shown(request({}, "a=1&access_token=t&b")), "t");
  EXPECT_EQ(token_shown(request({{"X-Access-Token", "h"}}, "access_token=q")), "h");
  EXPECT_EQ(token_shown(request({}, "access_token=")), "");
  EXPECT_FALSE(token_shown(request({}, "xaccess_token=t&access_tokens=t")));
  EXPECT_FALSE(has_token_in_query(request({{"X-Access-Token", "h"}}, "access_token=q")));
}

TEST(PortToken, IsTakenOutOfAQueryAndOutOfCookies) {
  EXPECT_EQ(without_token("access_token=t"), "");
  EXPECT_EQ(without_token("a=1&access_token=t&b=%26&access_token&c"), "a=1&b=%26&c");
  EXPECT_EQ(without_token("access_tokens=t"), "access_tokens=t");
  EXPECT_EQ(without_our_cookies("a=1; agent_sandbox_port=t;agent_sandbox_port=u ; b=2"),
            "a=1; b=2");
  EXPECT_EQ(without_our_cookies("agent_sandbox_port=t"), "");
  EXPECT_EQ(without_our_cookies("agent_sandbox_ports=t"), "agent_sandbox_ports=t");
}

TEST(PortToken, CookiesOfOursAreBounded) {
  std::string many;
  for (int i = 0; i < 100; ++i) many += "agent_sandbox_port=x; ";
  EXPECT_LE(tokens_in_cookies(request({{"Cookie", many}})).size(), 8u);
}

TEST(PortHeaders, WhatGoesIn) {
  auto call = call_by(PortForm::path);
  call.key_is_authorization = true;
  const std::string head =
      head_for_guest(request({{"Host", "api.example"},
                              {"Accept", "*/*"},
                              {"Authorization", "Bearer key"},
                              {"X-API-Key", "key"},
                              {"X-Access-Token", "token"},
                              {"Cookie", "session=1"},
                              {"Connection", "x-hop , close"},
                              {"X-Hop", "1"},
                              {"TE", "trailers"},
                              {"Trailer", "X"},
                              {"Transfer-Encoding", "chunked"},
                              {"Upgrade", "h2c"},
                              {"Forwarded", "for=1"},
                              {"x-forwarded-for", "6.6.6.6"},
                              {"X-Real-IP", "6.6.6.6"},
                              {"Referer", "http://api.example/?access_token=token"}},
                             "access_token=token&q=1"),
                     call);
  EXPECT_EQ(
      head,
      "GET /a?q=1 HTTP/1.1\r\nHost: localhost:8000\r\nAccept: */*\r\nX-Forwarded-For: 10.1.2.3\r\n"
      "X-Forwarded-Host: api.example\r\nX-Forwarded-Proto: http\r\n"
      "X-Forwarded-Prefix: /v1/sandboxes/box/ports/8000\r\nX-Request-Id: the-id\r\n"
      "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n");
}

TEST(PortHeaders, WhatGoesInByHostName) {
  const std::string head = head_for_guest(request({{"Host", "8000-box.example"},
                                                   {"Authorization", "Basic x"},
                                                   {"Cookie", "a=1; agent_sandbox_port=t"},
                                                   {"Cookie", "b=2"},
                                                   {"Content-Length", "5"},
                                                   {"Referer", "http://8000-box.example/"}}),
                                          call_by(PortForm::host));
  EXPECT_EQ(
      head,
      "GET /a HTTP/1.1\r\nHost: 8000-box.example\r\nAuthorization: Basic x\r\n"
      "Referer: http://8000-box.example/\r\nCookie: a=1; b=2\r\nX-Forwarded-For: 10.1.2.3\r\n"
      "X-Forwarded-Host: 8000-box.example\r\nX-Forwarded-Proto: http\r\nX-Request-Id: the-id\r\n"
      "Content-Length: 5\r\nConnection: close\r\n\r\n");
}

TEST(PortHeaders, AnUpgradeKeepsItsKeyAndHasNoBody) {
  auto call = call_by(PortForm::path);
  call.is_upgrade = true;
  call.peer = "uid 0";
  const std::string head = head_for_guest(request({{"Connection", "Upgrade"},
                                                   {"Upgrade", "websocket"},
                                                   {"Sec-WebSocket-Key", "k"},
                                                   {"Content-Length", "0"}}),
                                          call);
  EXPECT_THAT(head, HasSubstr("\r\nSec-WebSocket-Key: k\r\n"));
  EXPECT_THAT(head, HasSubstr("\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"));
  EXPECT_THAT(head, Not(HasSubstr("Content-Length")));
  EXPECT_THAT(head, Not(HasSubstr("X-Forwarded-For")));
}

TEST(PortHeaders, WhatComesOutByPath) {
  const std::vector<Header> answer = {{"Content-Type", "text/html"},
                                      {"set-cookie", "a=b"},
                                      {"Access-Control-Allow-Origin", "*"},
                                      {"Content-Security-Policy", "sandbox allow-same-origin"},
                                      {"X-Accel-Redirect", "/x"},
                                      {"X-Accel-Buffering", "no"},
                                      {"Connection", "X-Hop"},
                                      {"X-Hop", "1"},
                                      {"Location", "/b"},
                                      {"Bad", "a\rb"},
                                      {"Referrer-Policy", "unsafe-url"}};
  const auto headers = headers_for_client(answer, call_by(PortForm::path));
  EXPECT_EQ(values_of(headers, "Content-Type"), Values{"text/html"});
  EXPECT_EQ(values_of(headers, "Location"), Values{"/v1/sandboxes/box/ports/8000/b"});
  EXPECT_EQ(values_of(headers, "X-Accel-Buffering"), Values{"no"});
  for (const char* name : {"Set-Cookie", "Access-Control-Allow-Origin", "X-Accel-Redirect",
                           "Connection", "X-Hop", "Bad"}) {
    EXPECT_EQ(values_of(headers, name), Values{}) << name;
  }
  EXPECT_EQ(values_of(headers, "Content-Security-Policy"),
            (Values{"sandbox allow-same-origin", "sandbox allow-scripts allow-forms"}));
  EXPECT_EQ(values_of(headers, "Referrer-Policy"), Values{"no-referrer"});
  EXPECT_EQ(values_of(headers, "Cache-Control"), Values{"no-store"});
}

TEST(PortHeaders, WhatComesOutByHostName) {
  const std::vector<Header> answer = {{"Set-Cookie", "a=b; Domain=example; Secure"},
                                      {"Set-Cookie", "agent_sandbox_port=x"},
                                      {"Set-Cookie", "AGENT_SANDBOX_PORT = x"},
                                      {"Set-Cookie", "=agent_sandbox_port=x"},
                                      {"Access-Control-Allow-Origin", "*"},
                                      {"Location", "/b"},
                                      {"Alt-Svc", "h2=\":1\""},
                                      {"Cache-Control", "public"}};
  const auto headers = headers_for_client(answer, call_by(PortForm::host));
  EXPECT_EQ(values_of(headers, "Set-Cookie"), Values{"a=b; Secure"});
  EXPECT_EQ(values_of(headers, "Access-Control-Allow-Origin"), Values{"*"});
  EXPECT_EQ(values_of(headers, "Location"), Values{"/b"});
  EXPECT_EQ(values_of(headers, "Alt-Svc"), Values{});
  EXPECT_EQ(values_of(headers, "Content-Security-Policy"), Values{});
  EXPECT_EQ(values_of(headers, "Cache-Control"), (Values{"public", "private"}));
}

TEST(PortHeaders, AWebSocketIsAgreedToByAllOfIt) {
  const std::vector<Header> good = {{"connection", "keep-alive, Upgrade"},
                                    {"upgrade", "WebSocket"},
                                    {"Sec-WebSocket-Accept", "x"},
                                    {"Set-Cookie", "a=b"}};
  EXPECT_TRUE(agrees_to_websocket(101, good));
  EXPECT_FALSE(agrees_to_websocket(200, good));
  for (std::size_t i = 0; i < 3; ++i) {
    auto less = good;
    less.erase(less.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_FALSE(agrees_to_websocket(101, less)) << i;
  }
  EXPECT_EQ(websocket_head(good, "the-id"),
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            "Sec-WebSocket-Accept: x\r\nX-Request-Id: the-id\r\n\r\n");
}

TEST(PortPages, OnesOfOtherSitesAreKnown) {
  const auto comes = [](std::vector<Header> headers, Ambient ambient) {
    headers.push_back({"Host", "8000-box.example"});
    return comes_from_own_pages(request(std::move(headers)), ambient);
  };
  for (const Ambient ambient : {Ambient::nothing, Ambient::cookie}) {
    EXPECT_TRUE(comes({}, ambient));
    EXPECT_TRUE(
        comes({{"Sec-Fetch-Site", "same-origin"}, {"Origin", "http://8000-box.example"}}, ambient));
    EXPECT_FALSE(comes({{"Origin", "http://8001-box.example"}}, ambient));
    EXPECT_FALSE(comes({{"Origin", "null"}}, ambient));
    EXPECT_FALSE(comes({{"Sec-Fetch-Site", "same-site"}}, ambient));
  }
  const std::vector<Header> link = {{"Sec-Fetch-Site", "cross-site"},
                                    {"Sec-Fetch-Mode", "navigate"}};
  EXPECT_TRUE(comes(link, Ambient::cookie));
  EXPECT_FALSE(comes(link, Ambient::nothing));
}

TEST(PortPages, ATokenLeavesTheAddressOfAPage) {
  RequestHead head = request({{"X-Forwarded-Proto", "https"}}, "a=1&access_token=t");
  head.path = "//evil.example/";
  const Response response = to_address_without_token(head, call_by(PortForm::host).target, "t");
  EXPECT_EQ(response.status, 303);
  EXPECT_EQ(values_of(response.headers, "Location"), Values{"/.//evil.example/?a=1"});
  EXPECT_EQ(values_of(response.headers, "Set-Cookie"),
            Values{"agent_sandbox_port=t; Path=/; HttpOnly; SameSite=Lax; Secure"});
}

TEST(PortPages, ATokenInAFrameOfAnotherSiteBecomesACookieOfThatSitesFrames) {
  const RequestHead head =
      request({{"Sec-Fetch-Dest", "iframe"}, {"Sec-Fetch-Site", "cross-site"}}, "access_token=t");
  const Response response = to_address_without_token(head, call_by(PortForm::path).target, "t");
  EXPECT_EQ(values_of(response.headers, "Set-Cookie"),
            Values{"agent_sandbox_port=t; Path=/v1/sandboxes/box/ports/8000/; HttpOnly; "
                   "SameSite=None; Secure; Partitioned"});
  const RequestHead own = request({{"Sec-Fetch-Dest", "iframe"}, {"Sec-Fetch-Site", "same-site"}});
  const Response lax = to_address_without_token(own, call_by(PortForm::host).target, "t");
  EXPECT_EQ(values_of(lax.headers, "Set-Cookie"),
            Values{"agent_sandbox_port=t; Path=/; HttpOnly; SameSite=Lax"});
}

}  // namespace
}  // namespace server
