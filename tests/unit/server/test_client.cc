#include "tests/unit/server/test_client.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <utility>

namespace server {

TestClient::TestClient(std::uint16_t port, const std::string& from, int receive_buffer)
    : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
  if (receive_buffer > 0) {
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  EXPECT_EQ(::inet_pton(AF_INET, from.c_str(), &address.sin_addr), 1);
  EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  timeval limit{.tv_sec = 5, .tv_usec = 0};
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

void TestClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return;  // the server closed: receive() shows its answer
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

bool TestClient::fill() {
  char room[16384];
  const ssize_t count = ::recv(socket_.get(), room, sizeof room, 0);
  if (count <= 0) return false;
  pending_.append(room, static_cast<std::size_t>(count));
  return true;
}

std::optional<Answer> TestClient::receive_head() {
  std::size_t end = 0;
  while ((end = pending_.find("\r\n\r\n")) == pending_.npos) {
    if (!fill()) return std::nullopt;
  }
  Answer answer;
  answer.status = std::atoi(pending_.substr(9, 3).c_str());
  for (std::size_t line = pending_.find("\r\n") + 2; line < end;) {
    const std::size_t next = pending_.find("\r\n", line);
    const std::size_t colon = pending_.find(": ", line);
    std::string name = pending_.substr(line, colon - line);
    std::transform(name.begin(), name.end(), name.begin(), ::tolower);
    answer.headers[name] = pending_.substr(colon + 2, next - colon - 2);
    line = next + 2;
  }
  pending_.erase(0, end + 4);
  return answer;
}

std::optional<std::string> TestClient::take_exactly(std::size_t count) {
  std::string bytes = take(count);
  if (bytes.size() < count) return std::nullopt;
  return bytes;
}

std::optional<std::string> TestClient::next_chunk() {
  std::size_t end = 0;
  while ((end = pending_.find("\r\n")) == pending_.npos) {
    if (!fill()) return std::nullopt;
  }
  const std::size_t size = std::stoul(pending_.substr(0, end), nullptr, 16);
  pending_.erase(0, end + 2);
  auto chunk = take_exactly(size + 2);
  if (chunk) chunk->resize(size);
  return chunk;
}

std::optional<Answer> TestClient::receive(std::string_view method) {
  auto answer = receive_head();
  if (!answer || method == "HEAD") return answer;
  if (answer->headers.contains("transfer-encoding")) {
    for (;;) {
      const auto chunk = next_chunk();
      if (!chunk) return std::nullopt;
      if (chunk->empty()) return answer;
      answer->body += *chunk;
    }
  }
  const auto length = answer->headers.find("content-length");
  if (length == answer->headers.end()) return answer;
  auto body = take_exactly(std::stoul(length->second));
  if (!body) return std::nullopt;
  answer->body = std::move(*body);
  return answer;
}

std::string TestClient::take(std::size_t count) {
  while (pending_.size() < count && fill()) {
  }
  const std::string taken = pending_.substr(0, count);
  pending_.erase(0, taken.size());
  return taken;
}

bool TestClient::at_end() {
  char byte;
  return pending_.empty() && ::recv(socket_.get(), &byte, 1, 0) == 0;
}

bool TestClient::is_reset() {
  char byte;
  return pending_.empty() && ::recv(socket_.get(), &byte, 1, 0) < 0 && errno == ECONNRESET;
}

bool TestClient::has_input_within(std::chrono::milliseconds time) {
  pollfd entry{.fd = socket_.get(), .events = POLLIN, .revents = 0};
  return !pending_.empty() || ::poll(&entry, 1, static_cast<int>(time.count())) > 0;
}

void TestClient::stop_sending() { ::shutdown(socket_.get(), SHUT_WR); }

Answer TestClient::exchange(std::string_view bytes) {
  send(bytes);
  auto answer = receive();
  EXPECT_TRUE(answer.has_value()) << "no answer to " << bytes.substr(0, 100);
  return answer.value_or(Answer());
}

std::string get(std::string_view path, std::string_view headers) {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n" + std::string(headers) +
         "\r\n";
}

std::string post(std::string_view path, std::string_view body, std::string_view headers) {
  return "POST " + std::string(path) +
         " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n" + std::string(headers) + "\r\n" + std::string(body);
}

}  // namespace server
