// The library's own interface to the proxy's process; and the proxy in a thread of the test, where
// what names lead to is made up.
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
#include "tests/time_scale.h"

namespace jail::egress {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

struct Listener {
  Fd fd;
  std::uint16_t port = 0;
};

Listener listen_on(const char* host) {
  Listener listener{Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  ::inet_pton(AF_INET, host, &address.sin_addr);
  socklen_t size = sizeof address;
  auto* place = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(::bind(listener.fd.get(), place, size), 0);
  EXPECT_EQ(::listen(listener.fd.get(), 128), 0);
  EXPECT_EQ(::getsockname(listener.fd.get(), place, &size), 0);
  listener.port = ntohs(address.sin_port);
  return listener;
}

void send_with(const Fd& socket, const std::string& bytes, int fd) {
  EXPECT_TRUE(send_with_fds(socket.get(), bytes, {&fd, 1}));
}

bool is_readable(int fd, milliseconds within) {
  pollfd watched{fd, POLLIN, 0};
  return ::poll(&watched, 1, static_cast<int>(within.count())) == 1;
}

Fd connect_to(std::uint16_t port) {
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fd.reset();
  return fd;
}

// All that comes until the end, or in twenty seconds.
std::string read_all(const Fd& fd) {
  std::string text;
  char bytes[4096];
  while (is_readable(fd.get(), scaled(seconds(20)))) {
    const ssize_t got = ::read(fd.get(), bytes, sizeof bytes);
    if (got <= 0) break;
    text.append(bytes, static_cast<std::size_t>(got));
  }
  return text;
}

std::string ask(std::uint16_t proxy, const std::string& request) {
  const Fd fd = connect_to(proxy);
  EXPECT_EQ(::send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  return read_all(fd);
}

std::string connect_request(const std::string& to) { return "CONNECT " + to + " HTTP/1.1\r\n\r\n"; }

// The proxy as its program runs it, but with names of ours.
class ProxyTest : public testing::Test {
 protected:
  void start(std::vector<std::string> rules, Settings settings = {}) {
    auto control = socket_pair();
    ASSERT_TRUE(control);
    control_ = std::move(control->first);
    ours_ = std::move(control->second);
    auto names = socket_pair();
    ASSERT_TRUE(names);
    names_ = std::move(names->first);
    look_ups_ =
        answer_questions(names_.get(), [this](const std::string& name) { return look_up(name); });
    proxy_ = std::make_unique<Proxy>(ours_.get(), std::move(names->second), std::move(settings));
    thread_ = std::thread([this] { ran_ = proxy_->run(); });
    auto pair = socket_pair();
    ASSERT_TRUE(pair);
    send_with(control_, to_datagram({"jail", rules}), pair->second.get());
    end_ = std::move(pair->first);
    listener_ = listen_on("127.0.0.1");
    send_with(end_, "l", listener_.fd.get());
  }

  void TearDown() override {
    control_.reset();
    if (thread_.joinable()) thread_.join();
    proxy_.reset();  // its end of the names goes, and so those who look them up
    EXPECT_EQ(ran_, runs_to_its_end_);
  }

  std::vector<EgressDecision> decisions() {
    std::vector<EgressDecision> all;
    char bytes[4096];
    while (is_readable(control_.get(), milliseconds(all.empty() ? scaled_ms(20'000) : 50))) {
      const ssize_t got = ::recv(control_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
      if (got <= 0) break;
      all.push_back(*parse_decision({bytes, static_cast<std::size_t>(got)}));
    }
    return all;
  }

  // Names lead to the addresses that are in them: "a.192-0-2-1.test".
  Found look_up(const std::string& name) {
    {
      const std::lock_guard lock(mutex_);
      looked_up_.push_back(name);
    }
    if (name.starts_with("slow")) std::this_thread::sleep_for(seconds(3));
    Found found;
    std::string text = name.substr(0, name.find(".test"));
    for (std::size_t at = text.find('.'); at != text.npos; at = text.find('.')) {
      text = text.substr(at + 1);
      std::string address = text.substr(0, text.find('.'));
      std::replace(address.begin(), address.end(), '-', '.');
      if (const auto parsed = parse_address(address)) found.addresses.push_back(*parsed);
    }
    if (found.addresses.empty()) found.trouble = "made up";
    return found;
  }
  std::vector<std::string> looked_up() {
    const std::lock_guard lock(mutex_);
    return looked_up_;
  }

  std::mutex mutex_;
  std::vector<std::string> looked_up_;
  Fd control_;
  Fd ours_;
  Fd names_;
  std::vector<std::jthread> look_ups_;
  std::unique_ptr<Proxy> proxy_;
  Fd end_;
  Listener listener_;
  bool ran_ = false;
  bool runs_to_its_end_ = true;
  std::thread thread_;
};

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
  settings.connect = seconds(1);
  start({"*.test:443"}, settings);
  const Fd slow = connect_to(listener_.port);
  const std::string request = connect_request("slow.test:443");
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

// Of this process, by name; each with a pidfd.
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
