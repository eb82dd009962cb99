// WS /stream: one program, its output as it comes; or one task, step by step.
#include <boost/asio/dispatch.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <functional>
#include <memory>
#include <utility>
#include <variant>

#include "runtime/json/writer.h"
#include "server/api/decode.h"
#include "server/api/live_run.h"
#include "server/api/route_groups.h"
#include "server/websocket/channel.h"

namespace server {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using asio::experimental::awaitable_operators::operator&&;
using runtime::json::Writer;

constexpr std::chrono::milliseconds request_timeout{30'000};
// The time for the last messages once the server cannot wait any longer.
constexpr std::chrono::milliseconds last_words{2'000};

// Sends events as text messages.
class ChannelEvents final : public EventSink {
 public:
  explicit ChannelEvents(Channel& channel) : channel_(channel) {}

  asio::any_io_executor executor() override { return channel_.executor(); }
  awaitable<bool> write(std::string event) override {
    co_return co_await channel_.write(std::move(event));
  }

 private:
  Channel& channel_;
};

// Everything except the callbacks of the run happens on the channel's strand.
class StreamSession final : public std::enable_shared_from_this<StreamSession> {
 public:
  StreamSession(std::unique_ptr<Channel> channel, runtime::Services services,
                const runtime::RequestRules& rules, runtime::Caller caller, BodyBudget& budget)
      : channel_(std::move(channel)),
        services_(services),
        rules_(rules),
        caller_(std::move(caller)),
        share_(budget),
        sink_(*channel_),
        events_(std::make_shared<LiveEvents>(sink_, LiveEvents::Backlog::pauses)),
        deadline_(channel_->executor()) {}

  awaitable<void> serve(RequestHead head, runtime::Cancel draining, runtime::Cancel gone) {
    if (!co_await channel_->accept(head)) co_return;
    Writer connected;
    connected.begin_object().key("request_id").string(caller_.request_id).end_object();
    events_->send("connected", std::move(connected).take());
    fail_after(request_timeout, problem(RefusalCode::request_timeout, "no request came in time"));
    const runtime::Cancel::Listener on_drain(draining, post_to(&StreamSession::drain));
    const runtime::Cancel::Listener on_gone(gone, post_to(&StreamSession::hurry));
    co_await (write() && converse());
    deadline_.cancel();
  }

 private:
  std::function<void()> post_to(void (StreamSession::*what)()) {
    return [weak = weak_from_this(), what] {
      const auto self = weak.lock();
      if (self == nullptr) return;
      asio::dispatch(self->channel_->executor(), [self, what] { ((*self).*what)(); });
    };
  }

  awaitable<void> write() {
    const bool is_all_sent = co_await events_->writer().run();
    if (!is_all_sent) co_return;
    co_await channel_->close(code_);
  }

  // Sends the failure after that time, unless the request has come by then.
  void fail_after(std::chrono::milliseconds time, Response why) {
    deadline_.expires_after(time);
    deadline_.async_wait([weak = weak_from_this(), why](boost::system::error_code error) {
      const auto self = weak.lock();
      if (!error && self != nullptr && self->waiting_) self->fail(why);
    });
  }

  void drain() {
    if (waiting_) fail(stopping(), CloseCode::going_away);
  }

  // Called when nobody waits for the program any more: it must not wait for its client either.
  void hurry() {
    cancel_.request();
    drain();
    deadline_.expires_after(last_words);
    deadline_.async_wait([weak = weak_from_this()](boost::system::error_code error) {
      const auto self = weak.lock();
      if (!error && self != nullptr) self->channel_->abort();
    });
  }

  void fail(const Response& why) { fail(why, close_code_of(why.status)); }

  void fail(const Response& why, CloseCode code) {
    waiting_ = false;
    if (events_->is_over()) return;
    code_ = code;
    events_->end("error", why.body);
  }

  awaitable<void> converse() {
    Channel::Message message = co_await channel_->read(share_);
    if (!std::exchange(waiting_, false)) co_return;
    deadline_.cancel();
    if (message.kind == Channel::Message::Kind::closed) {
      events_->stop();
      co_return;
    }
    if (message.kind == Channel::Message::Kind::too_large) {
      fail(problem(RefusalCode::content_too_large, "the request is too large"));
      co_return;
    }
    auto decoded = decode_execute(message.bytes, rules_);
    message.bytes = std::string();
    if (const auto* refusal = std::get_if<Response>(&decoded)) {
      fail(*refusal);
      co_return;
    }
    ExecuteRequest request = request_of(std::move(decoded));
    co_await (run(std::move(request)) && watch());
  }

  // Cancels the run of a client that leaves. A further message breaks the rules.
  awaitable<void> watch() {
    const auto message = co_await channel_->read(share_);
    if (message.kind != Channel::Message::Kind::closed) {
      fail(problem(RefusalCode::bad_request, "expected one request a connection"));
    }
    cancel_.request();
  }

  awaitable<void> run(ExecuteRequest request) {
    const auto refusal =
        co_await run_live(services_, caller_, std::move(request), cancel_, events_);
    if (refusal) fail(problem(*refusal));
  }

  const std::unique_ptr<Channel> channel_;
  const runtime::Services services_;
  const runtime::RequestRules& rules_;
  const runtime::Caller caller_;
  BodyBudget::Share share_;
  const runtime::Cancel cancel_;
  ChannelEvents sink_;
  const std::shared_ptr<LiveEvents> events_;
  asio::steady_timer deadline_;
  CloseCode code_ = CloseCode::normal;
  bool waiting_ = true;  // for the request
};

awaitable<void> serve_stream(runtime::Services services, const runtime::RequestRules* rules,
                             Upgrade upgrade) {
  Call& call = upgrade.call;
  runtime::Caller caller = caller_of(call);
  const auto session =
      std::make_shared<StreamSession>(Channel::create(std::move(upgrade.socket), {}), services,
                                      *rules, std::move(caller), upgrade.budget);
  co_await session->serve(std::move(call.head), upgrade.draining, std::move(call.gone));
}

}  // namespace

void add_stream_routes(const RouteParts& parts) {
  using Versions = Route::Versions;
  const UpgradeHandler serve = [services = parts.services, rules = &parts.rules](Upgrade upgrade) {
    return serve_stream(services, rules, std::move(upgrade));
  };
  parts.table.add({"GET",
                   "/stream",
                   Access::key(Scope::execute),
                   Cost::program,
                   {},
                   QueryNames(),
                   Versions::both,
                   {},
                   Route::Body::whole,
                   Route::Leads::here,
                   serve});
  parts.table.add({"GET",
                   "/ws/stream",
                   Access::key(Scope::execute),
                   Cost::program,
                   {},
                   QueryNames(),
                   Versions::plain,
                   "/stream",
                   Route::Body::whole,
                   Route::Leads::here,
                   serve});
}

}  // namespace server
