// WS /v1/sandboxes/{id}/tunnel: the bytes of one TCP connection to a port of a sandbox.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/json/members.h"
#include "runtime/json/reader.h"
#include "runtime/living/bell.h"
#include "runtime/living/port_connection.h"
#include "server/http/deadline.h"
#include "server/ports/guest_stream.h"
#include "server/ports/port_proxy.h"
#include "server/websocket/channel.h"

namespace server {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using asio::experimental::awaitable_operators::operator&&;
using runtime::Bell;
using runtime::Cancel;
using runtime::LivingSandbox;

using Kind = Channel::Message::Kind;

constexpr std::size_t tunnel_piece_bytes = 32u << 10;
using TunnelRoom = std::array<char, tunnel_piece_bytes>;

constexpr std::chrono::seconds time_between_pings{30};
constexpr std::chrono::seconds patience_with_the_sandbox{5};
// A client that sends all the time sees why the tunnel ended only if everything is read until it
// has answered: the kernel resets a connection that is closed before that.
constexpr std::chrono::seconds patience_with_goodbyes{10};
constexpr std::size_t max_word_bytes = 1024;
constexpr const char* end_of_bytes = R"({"type":"end"})";

bool says_end(const std::string& word) {
  const auto message = runtime::json::parse(word, "message");
  return message && runtime::json::text_member(&*message, "type") == "end";
}

// How a tunnel ends.
struct Ending {
  CloseCode code = CloseCode::normal;
  const char* reason = "";
  enum class Guest : std::uint8_t {
    closed,  // both sides have said that they are at their end
    broken,  // the server inside must not take what it got for all
  } guest = Guest::closed;
  bool is_client_gone = false;
};

constexpr Ending both_have_ended = {};
constexpr Ending client_said_goodbye = {.code = CloseCode::normal,
                                        .reason = "",
                                        .guest = Ending::Guest::closed,
                                        .is_client_gone = true};
constexpr Ending client_is_gone = {.code = CloseCode::normal,
                                   .reason = "",
                                   .guest = Ending::Guest::broken,
                                   .is_client_gone = true};

constexpr Ending broken(CloseCode code, const char* reason) {
  return {.code = code, .reason = reason, .guest = Ending::Guest::broken, .is_client_gone = false};
}

constexpr Ending sandbox_has_ended = broken(CloseCode::sandbox_ended, "the sandbox has ended");
constexpr Ending server_stops = broken(CloseCode::going_away, "the server stops");
constexpr Ending token_is_renewed = broken(CloseCode::policy, "the access token was renewed");

std::string_view name_of(const Ending& ending) {
  if (ending.is_client_gone) {
    return ending.guest == Ending::Guest::closed ? "the client closed it" : "the client is gone";
  }
  return ending.code == CloseCode::normal ? "both sides ended it" : ending.reason;
}

// Everything happens on the channel's executor, which runs one handler at a time.
class TunnelSession : public std::enable_shared_from_this<TunnelSession> {
 public:
  TunnelSession(std::unique_ptr<Channel> channel, std::shared_ptr<GuestStream> guest,
                std::shared_ptr<LivingSandbox> sandbox, std::chrono::milliseconds patience)
      : channel_(std::move(channel)),
        guest_(std::move(guest)),
        sandbox_(std::move(sandbox)),
        patience_(patience),
        decided_(Bell::create(channel_->executor())),
        may_ping_(Bell::create(channel_->executor())),
        last_patience_(std::make_shared<Deadline>(channel_->executor())) {}

  awaitable<void> run() { co_await (take() && tell() && ping() && say_goodbye()); }

  // The first ending counts.
  void end(Ending ending) {
    if (ending_) return;
    ending_ = ending;
    ended_.request();
    if (ending.guest == Ending::Guest::broken) {
      guest_->reset();
    } else {
      guest_->close();
    }
    Bell::ring(decided_);
    Bell::ring(may_ping_);
  }

  // The server stops, and cannot wait for a client for long.
  void stop() {
    end(server_stops);
    last_patience_->set(ChannelOptions().close_timeout, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->channel_->abort();
    });
  }

  std::string_view why_ended() const { return name_of(*ending_); }
  std::int64_t bytes_in() const noexcept { return bytes_in_; }
  std::int64_t bytes_out() const noexcept { return bytes_out_; }

 private:
  // Passes the client's bytes to the server inside.
  awaitable<void> take() {
    const auto room = std::make_unique<TunnelRoom>();
    for (;;) {
      const Channel::Piece piece = co_await channel_->read_piece(*room);
      if (piece.kind == Kind::closed) {
        end(piece.is_goodbye ? client_said_goodbye : client_is_gone);
        co_return;
      }
      if (ending_) co_return;
      const std::string_view bytes(room->data(), piece.size);
      if (piece.kind == Kind::text) {
        hear(bytes, piece.is_last);
        if (ending_) co_return;
        continue;
      }
      // What comes for a server that takes no more is dropped, as it would be by TCP.
      if (bytes.empty() || takes_no_more_) continue;
      if (has_client_ended_) {
        end(broken(CloseCode::policy, "bytes came after the client had said that it ends"));
        co_return;
      }
      const bool is_taken = co_await guest_->write(bytes, patience_);
      if (!is_taken) {
        takes_no_more_ = true;
        // What the server has sent before is passed on; then its end is noticed.
        if (has_guest_ended_) break_off();
        continue;
      }
      bytes_in_ += static_cast<std::int64_t>(bytes.size());
    }
  }

  void hear(std::string_view text, bool is_last) {
    word_ += text;
    const bool is_bounded = word_.size() <= max_word_bytes;
    if (is_bounded && !is_last) return;
    if (!is_bounded || !says_end(word_)) {
      end(broken(CloseCode::policy, R"(a text message: expected {"type": "end"})"));
      return;
    }
    word_.clear();
    has_client_ended_ = true;
    guest_->end_writing();
    if (has_guest_ended_) end(both_have_ended);
  }

  // Passes the bytes of the server inside to the client.
  awaitable<void> tell() {
    const auto room = std::make_unique<TunnelRoom>();
    for (;;) {
      const std::size_t count = co_await guest_->read(*room);
      if (ending_) co_return;
      if (count == 0) break;
      std::string bytes(room->data(), count);
      const bool is_taken = co_await channel_->write_binary(std::move(bytes));
      if (!is_taken) {
        end(client_is_gone);
        co_return;
      }
      bytes_out_ += static_cast<std::int64_t>(count);
    }
    // The end of the sandbox must not pass for one that the server inside has made.
    const bool is_its_word =
        co_await runtime::outlives_its_connection(sandbox_, patience_with_the_sandbox, ended_);
    if (ending_ || !is_its_word) co_return;
    if (takes_no_more_ || !guest_->has_ended()) {
      break_off();
      co_return;
    }
    has_guest_ended_ = true;
    std::string last = end_of_bytes;
    const bool is_heard = co_await channel_->write(std::move(last));
    if (!is_heard) {
      end(client_is_gone);
    } else if (has_client_ended_) {
      end(both_have_ended);
    } else if (takes_no_more_) {
      break_off();
    }
  }

  void break_off() {
    // Its end is told when it is known.
    if (!sandbox_->lives()) return;
    if (guest_->is_late()) {
      end(broken(CloseCode::port_timeout, "the server in the sandbox takes no bytes"));
    } else {
      end(broken(CloseCode::port_broken, "the server in the sandbox broke the connection off"));
    }
  }

  // Neither side has to say anything for hours, so only this finds out that the client is gone.
  awaitable<void> ping() {
    while (!ending_) {
      const auto next = std::chrono::steady_clock::now() + time_between_pings;
      co_await may_ping_->wait(next);
      if (ending_) co_return;
      const bool is_there = co_await channel_->ping();
      if (!is_there) end(client_is_gone);
    }
  }

  awaitable<void> say_goodbye() {
    while (!ending_) co_await decided_->wait();
    if (ending_->is_client_gone) {
      channel_->abort();
    } else {
      const std::string_view reason = ending_->reason;
      co_await channel_->close(ending_->code, reason);
    }
  }

  const std::unique_ptr<Channel> channel_;
  const std::shared_ptr<GuestStream> guest_;
  const std::shared_ptr<LivingSandbox> sandbox_;
  const Cancel ended_;                        // requested with the ending
  const std::chrono::milliseconds patience_;  // with the server inside, until it takes bytes
  const std::shared_ptr<Bell> decided_;
  const std::shared_ptr<Bell> may_ping_;
  const std::shared_ptr<Deadline> last_patience_;
  std::optional<Ending> ending_;
  std::string word_;               // of the client's text message, as far as it has come
  bool has_client_ended_ = false;  // each side has said that it sends no more
  bool has_guest_ended_ = false;
  bool takes_no_more_ = false;  // the server inside
  std::int64_t bytes_in_ = 0;
  std::int64_t bytes_out_ = 0;
};

}  // namespace

awaitable<void> PortProxy::tunnel(Socket client, RequestHead head, PortCall call,
                                  Cancel gone) const {
  auto connection = co_await connect_or_answer(client, head, call, gone);
  if (!connection) co_return;
  const auto executor = co_await asio::this_coro::executor;
  // What is small and interactive must not wait for more to come.
  const int yes = 1;
  ::setsockopt(connection->socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  const auto guest = GuestStream::create(executor, std::move(connection->socket));
  const ChannelOptions options = {.max_message_bytes = 0,
                                  .handshake_timeout = ChannelOptions().handshake_timeout,
                                  .write_timeout = options_.idle_timeout(),
                                  .close_timeout = patience_with_goodbyes};
  const std::shared_ptr<LivingSandbox> living = call.sandbox->living();
  auto channel = Channel::create(std::move(client), options);
  const bool is_accepted = co_await channel->accept(head);
  if (!is_accepted) co_return;
  const auto session =
      std::make_shared<TunnelSession>(std::move(channel), guest, living, options_.idle_timeout());
  const auto told = [executor, weak = std::weak_ptr(session)](auto tell) {
    asio::post(executor, [weak, tell] {
      if (const auto self = weak.lock()) tell(*self);
    });
  };
  const Cancel::Listener on_over(living->over(), [told, living] {
    const bool is_stopped = living->cause_of_end() == LivingSandbox::Cause::stopping;
    told([is_stopped](TunnelSession& self) {
      if (is_stopped) {
        self.stop();
      } else {
        self.end(sandbox_has_ended);
      }
    });
  });
  const Cancel::Listener on_gone(gone, [told] { told([](TunnelSession& self) { self.stop(); }); });
  const Cancel::Listener on_renewal(
      call.access, [told] { told([](TunnelSession& self) { self.end(token_is_renewed); }); });
  co_await session->run();
  services_.logger.info("tunnel ended", {{"request_id", head.request_id},
                                         {"sandbox_id", call.sandbox->id()},
                                         {"port", std::int64_t{call.port}},
                                         {"bytes_in", session->bytes_in()},
                                         {"bytes_out", session->bytes_out()},
                                         {"why", session->why_ended()}});
}

}  // namespace server
