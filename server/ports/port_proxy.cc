#include "server/ports/port_proxy.h"

#include <array>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/write.hpp>
#include <charconv>
#include <optional>
#include <utility>
#include <variant>

#include "server/http/as_values.h"
#include "server/http/streamed_response.h"
#include "server/ports/guest_answer.h"
#include "server/ports/guest_stream.h"
#include "server/ports/port_headers.h"

namespace server {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using asio::experimental::awaitable_operators::operator&&;
using runtime::Cancel;
using runtime::LivingSandbox;
using runtime::Sandboxes;

constexpr std::size_t piece_bytes = 32u << 10;
using Room = std::array<char, piece_bytes>;

constexpr std::string_view breaks_off = "the body of its answer is not framed as HTTP/1.1 says";

// The problem where the server inside broke off before its answer began.
Response bad_gateway(const PortCall& call, std::string_view what, bool is_late) {
  const std::string detail =
      "port " + call.target.port + ": the server in the sandbox: " + std::string(what);
  return problem(is_late ? RefusalCode::port_timeout : RefusalCode::port_bad_answer, detail);
}

// Ends the connection to the server inside when nobody waits for it any more, when the sandbox
// ends, or when the access token that opened it is renewed.
class EndsWith {
 public:
  EndsWith(asio::any_io_executor executor, const Cancel& gone, const PortCall& call,
           std::function<void()> close)
      : executor_(std::move(executor)),
        close_(std::move(close)),
        on_gone_(gone, closing()),
        on_renewal_(call.access, closing()),
        on_over_(call.sandbox->living()->over(), closing()) {}

 private:
  std::function<void()> closing() const {
    return [executor = executor_, close = close_] { asio::post(executor, close); };
  }

  const asio::any_io_executor executor_;
  const std::function<void()> close_;
  const Cancel::Listener on_gone_;
  const Cancel::Listener on_renewal_;
  const Cancel::Listener on_over_;
};

std::function<void()> closing(const std::shared_ptr<GuestStream>& guest) {
  return [weak = std::weak_ptr(guest)] {
    if (const auto self = weak.lock()) self->close();
  };
}

void begin(const GuestAnswer& from, const PortCall& call, ResponseStream& to) {
  Response head;
  head.status = from.status();
  head.content_type.clear();
  head.headers = headers_for_client(from.headers(), call);
  head.is_relayed = true;
  const bool has_body = head.status != 204 && head.status != 304;
  const auto length = has_body ? from.content_length() : 0;
  if (length) {
    to.begin(head, *length);
  } else {
    to.begin(head);
  }
}

// Passes the rest of an answer, whose head was read, to the client. Returns false where it breaks
// off before anything was sent to the client.
awaitable<bool> relay(GuestAnswer& from, const PortCall& call, ResponseStream& to,
                      std::chrono::milliseconds patience) {
  const auto room = std::make_unique<Room>();
  GuestAnswer::Piece piece;
  const bool is_at_hand = from.has_more_at_hand();
  if (is_at_hand) piece = co_await from.read(*room, patience);
  if (piece.is_broken) co_return false;
  begin(from, call, to);
  // A client that waits for events wants to know at once that the stream is open.
  if (!is_at_hand) {
    if (!co_await to.write(std::string_view())) co_return true;
    piece = co_await from.read(*room, patience);
  }
  while (piece.size > 0) {
    const std::string_view bytes(room->data(), piece.size);
    if (!co_await to.write(bytes)) co_return true;
    piece = co_await from.read(*room, patience);
  }
  if (!piece.is_broken) co_await to.end();
  co_return true;
}

// The line before a chunk of this size.
std::string chunk_line(std::size_t size) {
  std::array<char, 2 * sizeof(std::size_t)> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), size, 16).ptr;
  return std::string(digits.data(), end) + "\r\n";
}

// One request and its answer, which may begin before the request's body has ended.
class Exchange {
 public:
  Exchange(const RequestHead& head, const PortCall& call, RequestBody& body, ResponseStream& answer,
           std::shared_ptr<GuestStream> guest, const PortOptions& options)
      : head_(head),
        call_(call),
        body_(body),
        answer_(answer),
        guest_(std::move(guest)),
        options_(options),
        from_guest_(*guest_, head.method == "HEAD" ? GuestAnswer::Asked::head_only
                                                   : GuestAnswer::Asked::with_body) {}

  awaitable<Response> run() {
    const std::string head = head_for_guest(head_, call_);
    const bool is_sent = co_await guest_->write(head, options_.head_timeout);
    // A server may answer and end the connection before it has read everything.
    if (is_sent) {
      co_await (send_body() && receive_answer());
    } else {
      co_await receive_answer();
    }
    co_return std::move(problem_);
  }

 private:
  awaitable<void> send_body() {
    const BodyOnItsWay body = body_of(head_);
    if (body.kind == BodyOnItsWay::Kind::none) co_return;
    const bool in_chunks = body.kind == BodyOnItsWay::Kind::chunked;
    const auto room = std::make_unique<Room>();
    for (;;) {
      const auto piece = co_await body_.read(*room);
      if (piece.state == RequestBody::Piece::State::failed) co_return give_up();
      const bool is_whole = piece.state == RequestBody::Piece::State::whole;
      std::string bytes;
      if (in_chunks && piece.size > 0) bytes = chunk_line(piece.size);
      bytes.append(room->data(), piece.size);
      if (in_chunks && piece.size > 0) bytes += "\r\n";
      if (in_chunks && is_whole) bytes += "0\r\n\r\n";
      if (!co_await guest_->write(bytes, options_.head_timeout)) co_return;
      if (is_whole) co_return;
    }
  }

  // The request breaks off, and so does the part that the server inside gets.
  void give_up() {
    if (is_answered_) return;
    is_cut_ = true;
    guest_->close();
  }

  awaitable<void> receive_answer() {
    const auto complaint = co_await from_guest_.read_head(options_.head_timeout);
    if (is_cut_) {
      problem_ = body_.refusal();
    } else if (complaint) {
      problem_ = bad_gateway(call_, *complaint, guest_->is_late());
    } else if (const bool is_begun =
                   co_await relay(from_guest_, call_, answer_, options_.idle_timeout());
               !is_begun) {
      problem_ = bad_gateway(call_, breaks_off, guest_->is_late());
    }
    is_answered_ = true;
    guest_->close();
    body_.stop();
  }

  const RequestHead& head_;
  const PortCall& call_;
  RequestBody& body_;
  ResponseStream& answer_;
  const std::shared_ptr<GuestStream> guest_;
  const PortOptions& options_;
  GuestAnswer from_guest_;
  bool is_cut_ = false;       // the client's body broke off
  bool is_answered_ = false;  // nothing more of it is needed
  Response problem_;
};

// Passes bytes both ways, until either side ends the connection or neither has sent anything for a
// while.
class Tunnel : public std::enable_shared_from_this<Tunnel> {
 public:
  Tunnel(Socket& client, std::shared_ptr<GuestStream> guest, std::chrono::milliseconds idle)
      : client_(client),
        guest_(std::move(guest)),
        idle_(idle),
        deadline_(std::make_shared<Deadline>(client.get_executor())) {}

  // `first` is for the client.
  awaitable<void> run(std::string first) {
    said_something();
    const auto [error, count] = co_await asio::async_write(client_, asio::buffer(first), as_values);
    if (!error) co_await (to_guest() && to_client());
    deadline_->clear();
    close();
  }

  void close() {
    guest_->close();
    boost::system::error_code ignored;
    client_.close(ignored);
  }

 private:
  void said_something() {
    deadline_->set(idle_, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->close();
    });
  }

  awaitable<void> to_guest() {
    const auto room = std::make_unique<Room>();
    for (;;) {
      const auto [error, count] = co_await client_.async_read_some(asio::buffer(*room), as_values);
      if (error) break;
      said_something();
      const std::string_view bytes(room->data(), count);
      if (!co_await guest_->write(bytes, idle_)) break;
    }
    close();
  }

  awaitable<void> to_client() {
    const auto room = std::make_unique<Room>();
    for (;;) {
      const std::size_t count = co_await guest_->read(*room, 2 * idle_);
      if (count == 0) break;
      said_something();
      const auto [error, written] =
          co_await asio::async_write(client_, asio::buffer(room->data(), count), as_values);
      if (error) break;
    }
    close();
  }

  Socket& client_;
  const std::shared_ptr<GuestStream> guest_;
  const std::chrono::milliseconds idle_;
  const std::shared_ptr<Deadline> deadline_;
};

}  // namespace

awaitable<void> answer_and_end(Socket& client, Response response, std::string_view request_id) {
  const std::string text =
      render_head(response, request_id, Connection::close, {.length = response.body.size()}) +
      response.body;
  co_await asio::async_write(client, asio::buffer(text), as_values);
}

awaitable<Response> PortProxy::serve(RequestHead head, PortCall call, RequestBody& body,
                                     ResponseStream& answer, Cancel gone) const {
  auto connected = co_await services_.sandboxes->connect(call.sandbox, call.port,
                                                         LivingSandbox::Attendance::awaited, gone);
  if (const auto* refusal = std::get_if<runtime::Refusal>(&connected)) {
    co_return problem(*refusal);
  }
  auto& connection = std::get<runtime::PortConnection>(connected);
  const auto executor = co_await asio::this_coro::executor;
  const auto guest = GuestStream::create(executor, std::move(connection.socket));
  const EndsWith ends(executor, gone, call, closing(guest));
  Exchange exchange(head, call, body, answer, guest, options_);
  co_return co_await exchange.run();
}

awaitable<std::optional<runtime::PortConnection>> PortProxy::connect_or_answer(
    Socket& client, const RequestHead& head, const PortCall& call, Cancel gone) const {
  auto connected = co_await services_.sandboxes->connect(
      call.sandbox, call.port, LivingSandbox::Attendance::none, std::move(gone));
  if (const auto* refusal = std::get_if<runtime::Refusal>(&connected)) {
    co_await answer_and_end(client, problem(*refusal), head.request_id);
    co_return std::nullopt;
  }
  co_return std::get<runtime::PortConnection>(std::move(connected));
}

awaitable<void> PortProxy::upgrade(Socket client, RequestHead head, PortCall call,
                                   Cancel gone) const {
  auto connection = co_await connect_or_answer(client, head, call, gone);
  if (!connection) co_return;
  const auto executor = co_await asio::this_coro::executor;
  const auto guest = GuestStream::create(executor, std::move(connection->socket));
  const auto tunnel = std::make_shared<Tunnel>(client, guest, options_.idle_timeout());
  std::function<void()> close = [weak = std::weak_ptr(tunnel)] {
    if (const auto self = weak.lock()) self->close();
  };
  const EndsWith ends(executor, gone, call, std::move(close));
  const std::string asked = head_for_guest(head, call);
  // If it could not be sent, there is no answer either.
  co_await guest->write(asked, options_.head_timeout);
  GuestAnswer answer(*guest, GuestAnswer::Asked::upgrade);
  if (const auto complaint = co_await answer.read_head(options_.head_timeout)) {
    Response why = bad_gateway(call, *complaint, guest->is_late());
    co_await answer_and_end(client, std::move(why), head.request_id);
  } else if (agrees_to_websocket(answer.status(), answer.headers())) {
    std::string first = websocket_head(answer.headers(), head.request_id);
    first += answer.left_over();
    co_await tunnel->run(std::move(first));
  } else if (answer.status() == 101) {
    Response why = bad_gateway(call, "it does not agree to WebSocket as HTTP says", false);
    co_await answer_and_end(client, std::move(why), head.request_id);
  } else {
    const auto deadline = std::make_shared<Deadline>(executor);
    StreamedResponse stream(client, *deadline, options_.write_timeout, gone);
    stream.reset({.request_id = head.request_id});
    const bool is_begun = co_await relay(answer, call, stream, options_.idle_timeout());
    if (is_begun) co_return;
    Response why = bad_gateway(call, breaks_off, guest->is_late());
    co_await answer_and_end(client, std::move(why), head.request_id);
  }
}

}  // namespace server
