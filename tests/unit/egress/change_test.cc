// Rules that change while there are connections: which are cut, which are refused, and who may ask.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "proxy_fixture.h"

namespace jail::egress {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ChangeTest : public ProxyTest {
 protected:
  ChangeTest() { change_ = RuleChange::by_owner; }

  std::string to(const Listener& server, const char* host = "127.0.0.1") const {
    return std::string(host) + ":" + std::to_string(server.port);
  }

  Fd begin(const std::string& destination) const {
    Fd client = connect_to(listener_.port);
    const std::string request = connect_request(destination);
    EXPECT_EQ(::send(client.get(), request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
    return client;
  }

  struct Tunnel {
    Fd client;
    Fd server;
  };

  // Opens a tunnel whose both ends are open.
  Tunnel open(const Listener& server, const std::string& destination) const {
    Tunnel tunnel{begin(destination), {}};
    EXPECT_TRUE(is_readable(server.fd.get(), scaled(seconds(20))));
    tunnel.server = Fd(::accept4(server.fd.get(), nullptr, nullptr, SOCK_CLOEXEC));
    char answer[64];
    EXPECT_TRUE(is_readable(tunnel.client.get(), scaled(seconds(20))));
    EXPECT_GT(::recv(tunnel.client.get(), answer, sizeof answer, 0), 0);
    return tunnel;
  }

  // Returns whether it was reset: an orderly end could be taken for the end of the data.
  static bool is_cut(const Fd& fd) {
    char byte;
    return is_readable(fd.get(), scaled(seconds(20))) && ::recv(fd.get(), &byte, 1, 0) < 0 &&
           errno == ECONNRESET;
  }

  static bool carries(const Tunnel& tunnel) {
    char byte = 0;
    return ::send(tunnel.client.get(), "x", 1, MSG_NOSIGNAL) == 1 &&
           is_readable(tunnel.server.get(), scaled(seconds(20))) &&
           ::recv(tunnel.server.get(), &byte, 1, 0) == 1 && byte == 'x';
  }
};

TEST_F(ChangeTest, NarrowingCutsWhatIsOpenAndLeavesTheRest) {
  const Listener kept = listen_on("127.0.0.1");
  const Listener lost = listen_on("127.0.0.1");
  start({to(kept), to(lost)});
  const Tunnel stays = open(kept, to(kept));
  const Tunnel goes = open(lost, to(lost));
  ASSERT_TRUE(change({to(kept)}));
  EXPECT_TRUE(is_cut(goes.client));
  EXPECT_TRUE(is_cut(goes.server));
  EXPECT_TRUE(carries(stays));
  EXPECT_THAT(ask(listener_.port, connect_request(to(lost))), HasSubstr(" 403 "));
  bool is_told = false;
  for (const EgressDecision& made : decisions()) {
    is_told = is_told || (made.event == EgressEvent::ended && made.destination == to(lost) &&
                          made.reason == "no rule names it any more");
  }
  EXPECT_TRUE(is_told);
}

TEST_F(ChangeTest, WideningHoldsForWhoIsConnectedAlready) {
  const Listener server = listen_on("127.0.0.1");
  start({"a.test:443"});
  const Fd waits = connect_to(listener_.port);  // has not asked yet
  EXPECT_THAT(ask(listener_.port, connect_request(to(server))), HasSubstr(" 403 "));
  ASSERT_TRUE(change({to(server)}));
  EXPECT_TRUE(carries(open(server, to(server))));
  const std::string request = connect_request(to(server));
  ASSERT_GT(::send(waits.get(), request.data(), request.size(), MSG_NOSIGNAL), 0);
  EXPECT_TRUE(is_readable(server.fd.get(), scaled(seconds(20))));
}

TEST_F(ChangeTest, WhatIsBeingLookedUpIsRefusedThen) {
  start({"*.test:443", "*.org:443"});
  const Fd slow = begin("slow.test:443");
  while (looked_up().empty()) std::this_thread::sleep_for(milliseconds(1));
  ASSERT_TRUE(change({"*.org:443"}));
  EXPECT_THAT(read_all(slow), HasSubstr("no rule names it any more"));
}

TEST_F(ChangeTest, WhoWasRefusedIsNotRefusedAgain) {
  start({"a.test:443"});
  const Fd lingers = begin("b.test:443");
  ASSERT_TRUE(is_readable(lingers.get(), scaled(seconds(20))));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(change({"a.test:443", "c.test:443"}));
  const auto made = decisions();
  EXPECT_EQ(std::count_if(made.begin(), made.end(), [](const auto& each) { return !each.allowed; }),
            1);
}

TEST_F(ChangeTest, AnAddressBehindANameIsJudgedAgain) {
  const Listener server = listen_on("127.0.0.1");
  const std::string name = to(server, "a.127-0-0-1.test");
  start({name, "127.0.0.0/8:" + std::to_string(server.port)});
  const Tunnel tunnel = open(server, name);
  ASSERT_TRUE(change({name}));
  EXPECT_TRUE(is_cut(tunnel.client));
  EXPECT_THAT(ask(listener_.port, connect_request(name)), HasSubstr("that no rule names"));
}

TEST_F(ChangeTest, ANameThatLeadsElsewhereLaterOpensNothing) {
  const Listener server = listen_on("127.0.0.1");
  const Listener other = listen_on("127.0.0.2");
  const std::string name = to(server, "moving.test");
  lead("moving.test", "127.0.0.1");
  start({name, to(server)});
  const Tunnel tunnel = open(server, name);
  lead("moving.test", "127.0.0.2");
  EXPECT_THAT(ask(listener_.port, connect_request(name)), HasSubstr("that no rule names"));
  // For an open connection the address counts to which it leads, whatever the name would lead to
  // now.
  ASSERT_TRUE(change({name, to(server), "a.test:1"}));
  EXPECT_TRUE(carries(tunnel));
  ASSERT_TRUE(change({name, to(other, "127.0.0.2")}));
  EXPECT_TRUE(is_cut(tunnel.client));
}

TEST_F(ChangeTest, WithoutRulesTheWayOutIsClosed) {
  const Listener server = listen_on("127.0.0.1");
  start({to(server)});
  const Tunnel tunnel = open(server, to(server));
  const std::uint16_t port = listener_.port;
  listener_.fd.reset();
  ASSERT_TRUE(change({}));
  EXPECT_FALSE(connect_to(port).valid());
  EXPECT_TRUE(is_cut(tunnel.client));
  EXPECT_TRUE(is_cut(tunnel.server));
  ASSERT_TRUE(is_readable(end_.get(), scaled(seconds(20))));
  EXPECT_EQ(EgressProxy::take_change(end_.get()).error().kind, ErrorKind::closed);
}

TEST_F(ChangeTest, WhoMayNotAskLosesTheWayOut) {
  change_ = RuleChange::never;
  start({"a.test:443"});
  EXPECT_THAT(ask(listener_.port, connect_request("b.test:443")), HasSubstr(" 403 "));
  EXPECT_FALSE(change({"b.test:443"}));
  EXPECT_TRUE(looked_up().empty());
}

TEST_F(ChangeTest, WhatIsNoChangeClosesTheWayOut) {
  start({"a.test:443"});
  EXPECT_THAT(ask(listener_.port, connect_request("b.test:443")), HasSubstr(" 403 "));
  ASSERT_GT(::send(end_.get(), "nonsense", 8, MSG_NOSIGNAL), 0);
  ASSERT_TRUE(is_readable(end_.get(), scaled(seconds(20))));
  EXPECT_FALSE(EgressProxy::take_change(end_.get()));
}

TEST_F(ChangeTest, ARuleThatIsNoneIsNamedAndNothingChanges) {
  start({"a.test:443"});
  const auto asked = EgressProxy::request_change(end_.get(), {"b.test:443", "nonsense"});
  ASSERT_FALSE(asked);
  EXPECT_EQ(asked.error().kind, ErrorKind::invalid);
  const auto taken = EgressProxy::take_change(end_.get());
  ASSERT_TRUE(taken);
  EXPECT_FALSE(*taken);
}

// Guests ask all the time, and keep what they get, while their rules change a thousand times. Every
// connection that has reached the server by the time that it is no longer allowed is cut.
TEST_F(ChangeTest, AFloodAcrossAThousandChanges) {
  const Listener server = listen_on("127.0.0.1");
  start({to(server)});
  std::atomic<bool> is_over{false};
  std::vector<std::jthread> guests;
  for (int each = 0; each < 3; ++each) {
    guests.emplace_back([&] {
      while (!is_over) ask(listener_.port, connect_request(to(server)));
    });
  }
  const auto all_are_cut = [&] {
    while (is_readable(server.fd.get(), milliseconds(0))) {
      const Fd come(::accept4(server.fd.get(), nullptr, nullptr, SOCK_CLOEXEC));
      // It ends by a reset, or by an orderly end where nobody was told that it was open.
      char byte;
      const bool is_over_too = is_readable(come.get(), scaled(seconds(20))) &&
                               ::recv(come.get(), &byte, 1, MSG_DONTWAIT) <= 0;
      if (!is_over_too) return false;
    }
    return true;
  };
  for (int times = 0; times < 500 && !HasFailure(); ++times) {
    // Now and then the check waits, so that it is not only a race.
    if (times % 20 == 0) {
      EXPECT_TRUE(is_readable(server.fd.get(), scaled(seconds(20)))) << times;
    }
    EXPECT_TRUE(change({"a.test:443"})) << times;
    EXPECT_TRUE(all_are_cut()) << times;
    EXPECT_TRUE(change({to(server)})) << times;
  }
  is_over = true;
  EXPECT_TRUE(change({"a.test:443"}));
}

}  // namespace
}  // namespace jail::egress
