#include "server/http/session.h"

#include <sys/socket.h>

#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/observe/uuid.h"
#include "server/http/as_values.h"
#include "server/http/body_framing.h"
#include "server/http/body_in_pieces.h"
#include "server/http/deadline.h"
#include "server/http/head_check.h"
#include "server/http/incoming.h"
#include "server/http/peer.h"
#include "server/http/streamed_response.h"

namespace server {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;
using Parser = BodyInPieces::HeadParser;

// The bytes of a body that its handler left unread which are read and discarded, so that the
// connection can be kept.
constexpr std::size_t max_skipped_body = 256u << 10;

std::string_view text_of(const boost::beast::flat_buffer& buffer) {
  return {static_cast<const char*>(buffer.data().data()), buffer.size()};
}

class BeastSession final : public Session, public std::enable_shared_from_this<BeastSession> {
 public:
  BeastSession(Socket socket, HttpOptions options, BodyBudget& budget, Handler& handler,
               runtime::Logger& logger)
      : socket_(std::move(socket)),
        peer_(peer_of(socket_.native_handle())),
        deadline_(std::make_shared<Deadline>(socket_.get_executor())),
        incoming_(std::make_shared<Incoming>(socket_)),
        buffer_(incoming_->buffer()),
        options_(options),
        budget_(budget),
        handler_(handler),
        logger_(logger),
        stream_(socket_, *deadline_, options_.write_timeout, gone_) {}

  asio::awaitable<void> run() override {
    const auto self = shared_from_this();
    try {
      while (co_await serve_one()) {
      }
    } catch (const std::exception& error) {
      logger_.error("connection failed", {{"error", error.what()}});
    }
    disarm();
    close();
  }

  asio::awaitable<void> turn_away(Response why) override {
    const auto self = shared_from_this();
    started_ = Clock::now();
    head_.request_id = runtime::make_uuid();
    co_await send(std::move(why), Connection::close);
    co_await linger();
    disarm();
    close();
  }

  void drain() override {
    asio::post(socket_.get_executor(), [self = shared_from_this()] {
      self->draining_ = true;
      // A request may be on its way: if the connection were closed at once, its client would see a
      // reset.
      if (self->idle_) self->arm(self->options_.drain_grace, AtDeadline::close);
    });
  }

  void abandon() override {
    asio::post(socket_.get_executor(), [self = shared_from_this()] {
      self->draining_ = true;
      self->abandoned_ = true;
      if (self->working_) {
        self->gone_.request();
        self->stream_.hurry(self->options_.last_write_timeout);
        if (self->pieces_ != nullptr) self->pieces_->hasten(self->options_.drain_grace);
      } else {
        self->deadline_->hasten(self->patience_for(self->action_));
      }
    });
  }

 private:
  enum class AtDeadline { stop_reading, close };

  // Returns true when the connection can take another request.
  asio::awaitable<bool> serve_one() {
    head_ = RequestHead();
    admittance_ = Admittance();
    whole_ = false;
    lost_ = false;
    wants_more_ = false;
    pieces_.reset();
    Parser parser;
    ChunkExtensions extensions;
    parser.on_chunk_header(extensions);
    BodyBudget::Share share(budget_);
    std::optional<Response> response = co_await receive(parser, share);
    disarm();
    if (lost_) co_return false;
    skip_body_ = head_.method == "HEAD";
    if (!response && admittance_.is_upgrade) {
      co_await upgrade();
      co_return false;
    }
    if (!response) {
      std::string body;
      if (pieces_ == nullptr) body = std::move(parser.get().body());
      response = co_await work(std::move(body));
      if (stream_.begun()) co_return co_await finish_stream();
      if (pieces_ != nullptr && pieces_->is_cut()) co_return false;
    }
    const Connection connection = gone_.requested() ? Connection::close : connection_afterwards();
    Response answer = std::move(*response);
    const bool sent = co_await send(std::move(answer), connection);
    const bool is_kept = sent && connection == Connection::keep_alive;
    if (is_kept && !whole_) whole_ = co_await pieces_->skip_rest(max_skipped_body);
    if (is_kept && whole_) co_return true;
    if (sent && (!whole_ || buffer_.size() > 0)) co_await linger();
    co_return false;
  }

  // The value of the Connection header. A body that its handler reads may be complete by then.
  Connection connection_afterwards() const {
    const bool can_go_on =
        whole_ || (pieces_ != nullptr && pieces_->can_skip_rest(max_skipped_body));
    return can_go_on && wants_more_ && !draining_ ? Connection::keep_alive : Connection::close;
  }

  // Called when the handler has written its answer. Returns true when the connection can take
  // another request.
  asio::awaitable<bool> finish_stream() {
    if (skip_body_) co_await stream_.end();
    ++served_;
    tell(stream_.status());
    log(stream_.status(), stream_.sent_bytes());
    if (!stream_.is_complete()) {
      // A client that recognizes the end of an answer only by the end of the connection would take
      // it for complete.
      error_code ignored;
      const bool looks_whole = stream_.framing() == Framing::Kind::until_close;
      if (looks_whole) socket_.set_option(asio::socket_base::linger(true, 0), ignored);
      co_return false;
    }
    const bool is_kept = stream_.connection() == Connection::keep_alive && !gone_.requested();
    if (is_kept && !whole_) whole_ = co_await pieces_->skip_rest(max_skipped_body);
    if (is_kept && whole_) co_return true;
    if (!whole_ || buffer_.size() > 0) co_await linger();
    co_return false;
  }

  // From here on the connection speaks another protocol.
  asio::awaitable<void> upgrade() {
    constexpr int switched = 101;
    co_await incoming_->stop();
    if (buffer_.size() > 0) {
      Response early = problem(RefusalCode::bad_http,
                               "the connection was used before the server switched protocols");
      co_await send(std::move(early), Connection::close);
      co_await linger();
      co_return;
    }
    working_ = true;
    Request request = request_with({});
    co_await handler_.upgrade(std::move(socket_), std::move(request), budget_, gone_);
    working_ = false;
    tell(switched);
    log(switched, 0);
  }

  // Reads one request. A Response refuses it; lost_ means that there is nobody to answer.
  asio::awaitable<std::optional<Response>> receive(Parser& parser, BodyBudget::Share& share) {
    started_ = Clock::now();
    if (auto refusal = co_await receive_head()) co_return refusal;
    if (lost_) co_return std::nullopt;
    if (auto refusal = take_head(parser)) co_return refusal;
    admittance_ = handler_.admit(head_);
    if (admittance_.refusal) {
      whole_ = parser.is_done();
      co_return std::move(admittance_.refusal);
    }
    const bool in_pieces = admittance_.reads_body;
    const std::uint64_t announced = parser.content_length().value_or(0);
    if (announced > options_.max_body_bytes && !in_pieces) co_return too_large(announced);
    auto expectation = BodyInPieces::Expectation::none;
    if (const auto expect = head_.header("Expect")) {
      if (!equal_ignoring_case(*expect, "100-continue")) {
        co_return problem(RefusalCode::expectation_failed, "Expect: only 100-continue is known");
      }
      // A client of HTTP/1.0 would take an interim answer for the final one.
      const bool waits = buffer_.size() == 0 && !parser.is_done() && !is_http_1_0_;
      if (waits && in_pieces) expectation = BodyInPieces::Expectation::continue_first;
      if (waits && !in_pieces) co_await send_continue();
    }
    if (!in_pieces) co_return co_await receive_body(parser, share);
    const BodyPace pace{options_.body_timeout, options_.min_body_bytes_per_second};
    pieces_ =
        std::make_unique<BodyInPieces>(std::move(parser), socket_, *incoming_, pace, expectation);
    whole_ = pieces_->is_whole();
    co_return std::nullopt;
  }

  // Reads until the buffer has a whole head. Empty lines before it are skipped, as RFC 9112
  // recommends.
  asio::awaitable<std::optional<Response>> receive_head() {
    if (buffer_.size() == 0) {
      const auto first_wait = served_ == 0 ? options_.head_timeout : options_.idle_timeout;
      arm(draining_ ? options_.drain_grace : first_wait, AtDeadline::close);
      idle_ = true;
      lost_ = !co_await read_more();
      idle_ = false;
      if (lost_) co_return std::nullopt;
    }
    started_ = Clock::now();
    arm(options_.head_timeout, AtDeadline::stop_reading);
    for (;;) {
      while (text_of(buffer_).starts_with("\r\n")) buffer_.consume(2);
      const std::string_view text = text_of(buffer_);
      if (begins_tls(text)) {
        head_.request_id = runtime::make_uuid();
        co_return problem(RefusalCode::bad_http, "this port speaks HTTP without TLS: use http://");
      }
      // Line ends without CR end the search too, so that check_head() can refuse them.
      const std::size_t end = std::min(text.find("\n\r\n"), text.find("\n\n"));
      if (std::min(end, text.size()) > options_.max_head_bytes) {
        head_.request_id = runtime::make_uuid();
        co_return problem({.code = RefusalCode::request_header_fields_too_large,
                           .detail = "the request's head is larger than " +
                                     std::to_string(options_.max_head_bytes) + " bytes",
                           .limit = options_.max_head_bytes});
      }
      if (end != text.npos) {
        head_bytes_ = end + (text[end + 1] == '\n' ? 2 : 3);
        co_return std::nullopt;
      }
      if (co_await read_more()) continue;
      head_.request_id = runtime::make_uuid();
      if (late_) co_return too_late("the request's head did not arrive in time");
      lost_ = true;
      co_return std::nullopt;
    }
  }

  std::optional<Response> take_head(Parser& parser) {
    head_.request_id = runtime::make_uuid();
    const auto complaint = check_head(text_of(buffer_).substr(0, head_bytes_));
    if (complaint) return problem(RefusalCode::bad_http, *complaint);
    parser.header_limit(static_cast<std::uint32_t>(options_.max_head_bytes) + 1024);
    parser.body_limit(boost::none);  // a known length is checked after the head was admitted
    error_code error;
    buffer_.consume(parser.put(buffer_.data(), error));
    if (error || !parser.is_header_done()) {
      return problem(RefusalCode::bad_http, "the request's head is not valid HTTP/1.1");
    }
    parser.body_limit(options_.max_body_bytes);
    const auto& message = parser.get();
    wants_more_ = parser.keep_alive();
    is_http_1_0_ = message.version() < 11;
    head_.method = std::string(message.method_string());
    head_.path = path_of(std::string_view(message.target()));
    head_.query = query_of(std::string_view(message.target()));
    for (const auto& field : message) {
      head_.headers.push_back({std::string(field.name_string()), std::string(field.value())});
    }
    const auto id = head_.header("X-Request-Id");
    if (id && runtime::is_uuid(*id)) head_.request_id = std::string(*id);
    return std::nullopt;
  }

  asio::awaitable<std::optional<Response>> receive_body(Parser& parser, BodyBudget::Share& share) {
    arm(options_.body_timeout, AtDeadline::stop_reading);
    parser.eager(true);
    for (;;) {
      const BodyStep step = parse_body(parser, buffer_, BodyPlace::chunk_line);
      if (step == BodyStep::too_large) co_return too_large(std::nullopt);
      if (!share.cover(parser.get().body().size())) {
        co_return problem(RefusalCode::busy, "too many large requests at once");
      }
      if (step == BodyStep::whole) break;
      if (step == BodyStep::malformed) {
        co_return problem(RefusalCode::bad_http,
                          "the request's body is not framed as HTTP/1.1 says");
      }
      if (step == BodyStep::progress) continue;
      if (co_await read_more()) continue;
      if (late_) co_return too_late("the request's body did not arrive in time");
      lost_ = true;
      co_return std::nullopt;
    }
    whole_ = true;
    co_return std::nullopt;
  }

  // Runs the handler and watches meanwhile whether the client is still there.
  asio::awaitable<Response> work(std::string body) {
    gone_ = runtime::Cancel();
    if (abandoned_) gone_.request();
    stream_.reset({.request_id = head_.request_id,
                   .connection = connection_afterwards(),
                   .knows_chunks = !is_http_1_0_,
                   .head_only = skip_body_});
    working_ = true;
    incoming_->watch([this] { gone_.request(); });
    Response response;
    try {
      Request request = request_with(std::move(body));
      request.stream = &stream_;
      request.pieces = pieces_.get();
      response = co_await handler_.handle(std::move(request), gone_);
    } catch (const std::exception& error) {
      logger_.error("handler failed", {{"request_id", head_.request_id}, {"error", error.what()}});
      response = problem(RefusalCode::internal_server_error, "internal error");
    }
    working_ = false;
    incoming_->unwatch();
    if (pieces_ != nullptr) whole_ = pieces_->is_whole();
    co_return response;
  }

  Request request_with(std::string body) const {
    return {.head = head_, .body = std::move(body), .context = admittance_.context, .peer = peer_};
  }

  void tell(int status) { handler_.on_response(head_, admittance_.context.get(), status); }

  asio::awaitable<bool> read_more() {
    if (late_) co_return false;
    co_return co_await incoming_->more();
  }

  asio::awaitable<void> send_continue() {
    static constexpr std::string_view line = "HTTP/1.1 100 Continue\r\n\r\n";
    arm(options_.write_timeout, AtDeadline::close);
    // A failure shows in the read that follows.
    co_await asio::async_write(socket_, asio::buffer(line), as_values);
  }

  asio::awaitable<bool> send(Response response, Connection connection) {
    const std::string head =
        render_head(response, head_.request_id, connection, {.length = response.body.size()});
    const std::array<asio::const_buffer, 2> parts = {
        asio::buffer(head), asio::buffer(skip_body_ ? std::string_view() : response.body)};
    arm(options_.write_timeout, AtDeadline::close);
    const auto [error, count] = co_await asio::async_write(socket_, parts, as_values);
    disarm();
    ++served_;
    tell(response.status);
    log(response.status, count);
    co_return !error;
  }

  // Reads and discards until the client closes, so that it can read our last answer.
  asio::awaitable<void> linger() {
    error_code error;
    socket_.shutdown(Socket::shutdown_send, error);
    arm(options_.linger_timeout, AtDeadline::close);
    do {
      buffer_.clear();
    } while (co_await read_more());
    disarm();
  }

  // A read may be between two steps when its time is over: late_ prevents the next one.
  void arm(std::chrono::milliseconds time, AtDeadline action) {
    late_ = false;
    action_ = action;
    if (abandoned_) time = std::min(time, patience_for(action));
    deadline_->set(time, [this, action] {
      late_ = true;
      if (action == AtDeadline::close) return close();
      error_code ignored;
      socket_.cancel(ignored);
    });
  }

  // The patience of a server that cannot wait any longer: for reading, and for the last exchange.
  std::chrono::milliseconds patience_for(AtDeadline action) const {
    const bool reads = action == AtDeadline::stop_reading || idle_;
    return reads ? options_.drain_grace : options_.last_write_timeout;
  }

  Response too_late(std::string_view why) const {
    return abandoned_ ? stopping() : problem(RefusalCode::request_timeout, std::string(why));
  }

  void disarm() {
    late_ = false;
    deadline_->clear();
  }

  void close() {
    error_code ignored;
    socket_.close(ignored);
  }

  Response too_large(std::optional<std::uint64_t> bytes) const {
    return problem(
        {.code = RefusalCode::content_too_large,
         .detail = "the body is larger than " + std::to_string(options_.max_body_bytes) + " bytes",
         .limit = options_.max_body_bytes,
         .used = bytes});
  }

  void log(int status, std::size_t bytes) {
    const auto took =
        std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - started_);
    logger_.info("request", {{"request_id", head_.request_id},
                             {"method", std::string_view(head_.method).substr(0, 32)},
                             {"path", std::string_view(head_.path).substr(0, 256)},
                             {"status", std::int64_t{status}},
                             {"bytes", static_cast<std::int64_t>(bytes)},
                             {"ms", static_cast<double>(took.count()) / 1000}});
  }

  Socket socket_;
  const std::string peer_;
  const std::shared_ptr<Deadline> deadline_;
  const std::shared_ptr<Incoming> incoming_;
  boost::beast::flat_buffer& buffer_;  // received bytes; the next request begins in it
  const HttpOptions options_;
  BodyBudget& budget_;
  Handler& handler_;
  runtime::Logger& logger_;

  RequestHead head_;
  Admittance admittance_;
  std::size_t head_bytes_ = 0;
  std::uint64_t served_ = 0;
  Clock::time_point started_;
  runtime::Cancel gone_;
  StreamedResponse stream_;
  std::unique_ptr<BodyInPieces> pieces_;  // null where the handler gets the body as a whole
  bool idle_ = false;
  bool working_ = false;
  bool draining_ = false;
  bool abandoned_ = false;
  AtDeadline action_ = AtDeadline::close;  // of the last deadline
  bool late_ = false;                      // the deadline has passed
  bool lost_ = false;                      // the client is gone, and nobody is left to answer
  bool whole_ = false;                     // the request was read to its end, so another may follow
  bool skip_body_ = false;
  bool wants_more_ = false;  // the client will keep the connection open
  bool is_http_1_0_ = false;
};

}  // namespace

std::shared_ptr<Session> Session::create(Socket socket, HttpOptions options, BodyBudget& budget,
                                         Handler& handler, runtime::Logger& logger) {
  return std::make_shared<BeastSession>(std::move(socket), options, budget, handler, logger);
}

}  // namespace server
