// A small web server on the host's loopback interface, for jails to reach or not.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "jail/fd.h"

namespace kernel_ring {

class WebSite {
 public:
  WebSite() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener_.get(), any, size), 0);
    EXPECT_EQ(::listen(listener_.get(), 16), 0);
    EXPECT_EQ(::getsockname(listener_.get(), any, &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  WebSite(const WebSite&) = delete;
  WebSite& operator=(const WebSite&) = delete;
  ~WebSite() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }

  std::string port() const { return std::to_string(port_); }
  int answered() const { return answered_; }
  // Returns whether the client of a request for /hold, which is not answered, has left.
  bool holder_left() const { return holder_left_; }
  bool holds() const { return holds_; }

 private:
  void serve() {
    for (;;) {
      const jail::Fd peer(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!peer.valid()) return;
      answer(peer.get());
    }
  }

  void answer(int peer) {
    std::string request;
    char buffer[4096];
    while (request.find("\r\n\r\n") == request.npos) {
      const ssize_t got = ::read(peer, buffer, sizeof buffer);
      if (got <= 0) return;
      request.append(buffer, static_cast<std::size_t>(got));
    }
    if (request.starts_with("GET /hold ")) {
      holds_ = true;
      holder_left_ = ::read(peer, buffer, sizeof buffer) <= 0;
      return;
    }
    ++answered_;
    const std::string text =
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
    EXPECT_EQ(::write(peer, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }

  const jail::Fd listener_;
  std::uint16_t port_ = 0;
  std::atomic<int> answered_{0};
  std::atomic<bool> holds_{false};
  std::atomic<bool> holder_left_{false};
  std::thread thread_;
};

}  // namespace kernel_ring
