// How hosts may be spelled: in SOCKS5, CONNECT, plain HTTP and rules each spelling means the same
// one host, or none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "egress/request.h"
#include "egress/rule.h"

namespace jail::egress {
namespace {

using State = Reading::State;

std::string exactly(const char* text, std::size_t size) { return {text, size}; }

// Returns the destination of the request; empty where it is refused.
std::string way_of(const std::string& request) {
  RequestReader reader;
  const Reading& reading = reader.feed(request);
  EXPECT_NE(reading.state, State::more) << printable(request);
  return reading.state == State::complete ? reading.request.destination.text() : "";
}

std::string by_socks(const std::string& host) {
  return exactly("\5\1\0\5\1\0\3", 7) + static_cast<char>(host.size()) + host +
         exactly("\1\xbb", 2);
}

std::string by_connect(const std::string& authority) {
  return "CONNECT " + authority + " HTTP/1.1\r\nHost: x\r\n\r\n";
}

std::string by_url(const std::string& authority) {
  return "GET http://" + authority + "/ HTTP/1.1\r\nHost: x\r\n\r\n";
}

std::string in_url(const std::string& host) {
  return (host.find(':') == host.npos ? host : "[" + host + "]") + ":443";
}

std::string said_by_rule(const std::string& text) {
  const auto rule = parse_rule(text);
  if (!rule) return "";
  if (rule->kind == RuleKind::addresses) {
    return Destination{to_text(rule->prefix.address), rule->prefix.address, rule->port}.text();
  }
  return (rule->kind == RuleKind::below ? "*." : "") + rule->name + ":" +
         std::to_string(rule->port);
}

TEST(EgressSpellings, OnesThatAreNoHost) {
  const std::string long_label(64, 'a');
  std::string long_name = "org";
  while (long_name.size() < 254) long_name.insert(0, "a.");
  const std::vector<std::string> spellings = {
      // A reader of C strings would see the end here.
      exactly("a\0.org", 6), exactly("a.org\0", 6), exactly("a.org\0.evil.org", 15),
      exactly("\0", 1), exactly("127.0.0.1\0.a.org", 16),
      // Control characters and blanks.
      "a\1.org", "a\t.org", "a.org\x7f", "\x1b[31m.org", "a.org\n", "a\r\nb.org", "a.org\v",
      " a.org", "a.org ", "a b.org", " 127.0.0.1", "127.0.0.1 ", "127.0.0.1\t",
      // Dots.
      ".", "..", "a..org", ".a.org", "a.org..", "127.0.0.1.", "127.0.0.1..", "::1.",
      // User names, and characters behind percent signs.
      "u@a.org", "a.org@evil.org", "127.0.0.1@a.org", "a%2eorg", "%61.org", "a.org%00", "a.org%2f",
      "127.0.0.1%2f", "%31%32%37.0.0.1", "a%40b.org",
      // Numbers that some readers take for an address.
      "2130706433", "0x7f000001", "0X7F000001", "017700000001", "127.1", "127.0.1", "0x7f.0.0.1",
      "0x7f.1", "0177.0.0.1", "127.0.0.01", "127.0.0.0x1", "0127.0.0.1", "127.0.0", "256.0.0.1",
      "127.0.0.1.1", "127.0.0.256", "0", "00", "1", "4294967296", "0x", "a.0x7f", "a.1", "-1",
      "+127.0.0.1", "127.0.0.-1", "127..0.1", "127.0.0.1:",
      // IPv6 with a zone, and invalid IPv6.
      "::1%lo", "fe80::1%eth0", "fe80::1%25eth0", "::1%", "fe80::1%1", ":", ":::", "1::2::3",
      "::12345", "::g", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "::ffff:127.1", "::ffff:2130706433",
      "::ffff:0x7f.0.0.1", "::ffff:127.0.0.01", "::ffff:256.0.0.1", "::127.0.0.1.1", "[::1]",
      "[127.0.0.1]", "[a.org]", "[]", "[", "]", "::1]", "[::1", "a.org]",
      // Labels and names.
      "", "-a.org", "a-.org", "a.-b.org", long_label, long_label + ".org", long_name, "a\\.org",
      "a\\@b.org", "a,b.org", "a;b.org", "a'b.org", "\"a.org\"", "a|b.org", "a*b.org", "*",
      // Characters beyond ASCII: accents, full-width digits and dots, Cyrillic letters, characters
      // without width, a dot in too many bytes, and invalid UTF-8.
      "\xc3\xa9.org", "\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.0.0.1",
      "127\xef\xbc\x8e"
      "0.0.1",
      "a\xe3\x80\x82org", "\xe2\x91\xa0.org", "\xd0\xb0.org", "a\xc2\xad.org", "a\xe2\x80\x8b.org",
      "\xe2\x84\xaa.org",
      "a\xc0\xae"
      "org",
      "a.org\x80", "\xff"};
  EXPECT_GE(spellings.size(), 40u);
  for (const std::string& spelling : spellings) {
    EXPECT_EQ(way_of(by_socks(spelling)), "") << printable(spelling);
    EXPECT_EQ(way_of(by_connect(in_url(spelling))), "") << printable(spelling);
    EXPECT_EQ(way_of(by_url(in_url(spelling))), "") << printable(spelling);
    EXPECT_EQ(said_by_rule(in_url(spelling)), "") << printable(spelling);
  }
}

TEST(EgressSpellings, OneSpellingOfEachHost) {
  const std::string longest_label(63, 'a');
  const std::pair<std::string, std::string> spellings[] = {
      {"a.org", "a.org"},
      {"A.Org", "a.org"},
      {"a.org.", "a.org"},  // a name to which no search list is appended
      {"_tcp.a-b.org", "_tcp.a-b.org"},
      {longest_label + ".org", longest_label + ".org"},
      {"1.2.3.4.org", "1.2.3.4.org"},
      // The DNS represents names in other scripts in this form, and rules use it as well.
      {"xn--80ak6aa92e.com", "xn--80ak6aa92e.com"},
      {"XN--80AK6AA92E.COM", "xn--80ak6aa92e.com"},
      {"127.0.0.1", "127.0.0.1"},
      {"::1", "[::1]"},
      {"0:0:0:0:0:0:0:1", "[::1]"},
      {"0000:0000::0001", "[::1]"},
      {"::0.0.0.1", "[::1]"},
      {"2001:DB8::A", "[2001:db8::a]"},
      {"::ffff:127.0.0.1", "127.0.0.1"},
      {"::FFFF:7F00:1", "127.0.0.1"},
      {"0:0:0:0:0:ffff:127.0.0.1", "127.0.0.1"},
      {"::ffff:a9fe:a9fe", "169.254.169.254"}};
  for (const auto& [spelling, host] : spellings) {
    EXPECT_EQ(way_of(by_socks(spelling)), host + ":443") << spelling;
    EXPECT_EQ(way_of(by_connect(in_url(spelling))), host + ":443") << spelling;
    EXPECT_EQ(way_of(by_url(in_url(spelling))), host + ":443") << spelling;
    EXPECT_EQ(said_by_rule(in_url(spelling)), host + ":443") << spelling;
  }
}

TEST(EgressSpellings, AuthoritiesOfUrlsThatAreNone) {
  const std::vector<std::string> authorities = {"::1:443",
                                                "[::1:443",
                                                "::1]:443",
                                                "[[::1]]:443",
                                                "[::1]]:443",
                                                "[::1]x:443",
                                                "[::1]443",
                                                "[]:443",
                                                "[a.org]:443",
                                                "[127.0.0.1]:443",
                                                "[v1.a]:443",
                                                "[::1%lo]:443",
                                                "[::1%25lo]:443",
                                                "[::1]@a.org:443",
                                                "a.org@[::1]:443",
                                                "u:p@a.org:443",
                                                "@a.org:443",
                                                "a.org\\@evil.org:443",
                                                "a.org:443:443",
                                                "a.org:",
                                                "a.org:0",
                                                "a.org:00443",
                                                "a.org:+443",
                                                "a.org:-1",
                                                "a.org:0x1bb",
                                                "a.org:65536",
                                                "a.org: 443",
                                                "a.org:443%20",
                                                "a.org:https",
                                                "a.org%3a443:443",
                                                ":443",
                                                ""};
  for (const std::string& authority : authorities) {
    EXPECT_EQ(way_of(by_connect(authority)), "") << authority;
    EXPECT_EQ(way_of(by_url(authority)), "") << authority;
    EXPECT_EQ(said_by_rule(authority), "") << authority;
  }
  // No part of a path or query is taken for a host.
  EXPECT_EQ(way_of(by_url("a.org/@evil.org")), "a.org:80");
  EXPECT_EQ(way_of(by_url("a.org?@evil.org")), "a.org:80");
  EXPECT_EQ(way_of(by_url("a.org/\\@evil.org:1")), "a.org:80");
  EXPECT_EQ(way_of(by_connect("a.org:443/@evil.org")), "");
  EXPECT_EQ(way_of(by_connect("a.org:443#")), "");
  EXPECT_EQ(way_of(by_url("a.org#@evil.org")), "");
}

TEST(EgressSpellings, WhatLooksLikeANameOfARuleIsAnother) {
  const auto rule = parse_rule("a.org:443");
  ASSERT_TRUE(rule);
  for (const char* other : {"xn--a-0ga.org", "a.org.evil.org", "evila.org", "b.a.org", "a.orgx",
                            "a-org", "a.org-", "aorg"}) {
    const auto name = canonical_name(other);
    EXPECT_FALSE(name && rule->allows(*name, 443)) << other;
  }
  EXPECT_TRUE(rule->allows(canonical_name("A.ORG.").value_or(""), 443));
}

}  // namespace
}  // namespace jail::egress
