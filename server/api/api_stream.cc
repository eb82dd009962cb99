// WS /stream: one program, its output as it comes; or one task, step by step.
#include <array>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <functional>
#include <memory>
#include <utility>
#include <variant>

#include "runtime/json/base64.h"
#include "runtime/json/writer.h"
#include "runtime/service/programs.h"
#include "runtime/service/tasks.h"
#include "server/api/api.h"
#include "server/api/guard.h"
#include "server/api/refusals.h"
#include "server/websocket/event_writer.h"
#include "server/websocket/utf8_chunks.h"

namespace server {
namespace {

namespace agent = runtime::agent;
namespace asio = boost::asio;
using asio::awaitable;
using asio::experimental::awaitable_operators::operator&&;
using runtime::json::Writer;

constexpr std::chrono::milliseconds heartbeat{15'000};
constexpr std::chrono::milliseconds request_timeout{30'000};
// Once the server cannot wait any longer.
constexpr std::chrono::milliseconds last_words{2'000};
// Of output that waits for the client: where reading it pauses, and where it goes on.
constexpr std::size_t high_water = 512u << 10;
constexpr std::size_t low_water = 128u << 10;

// Everything but the callbacks of the run happens on the channel's strand.
class StreamSession final : public std::enable_shared_from_this<StreamSession> {
 public:
  StreamSession(std::unique_ptr<Channel> channel, runtime::Services services,
                const runtime::RequestRules& rules, runtime::Caller caller, BodyBudget& budget)
      : channel_(std::move(channel)),
        services_(services),
        rules_(rules),
        caller_(std::move(caller)),
        share_(budget),
        flow_(gate_, high_water, low_water),
        writer_(*channel_, flow_, heartbeat),
        deadline_(channel_->executor()) {}

  awaitable<void> serve(RequestHead head, runtime::Cancel draining, runtime::Cancel gone) {
    if (!co_await channel_->accept(head)) co_return;
    Writer connected;
    connected.begin_object().key("request_id").string(caller_.request_id).end_object();
    writer_.send("connected", std::move(connected).take());
    fail_after(request_timeout, problem(408, "no request came in time"));
    const runtime::Cancel::Listener on_drain(draining, post_to(&StreamSession::drain));
    const runtime::Cancel::Listener on_gone(gone, post_to(&StreamSession::hurry));
    co_await (writer_.run() && converse());
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

  // Until the request is there.
  void fail_after(std::chrono::milliseconds time, Response why) {
    deadline_.expires_after(time);
    deadline_.async_wait([weak = weak_from_this(), why](boost::system::error_code error) {
      const auto self = weak.lock();
      if (!error && self != nullptr && self->waiting_) self->fail(why);
    });
  }

  void drain() {
    if (waiting_)
      fail(problem(503, "the server is stopping", {}, {.code = "stopping"}), CloseCode::going_away);
  }

  // Nobody waits for the program any more: neither does it for its client.
  void hurry() {
    cancel_.request();
    drain();
    deadline_.expires_after(last_words);
    deadline_.async_wait([weak = weak_from_this()](boost::system::error_code error) {
      const auto self = weak.lock();
      if (!error && self != nullptr) self->channel_->abort();
    });
  }

  // The first end counts: a stream has one.
  void end(std::string_view type, std::string_view data, CloseCode code) {
    if (std::exchange(over_, true)) return;
    writer_.send(type, data);
    writer_.finish(code);
  }

  void fail(const Response& why) {
    CloseCode code = why.status >= 500 ? CloseCode::own_failure : CloseCode::policy;
    if (why.status == 413) code = CloseCode::too_large;
    if (why.status == 429 || why.status == 503) code = CloseCode::try_later;
    fail(why, code);
  }

  void fail(const Response& why, CloseCode code) {
    waiting_ = false;
    end("error", why.body, code);
  }

  awaitable<void> converse() {
    Channel::Message message = co_await channel_->read(share_);
    if (!std::exchange(waiting_, false)) co_return;
    deadline_.cancel();
    if (message.kind == Channel::Message::Kind::closed) {
      over_ = true;
      writer_.finish(CloseCode::normal);
      co_return;
    }
    if (message.kind == Channel::Message::Kind::too_large) {
      fail(problem(413, "the request is too large"));
      co_return;
    }
    auto decoded = decode_execute(message.text, rules_);
    message.text = std::string();
    if (const auto* refusal = std::get_if<Response>(&decoded)) {
      fail(*refusal);
      co_return;
    }
    if (auto* task = std::get_if<agent::TaskRequest>(&decoded)) {
      co_await (solve(std::move(*task)) && watch());
    } else {
      co_await (run(std::move(std::get<runtime::RunRequest>(decoded))) && watch());
    }
  }

  // A client that goes away cancels its run. One that says more breaks the rules.
  awaitable<void> watch() {
    const auto message = co_await channel_->read(share_);
    if (message.kind != Channel::Message::Kind::closed) {
      fail(problem(400, "expected one request a connection"));
    }
    cancel_.request();
  }

  awaitable<void> run(runtime::RunRequest request) {
    const runtime::Execution execution = runtime::make_execution();
    encoding_ = request.output_encoding;
    started_ = start_of(execution, request);
    runtime::RunOptions options;
    options.cancel = cancel_;
    options.gate = gate_;
    options.on_start = post_to(&StreamSession::say_started);
    options.on_output = [self = shared_from_this()](runtime::Stream stream,
                                                    std::string_view bytes) {
      self->flow_.add(bytes.size());
      asio::dispatch(self->channel_->executor(),
                     [self, stream, bytes = std::string(bytes)] { self->output(stream, bytes); });
    };
    const auto ran = co_await runtime::run_program(services_, caller_, execution,
                                                   std::move(request), std::move(options));
    if (const auto* refusal = std::get_if<runtime::Refusal>(&ran)) {
      fail(response_of(*refusal));
      co_return;
    }
    for (const auto stream : {runtime::Stream::standard_output, runtime::Stream::standard_error}) {
      say(stream, chunks_of(stream).finish(), 0);
    }
    const auto& result = std::get<runtime::ProgramOutcome>(ran);
    if (!over_) writer_.send("execution_result", result.result);
    Writer complete;
    complete.begin_object().key("job_id").string(execution.id);
    complete.key("status").string(runtime::to_string(result.status));
    complete.key("success").boolean(result.status == runtime::Status::success).end_object();
    end("complete", std::move(complete).take(), CloseCode::normal);
  }

  awaitable<void> solve(agent::TaskRequest request) {
    const runtime::Execution execution = runtime::make_execution();
    started_ = start_of(execution);
    agent::TaskOptions options;
    options.cancel = cancel_;
    options.gate = gate_;
    options.on_event = [self = shared_from_this()](const agent::Event& event) {
      self->flow_.add(event.data.size());
      asio::dispatch(self->channel_->executor(), [self, event] { self->step(event); });
    };
    const auto ran = co_await runtime::run_task(services_, caller_, execution, std::move(request),
                                                std::move(options));
    if (const auto* refusal = std::get_if<runtime::Refusal>(&ran)) {
      fail(response_of(*refusal));
      co_return;
    }
    say_started();
    end("complete", std::get<runtime::TaskOutcome>(ran).result, CloseCode::normal);
  }

  void step(const agent::Event& event) {
    if (over_) {
      flow_.remove(event.data.size());
      return;
    }
    say_started();
    writer_.send(agent::name_of(event.type), event.data, event.data.size());
  }

  static std::string start_of(const runtime::Execution& execution,
                              const runtime::RunRequest& request) {
    Writer writer;
    writer.begin_object().key("job_id").string(execution.id);
    writer.key("language").string(runtime::name_of(request.language)).end_object();
    return std::move(writer).take();
  }

  static std::string start_of(const runtime::Execution& execution) {
    Writer writer;
    writer.begin_object().key("job_id").string(execution.id).key("kind").string(runtime::task_job);
    writer.end_object();
    return std::move(writer).take();
  }

  void say_started() {
    if (!over_ && !started_.empty()) writer_.send("started", std::exchange(started_, {}));
  }

  Utf8Chunks& chunks_of(runtime::Stream stream) {
    return chunks_[stream == runtime::Stream::standard_output ? 0 : 1];
  }

  void output(runtime::Stream stream, const std::string& bytes) {
    const bool as_text = encoding_ == runtime::OutputEncoding::utf8;
    say(stream, as_text ? chunks_of(stream).add(bytes) : bytes, bytes.size());
  }

  // `taken`: bytes of the flow that end here or with the event.
  void say(runtime::Stream stream, const std::string& bytes, std::size_t taken) {
    if (bytes.empty() || over_) {
      flow_.remove(taken);
      return;
    }
    Writer writer;
    encoding_ == runtime::OutputEncoding::utf8 ? writer.string(bytes) : writer.base64(bytes);
    const bool out = stream == runtime::Stream::standard_output;
    writer_.send(out ? "stdout" : "stderr", std::move(writer).take(), taken);
  }

  const std::unique_ptr<Channel> channel_;
  const runtime::Services services_;
  const runtime::RequestRules& rules_;
  const runtime::Caller caller_;
  BodyBudget::Share share_;
  const runtime::OutputGate gate_;
  const runtime::Cancel cancel_;
  OutputFlow flow_;
  EventWriter writer_;
  asio::steady_timer deadline_;
  std::string started_;
  std::array<Utf8Chunks, 2> chunks_;
  runtime::OutputEncoding encoding_ = runtime::OutputEncoding::utf8;
  bool waiting_ = true;  // for the request
  bool over_ = false;    // the last event is said
};

bool lists(std::string_view header, std::string_view word) {
  while (!header.empty()) {
    std::string_view item = header.substr(0, header.find(','));
    header.remove_prefix(std::min(item.size() + 1, header.size()));
    while (item.starts_with(' ')) item.remove_prefix(1);
    while (item.ends_with(' ')) item.remove_suffix(1);
    if (equal_ignoring_case(item, word)) return true;
  }
  return false;
}

}  // namespace

std::optional<Response> Api::admit_stream(const RequestHead& head) const {
  if (!is_own_origin(head, options_.allowed_hosts)) {
    return problem(403,
                   "Origin: pages of other sites may not use this server; "
                   "API_ALLOWED_HOSTS adds names");
  }
  if (!lists(head.header("Connection").value_or(""), "upgrade") ||
      !lists(head.header("Upgrade").value_or(""), "websocket")) {
    return problem(426, "this path speaks WebSocket", {{"Upgrade", "websocket"}});
  }
  constexpr std::size_t key_bytes = 16;  // RFC 6455, section 4.2.1
  const auto key = runtime::json::decode_base64(head.header("Sec-WebSocket-Key").value_or(""));
  if (!key || key->size() != key_bytes) {
    return problem(400, "Sec-WebSocket-Key: expected 16 bytes in base64");
  }
  return std::nullopt;
}

awaitable<void> Api::upgrade(Socket socket, Request request, BodyBudget& budget,
                             runtime::Cancel gone) {
  const auto* const matched = static_cast<const Matched*>(request.context.get());
  runtime::Caller caller{*matched->principal, request.head.request_id};
  auto channel = Channel::create(std::move(socket), {});
  const auto session = std::make_shared<StreamSession>(std::move(channel), services_,
                                                       options_.execute, std::move(caller), budget);
  co_await session->serve(std::move(request.head), draining_, std::move(gone));
}

}  // namespace server
