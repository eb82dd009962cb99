#include "server/http/peer.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <unistd.h>

#include "jail/fd.h"

namespace server {
namespace {

std::string peer_of_text(const char* text) {
  sockaddr_storage address{};
  auto& v4 = reinterpret_cast<sockaddr_in&>(address);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(address);
  if (::inet_pton(AF_INET, text, &v4.sin_addr) == 1) {
    address.ss_family = AF_INET;
  } else {
    EXPECT_EQ(::inet_pton(AF_INET6, text, &v6.sin6_addr), 1) << text;
    address.ss_family = AF_INET6;
  }
  return peer_of(address);
}

TEST(Peer, IsAnAddressOrTheNetworkOfOneCustomer) {
  EXPECT_EQ(peer_of_text("192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(peer_of_text("::ffff:192.0.2.7"), "192.0.2.7") << "the same at a socket for both";
  EXPECT_EQ(peer_of_text("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64");
  EXPECT_EQ(peer_of_text("2001:db8:1:2:ffff::1"), peer_of_text("2001:db8:1:2::9"));
  EXPECT_NE(peer_of_text("2001:db8:1:3::1"), peer_of_text("2001:db8:1:2::1"));
  EXPECT_EQ(peer_of_text("::1"), "::1");
}

TEST(Peer, AtAUnixSocketItIsTheUser) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const jail::Fd one(ends[0]);
  const jail::Fd other(ends[1]);
  EXPECT_EQ(peer_of(one.get()), "uid " + std::to_string(::geteuid()));
}

TEST(Peer, OfNoConnectionIsNobody) {
  const jail::Fd alone(::socket(AF_INET, SOCK_STREAM, 0));
  EXPECT_EQ(peer_of(alone.get()), "");
  EXPECT_EQ(peer_of(-1), "");
}

}  // namespace
}  // namespace server
