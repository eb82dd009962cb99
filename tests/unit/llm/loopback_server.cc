#include "tests/unit/llm/loopback_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cstdlib>

namespace runtime::llm {
namespace {

std::uint16_t port_of(int socket) {
  sockaddr_in address{};
  socklen_t size = sizeof(address);
  EXPECT_EQ(::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size), 0);
  return ntohs(address.sin_port);
}

std::string url_of(int socket, std::string_view path) {
  return "http://127.0.0.1:" + std::to_string(port_of(socket)).append(path);
}

}  // namespace

jail::Fd bound_socket(std::uint16_t& port) {
  jail::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  port = port_of(socket.get());
  return socket;
}

std::string LoopbackServer::Peer::read_request() {
  std::size_t whole = std::string::npos;
  for (;;) {
    if (const auto head = buffer_.find("\r\n\r\n"); head != buffer_.npos) {
      const auto length = buffer_.find("Content-Length: ");
      whole = head + 4 + (length < head ? std::strtoul(&buffer_[length + 16], nullptr, 10) : 0);
    }
    if (buffer_.size() >= whole) break;
    std::array<char, 16384> bytes;
    const ssize_t got = ::recv(socket_, bytes.data(), bytes.size(), 0);
    if (got <= 0) return {};
    buffer_.append(bytes.data(), static_cast<std::size_t>(got));
  }
  std::string request = buffer_.substr(0, whole);
  buffer_.erase(0, whole);
  return request;
}

bool LoopbackServer::Peer::send(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool LoopbackServer::Peer::left_within(std::chrono::milliseconds time) const {
  pollfd watched{.fd = socket_, .events = POLLRDHUP, .revents = 0};
  return ::poll(&watched, 1, static_cast<int>(time.count())) == 1;
}

LoopbackServer::LoopbackServer(Handler handler) : handler_(std::move(handler)) {
  std::uint16_t port = 0;
  listener_ = bound_socket(port);
  EXPECT_EQ(::listen(listener_.get(), 512), 0);
  acceptor_ = std::thread([this] { accept_all(); });
}

LoopbackServer::~LoopbackServer() {
  ::shutdown(listener_.get(), SHUT_RDWR);
  acceptor_.join();
  {
    const std::lock_guard lock(mutex_);
    for (const jail::Fd& socket : sockets_) ::shutdown(socket.get(), SHUT_RDWR);
  }
  for (std::thread& thread : threads_) thread.join();
}

void LoopbackServer::accept_all() {
  for (;;) {
    const int socket = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) return;
    ++accepted_;
    const std::lock_guard lock(mutex_);
    sockets_.emplace_back(socket);
    threads_.emplace_back([this, socket] {
      Peer peer(socket);
      handler_(peer);
      ::shutdown(socket, SHUT_RDWR);
    });
  }
}

std::string LoopbackServer::url(std::string_view path) const {
  return url_of(listener_.get(), path);
}

DeafPort::DeafPort() {
  std::uint16_t port = 0;
  listener_ = bound_socket(port);
  EXPECT_EQ(::listen(listener_.get(), 0), 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  for (int i = 0; i < 4; ++i) {
    waiting_.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    static_cast<void>(
        ::connect(waiting_.back().get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)));
  }
}

std::string DeafPort::url() const { return url_of(listener_.get(), "/"); }

std::string reply_with(std::string_view body, std::string_view status, std::string_view headers) {
  std::string reply = "HTTP/1.1 ";
  reply.append(status).append("\r\nContent-Length: ").append(std::to_string(body.size()));
  return reply.append("\r\n").append(headers).append("\r\n").append(body);
}

}  // namespace runtime::llm
