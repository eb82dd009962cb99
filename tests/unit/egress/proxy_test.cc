// The library's own interface to the proxy's process; and the proxy in a thread of the test, with
// made-up answers to look-ups.
#include "egress/proxy.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <mutex>
#include <thread>

#include "egress/look_up.h"
#include "jail/egress.h"
#include "parent/fd_passing.h"
#include "parent/order.h"
#include "proxy_fixture.h"
#include "tests/time_scale.h"

namespace jail::egress {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

TEST_F(ProxyTest, NamesThatNoRuleNamesAreNotLookedUp) {
  start({"*.allowed.test:443", "127.0.0.1:443"});
  for (const char* to : {"secret.evil.test:443", "allowed.test:443", "a.allowed.test:80",
                         "a.allowed.test.evil.test:443", "localhost:443"}) {
    EXPECT_THAT(ask(listener_.port, connect_request(to)), HasSubstr(" 403 ")) << to;
    EXPECT_THAT(ask(listener_.port, "GET http://" + std::string(to) + "/ HTTP/1.1\r\n\r\n"),
                HasSubstr(" 403 "));
  }
  EXPECT_TRUE(looked_up().empty());
  EXPECT_THAT(ask(listener_.port, connect_request("a.allowed.test:443")), HasSubstr(" 502 "));
  EXPECT_THAT(looked_up(), testing::ElementsAre("a.allowed.test"));
}

TEST_F(ProxyTest, NamesThatLeadToWhereNoRuleDoes) {
  start({"*.test:443", "10.0.0.0/8:80"});
  for (const char* to :
       {"a.127-0-0-1.test:443", "a.169-254-169-254.test:443", "a.10-0-0-1.test:443",
        "a.192-168-0-1.test:443", "a.0-0-0-0.test:443", "a.100-64-0-1.test:443"}) {
    const std::string text = ask(listener_.port, connect_request(to));
    EXPECT_THAT(text, HasSubstr(" 403 ")) << to;
    EXPECT_THAT(text, HasSubstr("that no rule names"));
    const auto made = decisions();
    ASSERT_EQ(made.size(), 1u);
    EXPECT_FALSE(made[0].allowed);
    EXPECT_EQ(made[0].destination, to);
    EXPECT_EQ(made[0].address, "");
  }
}

TEST_F(ProxyTest, OfSeveralAddressesOnlyThoseThatARuleNames) {
  Listener server = listen_on("127.0.0.3");
  start({"*.test:" + std::to_string(server.port), "127.0.0.3:" + std::to_string(server.port)});
  const std::string to = "a.127-0-0-1.127-0-0-2.127-0-0-3.test:" + std::to_string(server.port);
  const Fd client = connect_to(listener_.port);
  const std::string request = connect_request(to);
  ASSERT_GT(::send(client.get(), request.data(), request.size(), 0), 0);
  ASSERT_TRUE(is_readable(server.fd.get(), scaled(seconds(20))));
  const auto made = decisions();
  ASSERT_FALSE(made.empty());
  EXPECT_EQ(made[0].address, "127.0.0.3");
  EXPECT_TRUE(made[0].allowed);
}

TEST_F(ProxyTest, TheNextAddressWhereOneDoesNotAnswer) {
  Listener server = listen_on("127.0.0.2");
  start({"*.test:" + std::to_string(server.port), "127.0.0.0/8:" + std::to_string(server.port)});
  const Fd client = connect_to(listener_.port);
  const std::string request =
      connect_request("a.127-0-0-9.127-0-0-2.test:" + std::to_string(server.port));
  ASSERT_GT(::send(client.get(), request.data(), request.size(), 0), 0);
  ASSERT_TRUE(is_readable(server.fd.get(), scaled(seconds(20))));
  EXPECT_EQ(decisions().at(0).address, "127.0.0.2");
  EXPECT_EQ(looked_up().size(), 1u);
}

TEST_F(ProxyTest, ASlowNameEndsInTimeAndHoldsNobodyUp) {
  Settings settings;
  settings.connect = seconds(2);
  start({"*.test:443"}, settings);
  const Fd slow = connect_to(listener_.port);
  const std::string request = connect_request("endless.test:443");
  ASSERT_GT(::send(slow.get(), request.data(), request.size(), 0), 0);
  EXPECT_THAT(ask(listener_.port, connect_request("evil.org:443")), HasSubstr(" 403 "));
  EXPECT_FALSE(is_readable(slow.get(), milliseconds(0)));
  EXPECT_THAT(read_all(slow), HasSubstr("did not resolve in time"));
}

TEST_F(ProxyTest, WithoutLookUpsItEnds) {
  start({"*.test:443"});
  runs_to_its_end_ = false;
  EXPECT_THAT(ask(listener_.port, connect_request("a.test:443")), HasSubstr(" 502 "));
  ASSERT_EQ(::shutdown(names_.get(), SHUT_RDWR), 0);
  thread_.join();
}

TEST_F(ProxyTest, WhoLeavesIsNotWaitedFor) {
  start({"*.test:443"});
  {
    const Fd slow = connect_to(listener_.port);
    const std::string request = connect_request("slow.test:443");
    ASSERT_GT(::send(slow.get(), request.data(), request.size(), 0), 0);
    while (looked_up().empty()) std::this_thread::sleep_for(milliseconds(1));
  }
  const auto made = decisions();
  ASSERT_EQ(made.size(), 1u);
  EXPECT_THAT(made[0].reason, HasSubstr("nobody waited"));
}

TEST_F(ProxyTest, WhatIsNoListenerEndsTheAdmission) {
  start({});
  auto pair = socket_pair();
  ASSERT_TRUE(pair);
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  send_with(control_, to_datagram({"other", {}}), pair->second.get());
  pair->second.reset();
  send_with(pair->first, "l", null.get());
  EXPECT_TRUE(is_readable(pair->first.get(), scaled(seconds(20))));
  char byte;
  EXPECT_EQ(::read(pair->first.get(), &byte, 1), 0);
  EXPECT_THAT(ask(listener_.port, connect_request("a:1")), HasSubstr(" 403 "));
}

TEST(EgressProxy, OptionsThatAreNone) {
  const auto kind_of = [](EgressOptions options) {
    const auto proxy = jail::EgressProxy::start(std::move(options));
    return proxy ? std::string("started") : proxy.error().message();
  };
  EgressOptions options;
  options.connections_per_jail = 0;
  EXPECT_THAT(kind_of(options), HasSubstr("connections_per_jail"));
  options = {};
  options.idle = seconds(0);
  EXPECT_THAT(kind_of(options), HasSubstr("idle"));
  options = {};
  options.connect = seconds(-1);
  EXPECT_THAT(kind_of(options), HasSubstr("connect"));
  for (const auto& [name, address] : {std::pair{"a.org", "127.1"},
                                      {"127.1", "127.0.0.1"},
                                      {"a b", "127.0.0.1"},
                                      {"a.org", "b.org"}}) {
    options = {};
    options.addresses = {{name, address}};
    EXPECT_THAT(kind_of(options), HasSubstr("addresses")) << name;
  }
}

TEST(EgressProxy, AdmissionsThatAreNone) {
  const auto proxy = jail::EgressProxy::start();
  ASSERT_TRUE(proxy) << proxy.error().message();
  const auto kind_of = [&](const std::vector<std::string>& rules, const std::string& label) {
    const auto end = proxy->admit(rules, label);
    EXPECT_FALSE(end);
    return end ? ErrorKind::kernel : end.error().kind;
  };
  EXPECT_EQ(kind_of({"pypi.org:443", "127.1:80"}, "a"), ErrorKind::invalid);
  EXPECT_EQ(kind_of({}, std::string(257, 'a')), ErrorKind::invalid);
  EXPECT_EQ(kind_of({}, std::string("a\0b", 3)), ErrorKind::invalid);
  EXPECT_EQ(kind_of(std::vector<std::string>(257, "a.org:1"), "a"), ErrorKind::invalid);
  const std::string longest = std::string(60, 'a') + "." + std::string(63, 'b') + "." +
                              std::string(63, 'c') + "." + std::string(63, 'd') + ":65535";
  EXPECT_TRUE(proxy->admit(std::vector<std::string>(256, longest), std::string(256, 'l')));
}

TEST(EgressProxy, ItsEndIsSeen) {
  auto proxy = jail::EgressProxy::start();
  ASSERT_TRUE(proxy) << proxy.error().message();
  const auto none = proxy->decisions();
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->empty());
  EXPECT_FALSE(is_readable(proxy->event_fd(), milliseconds(0)));
  auto end = proxy->admit({"a.org:1"}, "jail");
  ASSERT_TRUE(end) << end.error().message();
  ASSERT_EQ(::syscall(SYS_pidfd_send_signal, proxy->process_fd(), SIGKILL, nullptr, 0), 0);
  EXPECT_TRUE(is_readable(proxy->event_fd(), scaled(seconds(20))));
  EXPECT_TRUE(is_readable(proxy->process_fd(), scaled(seconds(20))));
  EXPECT_TRUE(is_readable(end->get(), scaled(seconds(20))));
  const auto after = proxy->decisions();
  ASSERT_FALSE(after);
  EXPECT_EQ(after.error().kind, ErrorKind::closed);
  const auto late = proxy->admit({"a.org:1"}, "jail");
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind, ErrorKind::closed);
}

// Returns the children of this process with that name, each as a pidfd.
std::vector<Fd> children_called(const std::string& name) {
  std::vector<Fd> found;
  std::ifstream list("/proc/thread-self/children");
  for (pid_t pid = 0; list >> pid;) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
    std::string comm;
    std::getline(file, comm);
    if (comm == name) found.emplace_back(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  }
  return found;
}

TEST(EgressProxy, EndsWhenItsLookUpsDo) {
  const auto proxy = jail::EgressProxy::start();
  ASSERT_TRUE(proxy) << proxy.error().message();
  const auto look_ups = children_called("jail-lookup");
  ASSERT_EQ(look_ups.size(), 1u);
  ASSERT_EQ(::syscall(SYS_pidfd_send_signal, look_ups[0].get(), SIGKILL, nullptr, 0), 0);
  EXPECT_TRUE(is_readable(proxy->process_fd(), scaled(seconds(20))));
  EXPECT_TRUE(is_readable(proxy->event_fd(), scaled(seconds(20))));
}

TEST(EgressProxy, ItsLookUpsEndWithIt) {
  const auto proxy = jail::EgressProxy::start();
  ASSERT_TRUE(proxy) << proxy.error().message();
  const auto look_ups = children_called("jail-lookup");
  ASSERT_EQ(look_ups.size(), 1u);
  EXPECT_FALSE(is_readable(look_ups[0].get(), milliseconds(100)));
  ASSERT_EQ(::syscall(SYS_pidfd_send_signal, proxy->process_fd(), SIGKILL, nullptr, 0), 0);
  EXPECT_TRUE(is_readable(look_ups[0].get(), scaled(seconds(20))));
}

TEST(EgressProxy, EndsWithItsOwner) {
  Fd process;
  {
    auto proxy = jail::EgressProxy::start();
    ASSERT_TRUE(proxy);
    process = Fd(::fcntl(proxy->process_fd(), F_DUPFD_CLOEXEC, 0));
    jail::EgressProxy other = std::move(*proxy);
    EXPECT_FALSE(is_readable(process.get(), milliseconds(100)));
    auto next = jail::EgressProxy::start();
    ASSERT_TRUE(next);
    other = std::move(*next);
    EXPECT_TRUE(is_readable(process.get(), scaled(seconds(20))));
    process = Fd(::fcntl(other.process_fd(), F_DUPFD_CLOEXEC, 0));
  }
  EXPECT_TRUE(is_readable(process.get(), scaled(seconds(20))));
  EXPECT_TRUE(children_called("jail-lookup").empty());
  EXPECT_TRUE(children_called("jail-egress").empty());
}

}  // namespace
}  // namespace jail::egress
