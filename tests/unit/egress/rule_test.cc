// Rules as users write them, and which addresses are not public.
#include "egress/rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "jail/egress.h"

namespace jail::egress {
namespace {

using testing::HasSubstr;

std::string purpose(const std::string& text) {
  const auto address = parse_address(text);
  return address ? std::string(special_purpose(*address)) : "no address";
}

TEST(EgressAddresses, PublicOnes) {
  for (const char* text : {"1.1.1.1",         "8.8.8.8",
                           "9.255.255.255",   "11.0.0.0",
                           "100.63.255.255",  "100.128.0.0",
                           "126.255.255.255", "128.0.0.0",
                           "169.253.255.255", "172.15.255.255",
                           "172.32.0.0",      "192.0.1.0",
                           "192.0.3.0",       "192.167.255.255",
                           "192.169.0.0",     "198.17.255.255",
                           "198.20.0.0",      "203.0.114.0",
                           "223.255.255.255", "2000::",
                           "2001:200::",      "2001:4860:4860::8888",
                           "2003::1",         "2606:4700::1111",
                           "2a00:1450::1",    "3ffe::1",
                           "::ffff:1.1.1.1"}) {
    EXPECT_EQ(purpose(text), "") << text;
  }
}

TEST(EgressAddresses, SpecialOnes) {
  const std::pair<const char*, const char*> table[] = {{"0.0.0.0", "this network"},
                                                       {"0.255.0.1", "this network"},
                                                       {"10.0.0.0", "private use"},
                                                       {"10.255.255.255", "private use"},
                                                       {"100.64.0.0", "carriers"},
                                                       {"100.127.255.255", "carriers"},
                                                       {"127.0.0.1", "loopback"},
                                                       {"127.255.255.255", "loopback"},
                                                       {"169.254.169.254", "link-local"},
                                                       {"172.16.0.0", "private use"},
                                                       {"172.31.255.255", "private use"},
                                                       {"192.0.0.8", "protocol assignments"},
                                                       {"192.0.2.1", "documentation"},
                                                       {"192.31.196.1", "AS112"},
                                                       {"192.52.193.1", "AMT"},
                                                       {"192.88.99.1", "6to4"},
                                                       {"192.168.0.1", "private use"},
                                                       {"192.175.48.1", "AS112"},
                                                       {"198.18.0.0", "benchmarking"},
                                                       {"198.19.255.255", "benchmarking"},
                                                       {"198.51.100.1", "documentation"},
                                                       {"203.0.113.1", "documentation"},
                                                       {"224.0.0.1", "multicast"},
                                                       {"239.255.255.255", "multicast"},
                                                       {"240.0.0.1", "reserved"},
                                                       {"255.255.255.255", "broadcast"},
                                                       {"::", "not global unicast"},
                                                       {"::1", "loopback"},
                                                       {"::127.0.0.1", "not global"},
                                                       {"::ffff:127.0.0.1", "loopback"},
                                                       {"::ffff:10.1.2.3", "private"},
                                                       {"64:ff9b::a00:1", "not global"},
                                                       {"64:ff9b:1::1", "not global"},
                                                       {"100::1", "not global unicast"},
                                                       {"2001::1", "Teredo"},
                                                       {"2001:2::1", "protocol assignments"},
                                                       {"2001:20::1", "protocol"},
                                                       {"2001:1ff:ffff::1", "protocol assignments"},
                                                       {"2001:db8::1", "documentation"},
                                                       {"2002:7f00:1::", "6to4"},
                                                       {"2620:4f:8000::1", "AS112"},
                                                       {"3fff::1", "documentation"},
                                                       {"3fff:fff::1", "documentation"},
                                                       {"4000::1", "not global unicast"},
                                                       {"5f00::1", "not global unicast"},
                                                       {"fc00::1", "unique local"},
                                                       {"fd12::1", "unique local"},
                                                       {"fe80::1", "link-local"},
                                                       {"fec0::1", "not global unicast"},
                                                       {"ff02::1", "multicast"}};
  for (const auto& [text, expected] : table)
    EXPECT_THAT(purpose(text), HasSubstr(expected)) << text;
}

TEST(EgressAddresses, OtherSpellingsAreNone) {
  for (const char* text :
       {"127.1", "2130706433", "0x7f.1", "0x7f000001", "0177.0.0.1", "127.0.0.01", "127.0.0.1 ",
        " 127.0.0.1", "127.0.0.1.", "[::1]", "fe80::1%lo", "fe80::1%1", "1.2.3.256", "1.2.3", "::g",
        "", "1.2.3.4.5"}) {
    EXPECT_FALSE(parse_address(text).has_value()) << text;
  }
  EXPECT_FALSE(parse_address(std::string_view("1.2.3.4\0x", 9)).has_value());
}

TEST(EgressRules, Valid) {
  for (const char* rule :
       {"pypi.org:443", "PyPI.org.:443", "localhost:1", "a_b.example-x.org:65535",
        "*.example.org:80", "*.org:443", "xn--bcher-kva.example:443", "1.example:443",
        "10.0.0.1:22", "10.0.0.0/8:5432", "0.0.0.0/0:443", "192.0.2.1/32:1", "[::1]:80",
        "[2001:db8::/32]:443", "[::/0]:443", "[::ffff:10.0.0.0/104]:443",
        "[::ffff:10.0.0.1]:443"}) {
    EXPECT_TRUE(check_egress_rule(rule)) << rule;
  }
}

TEST(EgressRules, NotValid) {
  const std::string label(64, 'a');
  std::string name;
  for (int i = 0; i < 52; ++i) name += "aaaa.";
  const std::pair<std::string, const char*> table[] = {
      {"", "not HOST:PORT"},
      {"pypi.org", "a port is missing; write pypi.org:443"},
      {"pypi.org:", "not HOST:PORT"},
      {":443", "not HOST:PORT"},
      {"pypi.org:0", "from 1 to 65535"},
      {"pypi.org:65536", "from 1 to 65535"},
      {"pypi.org:0443", "from 1 to 65535"},
      {"pypi.org:+443", "from 1 to 65535"},
      {"pypi.org:https", "from 1 to 65535"},
      {"pypi.org:4 43", "from 1 to 65535"},
      {"pypi.org:443:443", "not HOST:PORT"},
      {"https://pypi.org:443", "not HOST:PORT, but a URL; write pypi.org:443"},
      {"https://pypi.org/simple", "write pypi.org:443"},
      {"http://pypi.org", "write pypi.org:80"},
      {"https://", "a port is a number"},
      {"*", "write *.org:443 for all below a name, or 0.0.0.0/0:443"},
      {"*:80", "no rule is for all hosts; write *.org:80"},
      {"*.:443", "neither a name nor an address"},
      {"a.*.org:443", "neither a name nor an address"},
      {"*pypi.org:443", "neither a name nor an address"},
      {"*.*.org:443", "neither a name nor an address"},
      {"pypi..org:443", "neither a name nor an address"},
      {".pypi.org:443", "neither a name nor an address"},
      {"pypi.org..:443", "neither a name nor an address"},
      {"-a.org:443", "neither a name nor an address"},
      {"a-.org:443", "neither a name nor an address"},
      {"b\xc3\xbc"
       "cher.example:443",
       "neither a name nor an address"},
      {"a b.org:443", "neither a name nor an address"},
      {"user@pypi.org:443", "neither a name nor an address"},
      {label + ".org:443", "neither a name nor an address"},
      {name + "org:443", "neither a name nor an address"},
      {"127.1:80", "neither a name nor an address"},
      {"2130706433:80", "neither a name nor an address"},
      {"0x7f000001:80", "neither a name nor an address"},
      {"example.0x7f:80", "neither a name nor an address"},
      {"1.2.3.4.5:80", "neither a name nor an address"},
      {"*.1:80", "neither a name nor an address"},
      {"10.0.0.1/8:80", "bits behind it are set"},
      {"10.0.0.0/33:80", "out of range"},
      {"10.0.0.0/08:80", "out of range"},
      {"10.0.0.0/:80", "out of range"},
      {"example.org/8:80", "is no address or network"},
      {"[2001:db8::1/32]:80", "bits behind it are set"},
      {"[::/129]:80", "out of range"},
      {"[::ffff:10.0.0.0/8]:80", "out of range"},
      {"[fe80::1%eth0]:80", "is no address or network"},
      {"[pypi.org]:443", "not HOST:PORT"},
      {"[10.0.0.1]:443", "not HOST:PORT"},
      {"[::1:443", "not HOST:PORT"},
      {"[::1]443", "not HOST:PORT"},
      {"[::1]", "a port is missing; write [::1]:443"},
      {"::1:443", "not HOST:PORT"},
      {"*.10.0.0.0/8:80", "is no address or network"}};
  for (const auto& [rule, expected] : table) {
    const auto checked = check_egress_rule(rule);
    ASSERT_FALSE(checked) << rule;
    EXPECT_EQ(checked.error().kind, ErrorKind::invalid);
    EXPECT_THAT(checked.error().message(), HasSubstr(expected)) << rule;
  }
  EXPECT_FALSE(check_egress_rule(std::string_view("pypi.org\0.evil.org:443", 22)));
}

// Returns whether `rule` allows HOST:PORT.
bool allows(const std::string& rule, const std::string& asked) {
  const auto parts = split_host_and_port(asked);
  const RuleSet rules({*parse_rule(rule)});
  const auto to = destination_of(parts->host, *parse_port(parts->port));
  if (!to) return false;
  return (to->address ? rules.find(*to->address, to->port) : rules.find(to->host, to->port)) !=
         nullptr;
}

TEST(EgressRules, Names) {
  EXPECT_TRUE(allows("pypi.org:443", "pypi.org:443"));
  EXPECT_TRUE(allows("pypi.org:443", "PYPI.org.:443"));
  EXPECT_FALSE(allows("pypi.org:443", "pypi.org:80"));
  EXPECT_FALSE(allows("pypi.org:443", "www.pypi.org:443"));
  EXPECT_FALSE(allows("pypi.org:443", "pypi.org.evil.com:443"));
  EXPECT_TRUE(allows("*.example.org:443", "a.example.org:443"));
  EXPECT_TRUE(allows("*.example.org:443", "a.b.example.org:443"));
  EXPECT_FALSE(allows("*.example.org:443", "example.org:443"));
  EXPECT_FALSE(allows("*.example.org:443", "evilexample.org:443"));
  EXPECT_FALSE(allows("*.example.org:443", ".example.org:443"));
  EXPECT_FALSE(allows("0.0.0.0/0:443", "pypi.org:443"));
}

TEST(EgressRules, Addresses) {
  EXPECT_TRUE(allows("10.0.0.0/8:5432", "10.255.0.1:5432"));
  EXPECT_FALSE(allows("10.0.0.0/8:5432", "11.0.0.1:5432"));
  EXPECT_FALSE(allows("10.0.0.0/8:5432", "10.0.0.1:22"));
  EXPECT_TRUE(allows("10.0.0.1:22", "[::ffff:10.0.0.1]:22"));
  EXPECT_TRUE(allows("[::ffff:10.0.0.0/104]:22", "10.1.1.1:22"));
  EXPECT_TRUE(allows("[fd00::/8]:22", "[fd12::1]:22"));
  EXPECT_FALSE(allows("[::/0]:22", "10.0.0.1:22"));
  EXPECT_FALSE(allows("pypi.org:443", "1.1.1.1:443"));
  EXPECT_TRUE(allows("127.0.0.1:80", "127.0.0.1:80"));
}

TEST(EgressRules, WideNetworksMeanPublicAddresses) {
  EXPECT_TRUE(allows("0.0.0.0/0:443", "1.1.1.1:443"));
  EXPECT_TRUE(allows("[::/0]:443", "[2606:4700::1]:443"));
  for (const char* to : {"127.0.0.1:443", "10.0.0.1:443", "169.254.169.254:443"}) {
    EXPECT_FALSE(allows("0.0.0.0/0:443", to)) << to;
  }
  for (const char* to : {"[::1]:443", "[fd00::1]:443", "[2001:db8::1]:443"}) {
    EXPECT_FALSE(allows("[::/0]:443", to)) << to;
  }
}

TEST(EgressRules, BehindNames) {
  const RuleSet rules({*parse_rule("db.corp:5432"), *parse_rule("10.0.0.0/8:5432")});
  const auto allows = [&](const char* name, const char* address, std::uint16_t port) {
    return rules.allows_behind_name(name, *parse_address(address), port);
  };
  EXPECT_TRUE(allows("db.corp", "1.1.1.1", 443));
  EXPECT_TRUE(allows("db.corp", "10.0.0.1", 5432));
  EXPECT_FALSE(allows("db.corp", "10.0.0.1", 443));
  EXPECT_FALSE(allows("db.corp", "127.0.0.1", 5432));
}

TEST(EgressRules, LocalhostNamesLoopbackAlone) {
  const RuleSet rules({*parse_rule("localhost:80"), *parse_rule("x.localhost:80")});
  for (const char* address : {"127.0.0.1", "127.1.2.3", "::1"}) {
    EXPECT_TRUE(rules.allows_behind_name("localhost", *parse_address(address), 80)) << address;
    EXPECT_FALSE(rules.allows_behind_name("x.localhost", *parse_address(address), 80)) << address;
  }
  for (const char* address : {"10.0.0.1", "169.254.169.254", "fd00::1", "0.0.0.0", "::"}) {
    EXPECT_FALSE(rules.allows_behind_name("localhost", *parse_address(address), 80)) << address;
  }
}

std::string no_proxy_with(const std::vector<std::string>& rules) {
  for (const std::string& entry : with_egress_variables({}, rules)) {
    if (entry.starts_with("no_proxy=")) return entry.substr(9);
  }
  return "missing";
}

TEST(EgressRules, LoopbackIsTheJailsOwnWhereNoRuleNamesIt) {
  EXPECT_EQ(no_proxy_with({}), "localhost,127.0.0.1,::1");
  EXPECT_EQ(no_proxy_with({"pypi.org:443", "10.0.0.0/8:22", "0.0.0.0/0:80"}),
            "localhost,127.0.0.1,::1");
  EXPECT_EQ(no_proxy_with({"localhost:80"}), "127.0.0.1,::1");
  EXPECT_EQ(no_proxy_with({"127.0.0.0/8:80", "[::1]:80"}), "localhost");
  EXPECT_EQ(no_proxy_with({"LOCALHOST.:80", "127.0.0.1:80", "[::1]:80"}), "");
  EXPECT_EQ(with_egress_variables({"no_proxy=x"}, {"localhost:80"}).front(), "no_proxy=x");
}

TEST(EgressRules, Ceilings) {
  const std::pair<const char*, const char*> covered[] = {
      {"pypi.org:443", "pypi.org:443"},
      {"PYPI.ORG:443", "pypi.org.:443"},
      {"*.example.org:443", "a.example.org:443"},
      {"*.example.org:443", "a.b.example.org:443"},
      {"*.example.org:443", "*.example.org:443"},
      {"*.example.org:443", "*.a.example.org:443"},
      {"10.0.0.0/8:22", "10.0.0.0/8:22"},
      {"10.0.0.0/8:22", "10.1.0.0/16:22"},
      {"10.0.0.0/8:22", "10.1.2.3:22"},
      {"10.0.0.0/8:22", "[::ffff:10.1.2.3]:22"},
      {"0.0.0.0/0:22", "8.0.0.0/8:22"},
      {"0.0.0.0/0:22", "0.0.0.0/1:22"},
      {"[2001:db8::/32]:1", "[2001:db8:1::/48]:1"}};
  for (const auto& [ceiling, rule] : covered) {
    EXPECT_TRUE(egress_rule_covers(ceiling, rule)) << ceiling << " " << rule;
  }
  const std::pair<const char*, const char*> uncovered[] = {
      {"pypi.org:443", "pypi.org:80"},
      {"pypi.org:443", "a.pypi.org:443"},
      {"*.example.org:443", "example.org:443"},
      {"*.a.example.org:443", "*.example.org:443"},
      {"a.example.org:443", "*.example.org:443"},
      {"*.example.org:443", "*.evilexample.org:443"},
      {"10.0.0.0/8:22", "10.0.0.0/7:22"},
      {"10.0.0.0/8:22", "11.0.0.0/8:22"},
      {"10.0.0.0/8:22", "10.0.0.1:23"},
      {"0.0.0.0/0:22", "[2000::/3]:22"},
      {"0.0.0.0/0:22", "10.0.0.0/8:22"},
      {"0.0.0.0/0:22", "127.0.0.1:22"},
      {"0.0.0.0/0:443", "pypi.org:443"},
      {"pypi.org:443", "1.1.1.1:443"},
      {"nonsense", "nonsense"}};
  for (const auto& [ceiling, rule] : uncovered) {
    EXPECT_FALSE(egress_rule_covers(ceiling, rule)) << ceiling << " " << rule;
  }
}

}  // namespace
}  // namespace jail::egress
