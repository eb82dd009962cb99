#include "runtime/llm/http_provider.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <optional>
#include <string>

#include "runtime/llm/ollama_format.h"
#include "runtime/llm/openai_format.h"
#include "tests/time_scale.h"
#include "tests/unit/llm/awaiting.h"
#include "tests/unit/llm/loopback_server.h"

namespace runtime::llm {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* key = "sk-0123456789-abcdef";
constexpr const char* hello =
    R"({"model": "m1", "choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3}})";

class HttpProviderTest : public ::testing::Test {
 protected:
  // Answers the n-th request with the n-th reply, and repeats the last one.
  void serve(std::vector<std::string> replies) {
    server_.emplace([this, replies = std::move(replies)](LoopbackServer::Peer& peer) {
      for (;;) {
        const std::string request = peer.read_request();
        if (request.empty()) return;
        const std::lock_guard lock(mutex_);
        requests_.push_back(request);
        const std::string& reply = replies[std::min(requests_.size(), replies.size()) - 1];
        if (reply.empty() || !peer.send(reply)) return;
      }
    });
    base_url_ = server_->url("/v1");
  }

  Outcome<ChatResponse> ask(CallOptions options = {}, ChatRequest request = {}) {
    Endpoint endpoint;
    endpoint.provider = "openai";
    endpoint.base_url = base_url_;
    endpoint.api_key = Secret(key);
    endpoint.model = "gpt";
    provider_.emplace(std::move(endpoint), std::move(format_), client_);
    format_ = std::make_unique<OpenAiFormat>(Dialect::openai());
    return ask_again(std::move(options), std::move(request));
  }

  Outcome<ChatResponse> ask_again(CallOptions options = {}, ChatRequest request = {}) {
    boost::asio::io_context context;
    const Cancel cancel = options.cancel;
    boost::asio::steady_timer timer(context);
    if (cancel_after_) {
      timer.expires_after(*cancel_after_);
      timer.async_wait([cancel](auto error) {
        if (!error) cancel.request();
      });
    }
    Message message;
    message.text = "hi";
    request.messages.push_back(std::move(message));
    const auto started = std::chrono::steady_clock::now();
    auto result = await_on(context, provider_->complete(std::move(request), std::move(options)),
                           [&] { timer.cancel(); });
    took_ = std::chrono::steady_clock::now() - started;
    if (!result) {
      EXPECT_THAT(result.failure().message, Not(HasSubstr(key)));
    }
    return result;
  }

  static CallOptions within(std::chrono::milliseconds deadline) {
    CallOptions options;
    options.deadline = deadline;
    return options;
  }

  std::size_t requests() {
    const std::lock_guard lock(mutex_);
    return requests_.size();
  }

  std::mutex mutex_;
  std::vector<std::string> requests_;
  std::optional<LoopbackServer> server_;
  std::string base_url_;
  HttpClient client_;
  std::unique_ptr<const WireFormat> format_ = std::make_unique<OpenAiFormat>(Dialect::openai());
  std::optional<HttpProvider> provider_;
  std::optional<std::chrono::milliseconds> cancel_after_;
  std::chrono::steady_clock::duration took_{};
};

std::string error_reply(std::string_view status, std::string_view headers = "") {
  return reply_with(R"({"error": {"message": "no"}})", status, headers);
}

TEST_F(HttpProviderTest, AnswersWithTokensAndTime) {
  serve({reply_with(hello, "200 OK", "x-request-id: r-1\r\n")});
  const auto answer = ask();
  ASSERT_TRUE(answer) << answer.failure().message;
  EXPECT_EQ(answer->text, "hello");
  EXPECT_EQ(answer->model, "m1");
  EXPECT_EQ(answer->usage.input_tokens, 7u);
  EXPECT_EQ(answer->usage.output_tokens, 3u);
  EXPECT_EQ(answer->request_id, "r-1");
  EXPECT_EQ(answer->tries, 1u);
  EXPECT_THAT(requests_[0], HasSubstr("Authorization: Bearer sk-0123456789-abcdef"));
}

TEST_F(HttpProviderTest, RepeatsWhatPasses) {
  serve({error_reply("503 Service Unavailable"), error_reply("500 Oops"), reply_with(hello)});
  const auto answer = ask();
  ASSERT_TRUE(answer) << answer.failure().message;
  EXPECT_EQ(answer->tries, 3u);
  EXPECT_EQ(requests(), 3u);
  EXPECT_GE(took_, 1s);  // 0.5 s and 1 s, less a quarter
}

TEST_F(HttpProviderTest, DoesNotRepeatWhatStays) {
  serve({error_reply("400 Bad Request")});
  EXPECT_EQ(ask().failure().fault, Fault::bad_request);
  EXPECT_EQ(requests(), 1u);
}

TEST_F(HttpProviderTest, TheProvidersWordOnRepeatingWins) {
  serve({error_reply("503 Service Unavailable", "x-should-retry: false\r\n")});
  EXPECT_EQ(ask().failure().tries, 1u);
  serve({error_reply("400 Bad Request", "x-should-retry: true\r\nretry-after-ms: 1\r\n")});
  requests_.clear();
  EXPECT_EQ(ask().failure().tries, 3u);
}

TEST_F(HttpProviderTest, WaitsAsAskedAndNotPastTheDeadline) {
  serve({error_reply("429 Too Many Requests", "retry-after-ms: 300\r\n"), reply_with(hello)});
  const auto answer = ask();
  ASSERT_TRUE(answer) << answer.failure().message;
  EXPECT_GE(took_, 300ms);

  serve({error_reply("429 Too Many Requests", "Retry-After: 30\r\n")});
  requests_.clear();
  const auto failure = ask(within(20s)).failure();
  EXPECT_EQ(failure.fault, Fault::rate_limited);
  EXPECT_EQ(failure.status, 429);
  EXPECT_EQ(failure.retry_after, 30s);
  EXPECT_THAT(failure.message, HasSubstr("try again in 30 s"));
  EXPECT_LT(took_, 15s);
}

TEST_F(HttpProviderTest, WhoRefusesTheConnectionIsNamedWhateverTheDeadline) {
  std::uint16_t port = 0;
  const jail::Fd held = bound_socket(port);  // which listens to nobody
  base_url_ = "http://127.0.0.1:" + std::to_string(port) + "/v1";
  // The wait before the second try is 375 to 500 ms, the one before the third twice that.
  for (const auto& [deadline, tries] :
       {std::pair{400ms, 1u}, std::pair{1'200ms, 2u}, std::pair{3'000ms, 3u}}) {
    const auto failure = ask(within(deadline)).failure();
    EXPECT_EQ(failure.fault, Fault::unavailable);
    EXPECT_THAT(failure.message,
                HasSubstr("could not be reached at " + base_url_ + " (OPENAI_BASE_URL)"));
    EXPECT_LE(failure.tries, tries);
    EXPECT_LT(took_, deadline + scaled(3s));
  }
}

TEST_F(HttpProviderTest, WhoBesideUsRefusesIsNotWaitedFor) {
  std::uint16_t port = 0;
  const jail::Fd held = bound_socket(port);
  base_url_ = "http://127.0.0.1:" + std::to_string(port);
  format_ = std::make_unique<OllamaFormat>();
  EXPECT_EQ(ask().failure().tries, 1u);
}

TEST_F(HttpProviderTest, ADeafProviderTimesOut) {
  const DeafPort deaf;
  base_url_ = deaf.url();
  const auto failure = ask(within(400ms)).failure();
  EXPECT_EQ(failure.fault, Fault::timed_out);
  EXPECT_THAT(failure.message, HasSubstr("no answer within 0.4 s"));
  EXPECT_LT(took_, scaled(3s));
}

TEST_F(HttpProviderTest, AWaitIsCutShortByCancelling) {
  serve({error_reply("429 Too Many Requests", "Retry-After: 20\r\n")});
  cancel_after_ = 200ms;
  EXPECT_EQ(ask().failure().fault, Fault::cancelled);
  EXPECT_LT(took_, 5s);
}

TEST_F(HttpProviderTest, WhatWasSaidIsNotSaidAgain) {
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
  const std::string piece = "data: {\"choices\": [{\"delta\": {\"content\": \"hel\"}}]}\n\n";
  serve({head + piece});
  std::string said;
  CallOptions options;
  options.on_text = [&](std::string_view text) { said += text; };
  // The connection closes after the piece.
  server_.emplace([head, piece, this](LoopbackServer::Peer& peer) {
    if (peer.read_request().empty()) return;
    {
      const std::lock_guard lock(mutex_);
      requests_.emplace_back();
    }
    peer.send(head + piece);
  });
  base_url_ = server_->url("/v1");
  const auto failure = ask(options).failure();
  EXPECT_EQ(failure.fault, Fault::interrupted);
  EXPECT_EQ(said, "hel");
  EXPECT_EQ(requests(), 1u);
}

// For a server that never ends its stream: at the deadline an answer with its last word is
// complete, and one without it is not.
TEST_F(HttpProviderTest, AnAnswerIsWholeAtItsLastWordThoughNobodyHangsUp) {
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
  const std::string piece =
      "data: {\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":null}]}\n\n";
  const std::string end = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
  for (const std::string& said : {piece, piece + end}) {
    serve({head + said});
    // The complete one comes in time on a busy host, too.
    CallOptions options = within(said == piece ? 200ms : 2s);
    options.on_text = [](std::string_view) {};
    const auto answer = ask(std::move(options));
    EXPECT_EQ(static_cast<bool>(answer), said != piece);
    if (answer) {
      EXPECT_EQ(answer->text, "x");
    } else {
      EXPECT_EQ(answer.failure().fault, Fault::timed_out);
    }
  }
}

// An answer that has its last word is accepted, whatever the connection does then.
TEST_F(HttpProviderTest, AStreamEndsAtItsLastWordAndNotWithTheConnection) {
  const std::string said =
      "data: {\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\n"
      "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":3}}\n\n"
      "data: [DONE]\n\n";
  serve({"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + said});
  CallOptions options = within(10s);
  options.on_text = [](std::string_view) {};
  const auto answer = ask(std::move(options));
  ASSERT_TRUE(answer) << answer.failure().message;
  EXPECT_EQ(answer->text, "x");
  EXPECT_EQ(answer->usage.output_tokens, 3u);
  EXPECT_LT(took_, 3s);
}

TEST_F(HttpProviderTest, AWholeReplyKeepsItsConnectionAndItsHead) {
  const std::string said =
      "data: {\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\n"
      "data: [DONE]\n\n";
  serve({reply_with(said, "200 OK", "Content-Type: text/event-stream\r\nx-request-id: r-1\r\n")});
  for (int i = 0; i < 2; ++i) {
    CallOptions options;
    options.on_text = [](std::string_view) {};
    const auto answer = i == 0 ? ask(std::move(options)) : ask_again(std::move(options));
    ASSERT_TRUE(answer) << answer.failure().message;
    EXPECT_EQ(answer->request_id, "r-1");
  }
  EXPECT_EQ(server_->accepted(), 1);
}

TEST_F(HttpProviderTest, AnErrorWithinAStreamThatSaidNothingIsRepeated) {
  const std::string events = "data: {\"error\": {\"code\": 502, \"message\": \"overloaded\"}}\n\n";
  serve({reply_with(events, "200 OK", "Content-Type: text/event-stream\r\n")});
  CallOptions options;
  options.on_text = [](std::string_view) {};
  const auto failure = ask(options).failure();
  EXPECT_EQ(failure.fault, Fault::unavailable);
  EXPECT_EQ(failure.status, 502);
  EXPECT_EQ(failure.tries, 3u);
}

TEST_F(HttpProviderTest, ASchemaThatIsRefusedIsAskedForFromThenOn) {
  serve({reply_with(R"({"error": {"message": "`response_format` is not supported"}})",
                    "400 Bad Request"),
         reply_with(hello)});
  ChatRequest request;
  request.schema = {.name = "answer", .schema = R"({"type": "object"})"};
  const auto answer = ask({}, request);
  ASSERT_TRUE(answer) << answer.failure().message;
  EXPECT_EQ(answer->tries, 2u);
  EXPECT_THAT(requests_[0], HasSubstr("json_schema"));
  EXPECT_THAT(requests_[1], Not(HasSubstr("json_schema")));
  EXPECT_THAT(requests_[1], HasSubstr("valid by the JSON schema below"));
  EXPECT_TRUE(ask_again({}, request));
  EXPECT_EQ(requests(), 3u);
}

TEST_F(HttpProviderTest, WhatEchoesTheKeyIsRedacted) {
  serve({reply_with("{\"error\": {\"message\": \"bad key sk-0123456789-abcdef\"}}",
                    "401 Unauthorized")});
  EXPECT_EQ(ask().failure().message, "openai: 401 bad key [redacted]; check OPENAI_API_KEY");
  serve({reply_with("<html>sk-0123456789-abcdef</html>")});
  const auto failure = ask().failure();
  EXPECT_EQ(failure.fault, Fault::malformed);
  EXPECT_EQ(failure.status, 200);
  EXPECT_THAT(failure.message, HasSubstr("<html>[redacted]</html>"));
}

TEST_F(HttpProviderTest, WhatCannotBeWrittenIsNotSent) {
  serve({reply_with(hello)});
  ChatRequest request;
  request.model = "../../etc";
  EXPECT_EQ(ask({}, request).failure().fault, Fault::bad_request);
  request.model = "a b\r\nX: y";
  EXPECT_EQ(ask({}, request).failure().fault, Fault::bad_request);
  request.model.clear();
  request.schema = {.name = "answer", .schema = R"({"type": )"};
  EXPECT_EQ(ask({}, request).failure().fault, Fault::bad_request);
  request.schema.reset();
  request.tools.push_back({.name = "t", .description = "", .parameters = "[]"});
  EXPECT_EQ(ask({}, request).failure().fault, Fault::bad_request);
  EXPECT_EQ(requests(), 0u);
}

}  // namespace
}  // namespace runtime::llm
