#include "server/cli/sandbox/tunnel.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <utility>

#include "runtime/json/members.h"
#include "runtime/json/reader.h"
#include "runtime/llm/http_text.h"
#include "server/cli/plain_text.h"

namespace server::client {
namespace {

namespace llm = runtime::llm;

using Outcome = llm::PolledStream::Outcome;

constexpr std::size_t tunnel_piece_bytes = 64u << 10;
constexpr std::size_t max_answer_bytes = 64u << 10;
// One tunnel must not keep the others waiting.
constexpr int max_rounds = 16;
constexpr std::size_t max_reason_characters = 200;

// The part of a URL behind "://", up to its path.
std::string authority_of(const std::string& url) {
  const std::string origin = llm::origin_of(url);
  const std::size_t scheme = origin.find("://");
  return scheme == origin.npos ? origin : origin.substr(scheme + 3);
}

// The path of the server's own URL, which comes before each path of the interface.
std::string base_path_of(const std::string& url) {
  return url.substr(std::min(url.size(), llm::origin_of(url).size()));
}

std::string header_of(llm::HttpHeaders& headers, std::string_view name) {
  const auto has_name = [&](const auto& header) {
    return std::ranges::equal(header.first, name, [](char a, char b) {
      return (a >= 'A' && a <= 'Z' ? a + ('a' - 'A') : a) == b;
    });
  };
  const auto found = std::ranges::find_if(headers, has_name);
  return found == headers.end() ? std::string() : found->second;
}

}  // namespace

Tunnel::Tunnel(ServerClient& client, jail::Fd local, const std::string& path)
    : client_(client),
      local_(std::move(local)),
      path_(path),
      key_(new_websocket_key()),
      stream_(client.connect()) {}

Tunnel::~Tunnel() {
  if (state_ != State::over) break_off({});
}

std::array<pollfd, 2> Tunnel::awaited() const {
  pollfd local{.fd = local_.get(), .events = 0, .revents = 0};
  pollfd server{.fd = -1, .events = 0, .revents = 0};
  if (state_ == State::asking || state_ == State::open) {
    server.fd = stream_->fd();
    if (to_local_.size() < tunnel_piece_bytes) server.events |= POLLIN;
    // Room to write wakes at once, which what TLS has read already would not.
    if (!to_server_.empty() || has_more_) server.events |= POLLOUT;
  }
  const bool is_open = state_ == State::open;
  if (is_open && !local_has_ended_ && to_server_.size() < tunnel_piece_bytes) {
    local.events |= POLLIN;
  }
  if (!to_local_.empty()) local.events |= POLLOUT;
  // Otherwise a connection that has broken off would be reported again and again.
  if (local.events == 0) local.fd = -1;
  return {local, server};
}

void Tunnel::move() {
  has_more_ = false;
  for (int round = 0; round < max_rounds && state_ != State::over; ++round) {
    bool has_moved = false;
    if (state_ == State::connecting) has_moved = connect();
    if (state_ == State::asking) has_moved = ask() || has_moved;
    if (state_ == State::open) {
      has_moved = read_server() || has_moved;
      if (state_ == State::open) has_moved = read_local() || has_moved;
      if (state_ == State::open) has_moved = write_server() || has_moved;
    }
    if (state_ == State::open || state_ == State::draining) has_moved = write_local() || has_moved;
    if (state_ == State::draining && to_local_.empty()) finish();
    if (!has_moved) return;
  }
  has_more_ = true;
}

bool Tunnel::connect() {
  if (stream_->state() == llm::PolledStream::State::connecting) return false;
  if (stream_->state() == llm::PolledStream::State::failed) {
    break_off(client_.no_answer(stream_->fault()).message());
    return true;
  }
  const ServerAddress& address = client_.address();
  to_server_ = "GET " + base_path_of(address.url) + path_ +
               " HTTP/1.1\r\nHost: " + authority_of(address.url) +
               "\r\nUser-Agent: agent-sandbox\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
               "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " +
               key_ + "\r\n";
  if (!address.key.empty()) to_server_ += "Authorization: Bearer " + address.key + "\r\n";
  to_server_ += "\r\n";
  state_ = State::asking;
  return true;
}

bool Tunnel::ask() {
  bool has_moved = write_server();
  if (state_ != State::asking) return has_moved;
  std::array<char, 4096> room;
  const auto got = stream_->read(room);
  if (got.outcome == Outcome::nothing_yet) return has_moved;
  if (got.outcome == Outcome::ended) {
    break_off("the server ended the connection before it answered");
    return true;
  }
  head_.append(room.data(), got.bytes);
  take_answer();
  return true;
}

// Looks at the answer as soon as it is whole: a refusal has a body.
void Tunnel::take_answer() {
  const std::size_t end = head_.find("\r\n\r\n");
  if (end == head_.npos) {
    if (head_.size() > max_answer_bytes) break_off("the head of the server's answer is too large");
    return;
  }
  llm::HeadReader head;
  std::string_view lines = std::string_view(head_).substr(0, end + 4);
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n') + 1);
    head.feed(line);
    lines.remove_prefix(line.size());
  }
  std::string behind = head_.substr(end + 4);
  if (head.status() == 101) {
    if (header_of(head.headers(), "sec-websocket-accept") != websocket_accept_of(key_)) {
      break_off("the server does not agree to WebSocket as RFC 6455 says");
      return;
    }
    from_server_ = std::move(behind);
    head_.clear();
    state_ = State::open;
    take_pieces();
    return;
  }
  std::size_t length = 0;
  const std::string given = header_of(head.headers(), "content-length");
  std::from_chars(given.data(), given.data() + given.size(), length);
  if (behind.size() < std::min(length, max_answer_bytes)) return;
  llm::HttpReply reply;
  reply.status = head.status();
  reply.body = std::move(behind);
  break_off(client_.refusal_of(reply).message());
}

bool Tunnel::read_server() {
  if (to_local_.size() >= tunnel_piece_bytes) return false;
  std::array<char, tunnel_piece_bytes> room;
  const auto got = stream_->read(room);
  if (got.outcome == Outcome::nothing_yet) return false;
  if (got.outcome == Outcome::ended) {
    is_broken_ = true;
    state_ = State::draining;
    complaint_ = "the connection to the server broke";
    return true;
  }
  from_server_.append(room.data(), got.bytes);
  take_pieces();
  return true;
}

void Tunnel::take_pieces() {
  using Kind = FrameReader::Piece::Kind;
  std::string_view input = from_server_;
  while (state_ == State::open) {
    const auto piece = frames_.next(input);
    if (piece.kind == Kind::none) break;
    if (piece.kind == Kind::binary) {
      to_local_ += piece.bytes;
    } else if (piece.kind == Kind::ping) {
      unanswered_ping_ = piece.bytes;
    } else if (piece.kind == Kind::close) {
      take_close(piece);
    } else if (piece.kind == Kind::text) {
      const auto message = runtime::json::parse(piece.bytes, "message");
      if (message && runtime::json::text_member(&*message, "type") == "end") {
        server_has_ended_ = true;
      }
    } else {
      break_off("what the server sends is not WebSocket");
    }
  }
  from_server_.clear();
}

void Tunnel::take_close(const FrameReader::Piece& piece) {
  constexpr std::uint16_t normal = 1000;
  constexpr std::uint16_t sandbox_ended = 4001;
  // The answer is a courtesy: the server does not wait for it for long.
  to_server_ += frame_of(Opcode::close, std::string("\x03\xe8", 2));
  write_server();
  state_ = State::draining;
  if (piece.code == normal) return;
  is_broken_ = true;
  if (piece.code == sandbox_ended) return;  // the events of the sandbox tell it
  complaint_ = piece.bytes.empty() ? "the server closed it with code " + std::to_string(piece.code)
                                   : plain_line(std::string(piece.bytes), max_reason_characters);
}

bool Tunnel::write_server() {
  if (unanswered_ping_ && to_server_.size() < tunnel_piece_bytes) {
    to_server_ += frame_of(Opcode::pong, *unanswered_ping_);
    unanswered_ping_.reset();
  }
  if (to_server_.empty()) return false;
  const auto put = stream_->write(to_server_);
  if (put.outcome == Outcome::nothing_yet) return false;
  // Why it ended is read, if the server has said so.
  if (put.outcome == Outcome::ended) {
    to_server_.clear();
    local_has_ended_ = true;
    return true;
  }
  to_server_.erase(0, put.bytes);
  return true;
}

bool Tunnel::read_local() {
  if (local_has_ended_ || to_server_.size() >= tunnel_piece_bytes) return false;
  std::array<char, tunnel_piece_bytes> room;
  const ssize_t count = ::recv(local_.get(), room.data(), room.size(), 0);
  if (count > 0) {
    to_server_ += frame_of(Opcode::binary, {room.data(), static_cast<std::size_t>(count)});
    return true;
  }
  if (count == 0) {
    local_has_ended_ = true;
    to_server_ += frame_of(Opcode::text, R"({"type":"end"})");
    return true;
  }
  if (errno == EAGAIN || errno == EINTR) return false;
  // The server is told nothing, and so the program in the sandbox sees that it broke off.
  break_off({});
  return true;
}

bool Tunnel::write_local() {
  if (to_local_.empty()) {
    if (server_has_ended_ && !is_shut_) {
      ::shutdown(local_.get(), SHUT_WR);
      is_shut_ = true;
    }
    return false;
  }
  const ssize_t count = ::send(local_.get(), to_local_.data(), to_local_.size(), MSG_NOSIGNAL);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (count < 0) {
    break_off(std::move(complaint_));
    return true;
  }
  to_local_.erase(0, static_cast<std::size_t>(count));
  return true;
}

void Tunnel::break_off(std::string complaint) {
  complaint_ = std::move(complaint);
  is_broken_ = true;
  finish();
}

void Tunnel::finish() {
  if (is_broken_ && local_.valid()) {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(local_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  local_.reset();
  stream_.reset();
  state_ = State::over;
}

}  // namespace server::client
