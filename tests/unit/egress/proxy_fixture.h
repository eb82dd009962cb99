// The proxy in a thread of the test, with made-up answers to look-ups.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "egress/look_up.h"
#include "egress/proxy.h"
#include "jail/egress.h"
#include "parent/fd_passing.h"
#include "parent/order.h"
#include "tests/time_scale.h"

namespace jail::egress {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Listener {
  Fd fd;
  std::uint16_t port = 0;
};

inline Listener listen_on(const char* host) {
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

inline void send_with(const Fd& socket, const std::string& bytes, int fd) {
  EXPECT_TRUE(send_with_fds(socket.get(), bytes, {&fd, 1}));
}

inline bool is_readable(int fd, milliseconds within) {
  pollfd watched{fd, POLLIN, 0};
  return ::poll(&watched, 1, static_cast<int>(within.count())) == 1;
}

inline Fd connect_to(std::uint16_t port) {
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fd.reset();
  return fd;
}

// Returns all that comes until the end, or in twenty seconds.
inline std::string read_all(const Fd& fd) {
  std::string text;
  char bytes[4096];
  while (is_readable(fd.get(), scaled(seconds(20)))) {
    const ssize_t got = ::read(fd.get(), bytes, sizeof bytes);
    if (got <= 0) break;
    text.append(bytes, static_cast<std::size_t>(got));
  }
  return text;
}

inline std::string ask(std::uint16_t proxy, const std::string& request) {
  const Fd fd = connect_to(proxy);
  EXPECT_EQ(::send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  return read_all(fd);
}

inline std::string connect_request(const std::string& to) {
  return "CONNECT " + to + " HTTP/1.1\r\n\r\n";
}

// The proxy as its program runs it, but with our own names.
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
    send_with(control_, to_datagram(Admission{"jail", rules, change_}), pair->second.get());
    end_ = std::move(pair->first);
    listener_ = listen_on("127.0.0.1");
    send_with(end_, "l", listener_.fd.get());
  }

  void TearDown() override {
    is_over_ = true;
    is_over_.notify_all();
    control_.reset();
    if (thread_.joinable()) thread_.join();
    proxy_.reset();  // closes its end of the names, which ends the look-ups
    EXPECT_EQ(ran_, runs_to_its_end_);
  }

  // Waits until the rules hold. Returns false where the way out is closed.
  bool change(std::vector<std::string> rules) {
    const auto asked = EgressProxy::request_change(end_.get(), rules);
    EXPECT_TRUE(asked);
    if (!asked || !is_readable(end_.get(), scaled(seconds(20)))) return false;
    const auto holds = EgressProxy::take_change(end_.get());
    return holds && *holds;
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

  // Names lead to the addresses that they contain: "a.192-0-2-1.test".
  Found look_up(const std::string& name) {
    {
      const std::lock_guard lock(mutex_);
      looked_up_.push_back(name);
      const auto known = leads_to_.find(name);
      if (known != leads_to_.end()) return {{*parse_address(known->second)}, {}};
    }
    if (name.starts_with("slow")) std::this_thread::sleep_for(seconds(3));
    if (name.starts_with("endless")) is_over_.wait(false);
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
  void lead(const std::string& name, const std::string& address) {
    const std::lock_guard lock(mutex_);
    leads_to_[name] = address;
  }
  std::vector<std::string> looked_up() {
    const std::lock_guard lock(mutex_);
    return looked_up_;
  }

  RuleChange change_ = RuleChange::never;
  std::map<std::string, std::string> leads_to_;  // names that do not contain their address
  std::mutex mutex_;
  std::vector<std::string> looked_up_;
  std::atomic<bool> is_over_{false};  // names that are endless resolve
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

}  // namespace jail::egress
