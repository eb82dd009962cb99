#include "runtime/secrets/exchange.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/llm/streamed_call.h"
#include "runtime/secrets/guest_request.h"
#include "runtime/secrets/guest_socket.h"
#include "runtime/secrets/reach.h"

namespace runtime {
namespace {

using llm::StreamedEnd;
using std::chrono::steady_clock;

constexpr std::chrono::seconds patience_for_a_head{30};
constexpr std::chrono::seconds patience_for_a_body{120};
// Bodies up to this take nothing of what all share; larger ones take it in steps.
constexpr std::uint64_t small_body_bytes = 64u << 10;
constexpr std::uint64_t body_step_bytes = 1u << 20;
constexpr std::string_view head_end = "\r\n\r\n";

// What the program and the log are told where no reply came.
struct NoReply {
  int status;
  std::string_view error;  // RFC 9209
  std::string_view reason;
};

NoReply no_reply_of(StreamedEnd end) {
  switch (end) {
    case StreamedEnd::forbidden:
      return {403, "destination_ip_prohibited",
              "its name leads to an address that is not public and that no rule names"};
    case StreamedEnd::unknown_name:
      return {502, "dns_error", "its name leads to no address"};
    case StreamedEnd::unreachable:
      return {502, "connection_refused", "it cannot be connected to"};
    case StreamedEnd::untrusted:
      return {502, "tls_certificate_error", "its certificate is not trusted"};
    case StreamedEnd::timed_out:
      return {504, "connection_timeout", "it did not answer in time"};
    case StreamedEnd::too_large:
      return {502, "http_response_header_section_size", "its reply is too large"};
    case StreamedEnd::impossible:
      return {500, "proxy_internal_error", "the request cannot be set up"};
    default:
      return {502, "http_response_incomplete", "its connection ended before its reply did"};
  }
}

std::string printable(std::string_view text) {
  constexpr std::size_t max_shown_bytes = 260;
  std::string shown(text.substr(0, max_shown_bytes));
  for (char& c : shown) {
    if (c < ' ' || c > '~') c = '?';
  }
  return shown;
}

bool is_passed_back(std::string_view name, std::string_view value) {
  const bool is_line = std::none_of(value.begin(), value.end(), [](char c) {
    return (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == 0x7f;
  });
  return is_token(name) && is_line && !is_of_one_hop(name) && name != "alt-svc";
}

class Exchange {
 public:
  explicit Exchange(SecretGateway::Connection& connection)
      : connection_(connection), guest_(connection.fd()) {}

  void run() {
    if (read_request()) pass_on();
  }

 private:
  bool read_request();
  bool read_head(std::string& head);
  bool read_body();
  void pass_on();
  bool answer_head(int status, const llm::HttpHeaders& headers);
  bool answer_body(std::string_view bytes);
  bool refuse(int status, std::string_view error, const std::string& reason);
  void tell(jail::EgressEvent event, bool is_allowed, std::string reason);
  void tell_end(StreamedEnd end);

  SecretGateway::Connection& connection_;
  const GuestSocket guest_;
  GuestRequest request_;
  SecretGrant grant_;
  std::string body_;
  std::vector<std::shared_ptr<void>> memory_;
  std::string address_;  // set once it is connected
  steady_clock::time_point connected_at_{};
  bool is_answered_ = false;
  bool has_chunks_ = false;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
};

void Exchange::tell(jail::EgressEvent event, bool is_allowed, std::string reason) {
  jail::EgressDecision decision;
  decision.event = event;
  decision.jail = connection_.label();
  decision.destination =
      grant_.destination.empty() ? printable(request_.place) : grant_.destination;
  decision.address = address_;
  decision.allowed = is_allowed;
  decision.reason = std::move(reason);
  if (event == jail::EgressEvent::ended) {
    decision.sent = sent_;
    decision.received = received_;
    decision.lasted =
        std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now() - connected_at_);
  }
  connection_.shared().tell(decision);
}

// Returns false, since the exchange is over.
bool Exchange::refuse(int status, std::string_view error, const std::string& reason) {
  const std::string text = "The gateway for secrets did not pass the request on: " + reason + ".\n";
  guest_.write(
      "HTTP/1.1 " + std::to_string(status) +
      " \r\nContent-Type: text/plain\r\nProxy-Status: agent-sandbox; error=" + std::string(error) +
      "\r\nConnection: close\r\nContent-Length: " + std::to_string(text.size()) + "\r\n\r\n" +
      (request_.method == "HEAD" ? std::string() : text));
  guest_.finish();
  return false;
}

// Returns false where no head came. What came behind it is in `body_`.
bool Exchange::read_head(std::string& head) {
  const auto deadline = steady_clock::now() + patience_for_a_head;
  for (;;) {
    const std::size_t looked_at = head.size() < head_end.size() ? 0 : head.size() - head_end.size();
    const auto read = guest_.read_some(head, max_guest_head_bytes, deadline);
    if (read == GuestSocket::Read::timed_out) {
      return refuse(408, "http_request_error", "its head did not come in time");
    }
    if (read == GuestSocket::Read::ended) return false;
    const std::size_t end = head.find(head_end, looked_at);
    if (end != head.npos) {
      body_ = head.substr(end + head_end.size());
      head.resize(end + head_end.size());
      return true;
    }
    if (head.size() > max_guest_head_bytes) {
      return refuse(431, "http_request_error", "its head is larger than 64 KiB");
    }
    if (has_bare_line_feed(head)) {
      return refuse(400, "http_request_error", "it has a line that ends with a line feed alone");
    }
  }
}

bool Exchange::read_request() {
  std::string head;
  if (!read_head(head)) return false;
  auto read = read_guest_head(head);
  if (const auto* const refusal = std::get_if<GatewayRefusal>(&read)) {
    tell(jail::EgressEvent::decided, false, "gateway for secrets: " + refusal->reason);
    return refuse(refusal->status, "http_request_error", refusal->reason);
  }
  request_ = std::move(std::get<GuestRequest>(read));
  auto grant = connection_.grant(request_.place);
  if (!grant) {
    tell(jail::EgressEvent::decided, false, "gateway for secrets: no secret belongs to it");
    return refuse(403, "http_request_denied", "no secret belongs to this host and port");
  }
  grant_ = std::move(*grant);
  return read_body();
}

bool Exchange::read_body() {
  if (body_.size() > request_.body_bytes) {
    tell(jail::EgressEvent::decided, false,
         "gateway for secrets: there is more behind the request");
    return refuse(400, "http_request_error",
                  "there is more behind it: each connection takes one request");
  }
  if (request_.awaits_continue && body_.empty() && !guest_.write("HTTP/1.1 100 \r\n\r\n")) {
    return false;
  }
  const auto deadline = steady_clock::now() + patience_for_a_body;
  // Memory is taken as the body comes: one that is announced alone keeps nobody from sending.
  std::uint64_t room = small_body_bytes;
  while (body_.size() < request_.body_bytes) {
    if (body_.size() == room) {
      auto more = connection_.take_memory(body_step_bytes);
      if (more == nullptr) {
        return refuse(503, "proxy_internal_error",
                      "too many large bodies are under way; try again");
      }
      memory_.push_back(std::move(more));
      room += body_step_bytes;
    }
    const auto end = std::min(request_.body_bytes, room);
    const auto left = static_cast<std::size_t>(end - body_.size());
    const auto read = guest_.read_some(body_, left, deadline);
    if (read == GuestSocket::Read::ended) return false;
    if (read == GuestSocket::Read::timed_out) {
      return refuse(408, "http_request_error", "its body did not come in time");
    }
  }
  return true;
}

void Exchange::pass_on() {
  std::string names;
  llm::StreamedRequest request;
  request.method = request_.method;
  request.origin = "https://" + grant_.destination;
  request.target = request_.path;
  for (auto& field : request_.headers) {
    const bool is_ours =
        std::any_of(grant_.headers.begin(), grant_.headers.end(),
                    [&field](const auto& own) { return is_same_header(own.first, field.first); });
    if (!is_ours) request.headers.push_back(std::move(field));
  }
  for (const auto& [name, value] : grant_.headers) {
    request.headers.emplace_back(name, value.reveal());
    names += (names.empty() ? "" : ", ") + name;
  }
  sent_ = body_.size();
  request.body = std::move(body_);

  llm::StreamedOptions options;
  options.ca_file = connection_.shared().ca_file();
  options.may_connect = [this](const sockaddr& address) {
    return may_reach(grant_.rules, grant_.host, address);
  };
  options.on_connected = [this, &names](std::string_view address) {
    address_ = address;
    connected_at_ = steady_clock::now();
    tell(jail::EgressEvent::decided, true, "with the secret header " + names);
  };
  options.on_head = [this](int status, const llm::HttpHeaders& headers) {
    return answer_head(status, headers);
  };
  options.on_body = [this](std::string_view bytes) { return answer_body(bytes); };
  options.watched = guest_.fd();
  options.is_wanted = [this] { return guest_.is_waiting(); };
  const StreamedEnd end = llm::make_streamed_call(request, options);
  tell_end(end);
}

void Exchange::tell_end(StreamedEnd end) {
  const NoReply no_reply = no_reply_of(end);
  if (address_.empty() && end != StreamedEnd::abandoned) {
    tell(jail::EgressEvent::decided, end != StreamedEnd::forbidden, std::string(no_reply.reason));
  } else if (!address_.empty()) {
    tell(jail::EgressEvent::ended, true, {});
  }
  if (end == StreamedEnd::abandoned) {
    guest_.reset();
  } else if (!is_answered_) {
    refuse(no_reply.status, no_reply.error,
           grant_.destination + ": " + std::string(no_reply.reason));
  } else if (end == StreamedEnd::complete) {
    if (!has_chunks_ || guest_.write("0\r\n\r\n")) guest_.finish();
  } else {
    guest_.reset();
  }
}

bool Exchange::answer_head(int status, const llm::HttpHeaders& headers) {
  is_answered_ = true;
  const bool has_body = request_.method != "HEAD" && status != 204 && status != 304;
  const auto count = [&headers](std::string_view wanted) {
    return std::count_if(headers.begin(), headers.end(),
                         [&](const auto& header) { return header.first == wanted; });
  };
  const bool has_length = count("content-length") == 1 && count("transfer-encoding") == 0;
  has_chunks_ = has_body && !has_length;
  std::string head = "HTTP/1.1 " + std::to_string(status) + " \r\n";
  for (const auto& [name, value] : headers) {
    const bool is_length = name == "content-length" && has_length && status != 204;
    const bool is_number = value.find_first_not_of("0123456789") == value.npos;
    if ((is_length && is_number) || is_passed_back(name, value)) {
      head.append(name).append(": ").append(value).append("\r\n");
    }
  }
  if (has_chunks_) head += "transfer-encoding: chunked\r\n";
  return guest_.write(head + "connection: close\r\n\r\n");
}

bool Exchange::answer_body(std::string_view bytes) {
  received_ += bytes.size();
  if (bytes.empty()) return true;
  if (!has_chunks_) return guest_.write(bytes);
  std::array<char, 24> size{};
  std::snprintf(size.data(), size.size(), "%zx\r\n", bytes.size());
  std::string chunk(size.data());
  chunk.append(bytes).append("\r\n");
  return guest_.write(chunk);
}

}  // namespace

void serve_guest(SecretGateway::Connection& connection) { Exchange(connection).run(); }

}  // namespace runtime
