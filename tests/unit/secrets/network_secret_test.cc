// Which secrets there can be, and to which addresses a request with one may go.
#include "runtime/secrets/network_secret.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <string>
#include <vector>

#include "runtime/secrets/reach.h"
#include "runtime/secrets/secret_gateway.h"

namespace runtime {
namespace {

using testing::Contains;
using testing::Optional;
using Rules = std::vector<std::string>;

bool may_reach_v4(const Rules& rules, const char* host, const char* address) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(443);
  EXPECT_EQ(::inet_pton(AF_INET, address, &to.sin_addr), 1);
  return may_reach(rules, host, reinterpret_cast<const sockaddr&>(to));
}

bool may_reach_v6(const Rules& rules, const char* host, const char* address) {
  sockaddr_in6 to{};
  to.sin6_family = AF_INET6;
  to.sin6_port = htons(443);
  EXPECT_EQ(::inet_pton(AF_INET6, address, &to.sin6_addr), 1);
  return may_reach(rules, host, reinterpret_cast<const sockaddr&>(to));
}

TEST(SecretHosts, HaveOneSpelling) {
  EXPECT_THAT(secret_host("API.Example.com"), Optional(std::string("api.example.com")));
  EXPECT_THAT(secret_host("api.example.com."), Optional(std::string("api.example.com")));
  EXPECT_THAT(secret_host("192.0.2.1"), Optional(std::string("192.0.2.1")));
  EXPECT_THAT(secret_host("[2001:DB8::1]"), Optional(std::string("[2001:db8::1]")));
}

TEST(SecretHosts, AreNeitherPatternsNorMore) {
  for (const char* const host :
       {"", ".", "*.example.com", "*", "example.com:443", "user@example.com", "example.com/x",
        "10.0.0.0/8", "2001:db8::1", "127.1", "0x7f000001", "2130706433", "a b", "a\nb", "a\\b",
        "https://example.com", "[::1", "a..b"}) {
    EXPECT_FALSE(secret_host(host)) << host;
  }
}

TEST(SecretHeaders, FrameNothing) {
  for (const char* const name : {"Authorization", "X-Api-Key", "x_api_key", "Cookie"}) {
    EXPECT_TRUE(is_secret_header(name)) << name;
  }
  for (const char* const name :
       {"", "Host", "HOST", "Content-Length", "Content_Length", "Transfer-Encoding", "Connection",
        "Keep-Alive", "TE", "Trailer", "Upgrade", "Expect", "Proxy-Authorization", "Proxy_X", "a b",
        "a:", "a\r\nb", "\xc3\xa9"}) {
    EXPECT_FALSE(is_secret_header(name)) << name;
  }
  EXPECT_TRUE(is_secret_header(std::string(64, 'x')));
  EXPECT_FALSE(is_secret_header(std::string(65, 'x')));
}

TEST(SecretValues, AreOfOneLine) {
  EXPECT_TRUE(is_secret_value("Bearer a~b"));
  EXPECT_TRUE(is_secret_value(std::string(max_secret_bytes, 'x')));
  EXPECT_FALSE(is_secret_value(std::string(max_secret_bytes + 1, 'x')));
  for (const char* const value : {"", " a", "a ", "a\r\nb", "a\nb", "a\tb", "a\x7f", "\xc3\xa9"}) {
    EXPECT_FALSE(is_secret_value(value)) << value;
  }
  EXPECT_FALSE(is_secret_value(std::string("a\0b", 3)));
}

TEST(SecretHeaders, AreTheSameForSomeServer) {
  EXPECT_TRUE(is_same_header("X-Api-Key", "x_API-key"));
  EXPECT_FALSE(is_same_header("X-Api-Key", "X-Api-Keys"));
}

TEST(SecretReach, IsPublicAddressesAndThoseThatARuleNames) {
  const Rules name = {"api.example.com:443"};
  EXPECT_TRUE(may_reach_v4(name, "api.example.com", "8.8.8.8"));
  EXPECT_TRUE(may_reach_v6(name, "api.example.com", "2606:4700::1111"));
  for (const char* const address : {"127.0.0.1", "10.0.0.1", "169.254.169.254", "0.0.0.0",
                                    "192.168.1.1", "100.64.0.1", "224.0.0.1"}) {
    EXPECT_FALSE(may_reach_v4(name, "api.example.com", address)) << address;
  }
  for (const char* const address : {"::1", "::", "fe80::1", "fc00::1", "::ffff:127.0.0.1",
                                    "::ffff:10.0.0.1", "64:ff9b::a00:1"}) {
    EXPECT_FALSE(may_reach_v6(name, "api.example.com", address)) << address;
  }
  const Rules both = {"api.example.com:443", "10.0.0.0/8:443"};
  EXPECT_TRUE(may_reach_v4(both, "api.example.com", "10.0.0.1"));
  EXPECT_FALSE(may_reach_v4(both, "api.example.com", "192.168.1.1"));
  const Rules other_port = {"api.example.com:443", "10.0.0.0/8:8443"};
  EXPECT_FALSE(may_reach_v4(other_port, "api.example.com", "10.0.0.1"));
  // A rule for everything stands for what is public.
  const Rules everything = {"api.example.com:443", "0.0.0.0/0:443", "[::/0]:443"};
  EXPECT_FALSE(may_reach_v4(everything, "api.example.com", "127.0.0.1"));
}

TEST(SecretReach, OfLocalhostIsLoopback) {
  const Rules rules = {"localhost:443"};
  EXPECT_TRUE(may_reach_v4(rules, "localhost", "127.0.0.1"));
  EXPECT_TRUE(may_reach_v6(rules, "localhost", "::1"));
  EXPECT_FALSE(may_reach_v4(rules, "localhost", "10.0.0.1"));
  EXPECT_FALSE(may_reach_v4(rules, "localhost.example.com", "127.0.0.1"));
}

TEST(SecretReach, IsOfTheInternet) {
  sockaddr unix_socket{};
  unix_socket.sa_family = AF_UNIX;
  EXPECT_FALSE(may_reach({"localhost:443"}, "localhost", unix_socket));
}

TEST(SecretVariable, AvoidsTheProxyAndStaysAsGiven) {
  EXPECT_THAT(with_secret_gateway({}, {"api.example.com:443"}),
              Contains("SANDBOX_SECRETS_URL=http://127.0.0.1:3129"));
  EXPECT_THAT(with_secret_gateway({}, {"127.0.0.1:443"}),
              Contains("SANDBOX_SECRETS_URL=http://localhost:3129"));
  EXPECT_EQ(with_secret_gateway({"SANDBOX_SECRETS_URL=mine"}, {}).size(), 1u);
}

}  // namespace
}  // namespace runtime
