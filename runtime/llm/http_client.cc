#include "runtime/llm/http_client.h"

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <optional>

#include "runtime/llm/curl_loop.h"
#include "runtime/llm/http_call.h"
#include "runtime/llm/http_text.h"

namespace runtime::llm {
namespace {

namespace asio = boost::asio;

// Exists as long as somebody awaits the call.
class Presence {
 public:
  Presence(std::shared_ptr<CurlLoop> loop, std::shared_ptr<HttpCall> call, Cancel cancel)
      : loop_(std::move(loop)), call_(std::move(call)), on_cancel_(std::move(cancel), [this] {
          call_->cancel();
          loop_->drop(call_);
        }) {}
  ~Presence() {
    call_->leave();
    loop_->drop(call_);
  }
  Presence(const Presence&) = delete;
  Presence& operator=(const Presence&) = delete;

 private:
  const std::shared_ptr<CurlLoop> loop_;
  const std::shared_ptr<HttpCall> call_;
  const Cancel::Listener on_cancel_;
};

// A reply that has nothing more to say ends within this time.
constexpr std::chrono::milliseconds moment{100};

HttpOutcome fault(HttpFault::Kind kind, const std::string& origin, const std::string& text,
                  int status, const std::string& body) {
  return HttpFault{
      .kind = kind, .text = origin + ": " + text, .status = status, .body_began = !body.empty()};
}

// Adds to the network's outcome what only this side knows.
HttpOutcome complete(HttpOutcome end, const std::string& origin, std::string body) {
  if (auto* reply = std::get_if<HttpReply>(&end)) {
    reply->body = std::move(body);
  } else if (auto* failed = std::get_if<HttpFault>(&end)) {
    failed->text = origin + ": " + failed->text;
    failed->body_began = !body.empty();
  }
  return end;
}

asio::awaitable<HttpOutcome> run(std::shared_ptr<CurlLoop> loop, HttpRequest request,
                                 FetchOptions options) {
  const std::string origin = origin_of(request.url);
  if (const auto obstacle = obstacle_in(request)) {
    co_return fault(HttpFault::unreachable, origin, *obstacle, 0, {});
  }
  if (options.cancel.requested()) {
    co_return fault(HttpFault::cancelled, origin, "cancelled", 0, {});
  }
  const auto executor = co_await asio::this_coro::executor;
  const auto call = std::make_shared<HttpCall>(executor);
  const Presence presence(loop, call, options.cancel);
  if (HttpCall::Clock::now() < options.deadline) loop->begin(call, std::move(request));
  std::string body;
  auto deadline = options.deadline;
  bool enough = false;
  for (;;) {
    co_await call->wait(deadline);
    const auto asked = (co_await asio::this_coro::cancellation_state).cancelled();
    HttpCall::News news = call->take();
    if (news.cancelled || asked != asio::cancellation_type::none) {
      co_return fault(HttpFault::cancelled, origin, "cancelled", news.status, body);
    }
    if (!news.bytes.empty()) {
      body += news.bytes;
      if (options.on_body) options.on_body(news.status, news.bytes);
    }
    if (news.end) co_return complete(std::move(*news.end), origin, std::move(body));
    const auto now = HttpCall::Clock::now();
    if (!enough && options.has_enough && options.has_enough()) {
      enough = true;
      deadline = std::min(deadline, now + moment);
    }
    if (now >= deadline && enough) {
      HttpReply reply;
      reply.status = news.status;
      reply.body = std::move(body);
      co_return reply;
    }
    if (now >= deadline) {
      const std::string text = body.empty() ? "no answer in time" : "no end of the answer in time";
      co_return fault(HttpFault::timed_out, origin, text, news.status, body);
    }
  }
}

}  // namespace

const std::string* HttpReply::header(std::string_view name) const noexcept {
  const auto found = std::find_if(headers.begin(), headers.end(),
                                  [&](const auto& header) { return header.first == name; });
  return found == headers.end() ? nullptr : &found->second;
}

HttpClient::HttpClient(HttpClientOptions options)
    : loop_(std::make_shared<CurlLoop>(std::move(options))) {}

HttpClient::~HttpClient() { loop_->close(); }

asio::awaitable<HttpOutcome> HttpClient::fetch(HttpRequest request, FetchOptions options) {
  return run(loop_, std::move(request), std::move(options));
}

}  // namespace runtime::llm
