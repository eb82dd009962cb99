#include "egress/request.h"

#include <algorithm>

namespace jail::egress {
namespace {

constexpr std::string_view head_end = "\r\n\r\n";
constexpr char socks_version = 5;

// A line that ends in LF alone is complete for some parsers and not for others.
bool has_bare_line_feed(std::string_view head, std::size_t from) {
  for (std::size_t at = head.find('\n', from); at != head.npos; at = head.find('\n', at + 1)) {
    if (at == 0 || head[at - 1] != '\r') return true;
  }
  return false;
}

bool is_letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

}  // namespace

Reading refused(Why why, std::string reason, std::string asked) {
  Reading reading;
  reading.state = Reading::State::refused;
  reading.asked = std::move(asked);
  reading.refusal = {why, std::move(reason)};
  return reading;
}

Reading to_destination(std::string_view host, std::uint16_t port, std::string asked) {
  auto destination = destination_of(host, port);
  if (!destination) {
    return refused(Why::not_allowed, "\"" + printable(host, 100) + "\" is no name and no address",
                   std::move(asked));
  }
  Reading reading;
  reading.state = Reading::State::complete;
  reading.asked = std::move(asked);
  reading.request.destination = std::move(*destination);
  return reading;
}

const Reading& RequestReader::feed(std::string_view bytes) {
  if (reading_.state != Reading::State::more || bytes.empty()) return reading_;
  bytes_ += bytes;
  // With SOCKS the greeting has been taken out by the time the request comes in.
  if (protocol_ == Protocol::socks || bytes_[0] == socks_version) {
    protocol_ = Protocol::socks;
    read_socks();
  } else if (is_letter(bytes_[0])) {
    read_http();
  } else {
    reading_ = refused(Why::unreadable, "it is no HTTP and no SOCKS5");
  }
  return reading_;
}

void RequestReader::read_http() {
  protocol_ = http_protocol(bytes_);
  const std::size_t from = searched_ < head_end.size() ? 0 : searched_ - head_end.size() + 1;
  const std::size_t end = bytes_.find(head_end, from);
  const std::size_t known = std::exchange(searched_, bytes_.size());
  const std::size_t size = end == bytes_.npos ? bytes_.size() : end + head_end.size();
  if (has_bare_line_feed(std::string_view(bytes_).substr(0, size), known)) {
    reading_ = refused(Why::unreadable, "it has a line that does not end in CR LF");
  } else if (size > max_head_bytes) {
    reading_ = refused(Why::head_too_large, "its head is longer than 64 KiB");
  } else if (end != bytes_.npos) {
    const std::string_view all = bytes_;
    reading_ = read_http_head(all.substr(0, size), all.substr(size));
    bytes_.clear();
  }
}

void RequestReader::read_socks() {
  std::size_t taken = 0;
  if (!greeted_) {
    switch (read_socks_greeting(bytes_, taken)) {
      case Greeting::more:
        return;
      case Greeting::unreadable:
        reading_ = refused(Why::unreadable, "its SOCKS5 greeting offers no method");
        return;
      case Greeting::other_methods:
        reading_ = refused(Why::no_method, "it wants to authenticate, and there is nobody to");
        return;
      case Greeting::no_authentication:
        break;
    }
    greeted_ = true;
    reply_ += {socks_version, 0};
    bytes_.erase(0, taken);
  }
  // The version stands again in front of the request.
  if (!bytes_.empty()) reading_ = read_socks_request(bytes_, taken);
  if (reading_.state == Reading::State::complete) {
    reading_.request.first_bytes = bytes_.substr(taken);
    bytes_.clear();
  }
}

}  // namespace jail::egress
