// Calls that end without a reply: the server's faults, time, cancelling, the client's end.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <netdb.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <optional>

#include "runtime/llm/http_client.h"
#include "tests/time_scale.h"
#include "tests/unit/llm/fetching.h"
#include "tests/unit/llm/loopback_server.h"

namespace runtime::llm {
namespace {

namespace asio = boost::asio;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;
using Peer = LoopbackServer::Peer;

// See getaddrinfo() below.
constexpr const char* slow_name = "slow.invalid";

constexpr const char* head_of_100 = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n";
constexpr const char* head_of_chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

// Sends something and then nothing. Counts the clients that leave by themselves.
class Hanging {
 public:
  explicit Hanging(std::string first = {}) : first_(std::move(first)) {}

  std::string url() const { return server_.url(); }
  int accepted() const { return server_.accepted(); }
  bool all_left_within(std::chrono::milliseconds time, int count) const {
    const auto end = Clock::now() + scaled(time);
    while (left_ != count && Clock::now() < end) std::this_thread::sleep_for(1ms);
    return left_ == count;
  }
  void await_requests(int count) const {
    const auto end = Clock::now() + scaled(10s);
    while (asked_ < count && Clock::now() < end) std::this_thread::sleep_for(1ms);
  }

 private:
  const std::string first_;
  std::atomic<int> asked_{0};
  std::atomic<int> left_{0};
  LoopbackServer server_{[this](Peer& peer) {
    peer.read_request();
    peer.send(first_);
    ++asked_;
    if (peer.left_within(30s)) ++left_;
  }};
};

class HttpEndTest : public ::testing::Test {
 protected:
  // Returns how late a call ends, by the best of some: in each one a thread may have to wait for a
  // processor.
  template <class Call>
  static Clock::duration shortest_delay(Call call) {
    auto least = Clock::duration::max();
    for (int i = 0; i < 10 && least >= 50ms; ++i) least = std::min<Clock::duration>(least, call());
    return least;
  }
  std::future<HttpOutcome> start(std::string url, FetchOptions options) {
    return loop_.spawn(client_->fetch(post(std::move(url), "{}"), std::move(options)));
  }
  std::string fetched(std::string url, FetchOptions options = within(10s)) {
    return told(start(std::move(url), std::move(options)).get());
  }
  std::string fetched_after(std::string first) {
    LoopbackServer server([&](Peer& peer) {
      peer.read_request();
      peer.send(first);
    });
    return fetched(server.url());
  }

  LoopThread loop_;
  std::optional<HttpClient> client_{std::in_place};
};

TEST_F(HttpEndTest, ServersThatBreakOff) {
  EXPECT_THAT(fetched_after(""), StartsWith("interrupted(0): http://127.0.0.1:"));
  EXPECT_THAT(fetched_after("HTTP/1.1 20"), StartsWith("interrupted(0): "));
  EXPECT_THAT(fetched_after(head_of_100), StartsWith("interrupted(200): "));
  EXPECT_THAT(fetched_after(head_of_100 + std::string(99, 'x')),
              StartsWith("interrupted(200, body began): "));
  EXPECT_THAT(fetched_after(std::string(head_of_chunks) + "5\r\nhello\r\n"),
              StartsWith("interrupted(200, body began): "));
}

TEST_F(HttpEndTest, ServersThatDoNotSpeakHttp) {
  EXPECT_THAT(fetched_after("SSH-2.0-OpenSSH\r\n"), MatchesRegex("(interrupted|unreachable).*"));
  EXPECT_THAT(fetched_after(std::string(head_of_chunks) + "zz\r\n"), StartsWith("interrupted(200"));
}

TEST_F(HttpEndTest, ASilentServerIsLeftAtTheDeadline) {
  const Hanging server;
  int calls = 0;
  const auto late = shortest_delay([&] {
    const auto deadline = Clock::now() + scaled(1s);
    FetchOptions options;
    options.deadline = deadline;
    EXPECT_THAT(fetched(server.url(), options),
                MatchesRegex("timed_out\\(0\\): .*no answer in time"));
    ++calls;
    return Clock::now() - deadline;
  });
  EXPECT_GE(late, 0ms);
  EXPECT_LT(late, 50ms);
  EXPECT_TRUE(server.all_left_within(1s, calls));
}

TEST_F(HttpEndTest, ATricklingServerIsLeftAtTheDeadline) {
  LoopbackServer server([](Peer& peer) {
    peer.read_request();
    peer.send(head_of_chunks);
    while (peer.send("1\r\nx\r\n")) std::this_thread::sleep_for(5ms);
  });
  std::size_t bytes = 0;
  const auto late = shortest_delay([&] {
    const auto deadline = Clock::now() + scaled(1s);
    FetchOptions options;
    options.deadline = deadline;
    options.on_body = [&](int, std::string_view piece) { bytes += piece.size(); };
    EXPECT_THAT(fetched(server.url(), options), StartsWith("timed_out(200, body began): "));
    return Clock::now() - deadline;
  });
  EXPECT_LT(late, 50ms);
  EXPECT_GT(bytes, 10u);
}

TEST_F(HttpEndTest, ADeadlineThatHasPassedConnectsNobody) {
  const Hanging server;
  EXPECT_THAT(fetched(server.url(), within(-1s)), StartsWith("timed_out(0): "));
  EXPECT_THAT(fetched(server.url(), {}), StartsWith("timed_out(0): "));
  EXPECT_EQ(server.accepted(), 0);
}

TEST_F(HttpEndTest, NoDeadlineAtAll) {
  LoopbackServer server([](Peer& peer) {
    peer.read_request();
    peer.send(reply_with("a"));
  });
  FetchOptions options;
  options.deadline = Clock::time_point::max();
  EXPECT_EQ(fetched(server.url(), options), "200 a");
}

TEST_F(HttpEndTest, ConnectingHasABoundOfItsOwn) {
  const DeafPort port;
  HttpClientOptions options;
  options.connect_timeout = 200ms;
  client_.emplace(std::move(options));
  const auto before = Clock::now();
  EXPECT_THAT(fetched(port.url()), StartsWith("unreachable(0): "));
  EXPECT_LT(Clock::now() - before, 2s);
}

TEST_F(HttpEndTest, EndlessBodies) {
  LoopbackServer server([](Peer& peer) {
    peer.read_request();
    peer.send(head_of_chunks);
    const std::string chunk = "10000\r\n" + std::string(65536, 'x') + "\r\n";
    while (peer.send(chunk)) {
    }
  });
  std::size_t bytes = 0;
  FetchOptions options = within(60s);
  options.on_body = [&](int, std::string_view piece) { bytes += piece.size(); };
  EXPECT_THAT(fetched(server.url(), options),
              MatchesRegex("too_large\\(200, body began\\): .*larger than 33554432 bytes"));
  EXPECT_LE(bytes, 32u << 20);
  EXPECT_GT(bytes, 31u << 20);
}

TEST_F(HttpEndTest, AReplyThatSaysThatItIsTooLargeIsNotRead) {
  const Hanging server("HTTP/1.1 200 OK\r\nContent-Length: 33554433\r\n\r\n");
  EXPECT_THAT(fetched(server.url()), StartsWith("too_large(200): "));
}

TEST_F(HttpEndTest, AReplyOfAllThatIsAllowed) {
  HttpClientOptions options;
  options.max_reply_bytes = 1000;
  client_.emplace(std::move(options));
  EXPECT_THAT(fetched_after(reply_with(std::string(1000, 'x'))), StartsWith("200 xxx"));
  EXPECT_THAT(fetched_after(reply_with(std::string(1001, 'x'))), StartsWith("too_large(200): "));
}

TEST_F(HttpEndTest, EndlessHeads) {
  LoopbackServer server([](Peer& peer) {
    peer.read_request();
    peer.send("HTTP/1.1 200 OK\r\n");
    while (peer.send("X-Padding: " + std::string(1000, 'x') + "\r\n")) {
    }
  });
  EXPECT_THAT(fetched(server.url()), MatchesRegex("too_large\\(200\\): .*head.*"));
}

TEST_F(HttpEndTest, CancelInTheBody) {
  const Hanging server(std::string(head_of_100) + "some");
  int calls = 0;
  const auto late = shortest_delay([&] {
    FetchOptions options = within(20s);
    std::atomic<int> pieces = 0;
    options.on_body = [&](int, std::string_view) { ++pieces; };
    auto outcome = start(server.url(), options);
    const auto patience = Clock::now() + scaled(10s);
    while (pieces == 0 && Clock::now() < patience) std::this_thread::sleep_for(1ms);
    const auto before = Clock::now();
    options.cancel.request();
    EXPECT_THAT(told(outcome.get()), StartsWith("cancelled(200, body began): "));
    const auto took = Clock::now() - before;
    ++calls;
    EXPECT_EQ(pieces, 1);
    return took;
  });
  EXPECT_LT(late, 50ms);
  EXPECT_TRUE(server.all_left_within(1s, calls));
}

// The connection is closed at once even while the caller's loop is busy.
TEST_F(HttpEndTest, CancelWhileTheCallerIsBusy) {
  const Hanging server;
  FetchOptions options = within(20s);
  auto outcome = start(server.url(), options);
  server.await_requests(1);
  std::promise<void> done;
  asio::post(loop_.loop(), [&] { done.get_future().wait(); });
  options.cancel.request();
  EXPECT_TRUE(server.all_left_within(1s, 1));
  done.set_value();
  EXPECT_THAT(told(outcome.get()), StartsWith("cancelled(0): "));
}

TEST_F(HttpEndTest, CancelWhileItConnects) {
  const DeafPort port;
  FetchOptions options = within(20s);
  auto outcome = start(port.url(), options);
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(outcome.wait_for(0s), std::future_status::timeout);
  options.cancel.request();
  EXPECT_THAT(told(outcome.get()), StartsWith("cancelled(0): "));
}

TEST_F(HttpEndTest, CancelFromWhereTheBodyGoes) {
  const Hanging server(std::string(head_of_100) + "some");
  FetchOptions options = within(20s);
  options.on_body = [cancel = options.cancel](int, std::string_view) { cancel.request(); };
  EXPECT_THAT(fetched(server.url(), options), StartsWith("cancelled(200, body began): "));
}

TEST_F(HttpEndTest, CancelledBeforeItBegan) {
  const Hanging server;
  FetchOptions options = within(20s);
  options.cancel.request();
  EXPECT_THAT(fetched(server.url(), options), StartsWith("cancelled(0): "));
  EXPECT_EQ(server.accepted(), 0);
}

TEST_F(HttpEndTest, CancelAfterTheEndDoesNothing) {
  LoopbackServer server([](Peer& peer) {
    peer.read_request();
    peer.send(reply_with("a"));
  });
  FetchOptions options = within(20s);
  EXPECT_EQ(fetched(server.url(), options), "200 a");
  options.cancel.request();
}

TEST_F(HttpEndTest, CancelledTheWayOfAsio) {
  const Hanging server;
  asio::cancellation_signal signal;
  std::promise<std::string> end;
  asio::co_spawn(loop_.loop(), client_->fetch(get(server.url()), within(20s)),
                 asio::bind_cancellation_slot(
                     signal.slot(), [&](const std::exception_ptr& error, HttpOutcome outcome) {
                       end.set_value(error ? "thrown" : told(outcome));
                     }));
  server.await_requests(1);
  asio::post(loop_.loop(), [&] { signal.emit(asio::cancellation_type::terminal); });
  EXPECT_THAT(end.get_future().get(), StartsWith("cancelled(0): "));
  EXPECT_TRUE(server.all_left_within(1s, 1));
}

TEST_F(HttpEndTest, TheEndOfTheClientEndsItsCalls) {
  const Hanging server(std::string(head_of_100) + "some");
  std::vector<std::future<HttpOutcome>> outcomes;
  for (int i = 0; i < 20; ++i) outcomes.push_back(start(server.url(), within(30s)));
  server.await_requests(20);
  client_.reset();
  for (auto& outcome : outcomes) EXPECT_THAT(told(outcome.get()), HasSubstr("the client goes"));
  EXPECT_TRUE(server.all_left_within(1s, 20));
}

TEST_F(HttpEndTest, TheEndOfTheClientWhileCallsBegin) {
  LoopbackServer server([](Peer& peer) {
    while (!peer.read_request().empty() && peer.send(reply_with("a"))) {
    }
  });
  for (int round = 0; round < 30; ++round) {
    client_.emplace();
    std::vector<std::future<HttpOutcome>> outcomes;
    for (int i = 0; i < 10; ++i) outcomes.push_back(start(server.url(), within(30s)));
    if (round % 3 != 0) std::this_thread::sleep_for(std::chrono::microseconds(100 * round));
    client_.reset();
    for (auto& outcome : outcomes) {
      EXPECT_THAT(told(outcome.get()), MatchesRegex("200 a|cancelled.*"));
    }
  }
}

TEST_F(HttpEndTest, ACallThatBeginsAfterTheEndOfTheClient) {
  const Hanging server;
  auto call = client_->fetch(get(server.url()), within(10s));
  client_.reset();
  EXPECT_THAT(told(loop_.spawn(std::move(call)).get()), HasSubstr("the client goes"));
  EXPECT_EQ(server.accepted(), 0);
}

// As at the end of a server that does not wait for its calls: the sleeping coroutines are destroyed
// with the loop.
TEST_F(HttpEndTest, TheEndOfTheCallersLoopEndsItsCalls) {
  const Hanging server(std::string(head_of_100) + "some");
  bool ended = false;
  {
    asio::io_context loop(1);
    asio::co_spawn(loop, client_->fetch(get(server.url()), within(30s)),
                   [&](const std::exception_ptr&, HttpOutcome) { ended = true; });
    while (server.accepted() == 0) loop.run_one_for(1ms);
    loop.run_for(50ms);
  }
  EXPECT_TRUE(server.all_left_within(1s, 1));
  EXPECT_FALSE(ended);
}

TEST_F(HttpEndTest, TheEndOfTheClientAndThenOfTheCallersLoop) {
  const Hanging server;
  asio::io_context loop(1);
  asio::co_spawn(loop, client_->fetch(get(server.url()), within(30s)), asio::detached);
  while (server.accepted() == 0) loop.run_one_for(1ms);
  client_.reset();
  EXPECT_TRUE(server.all_left_within(1s, 1));
}

TEST_F(HttpEndTest, ANameThatIsLookedUpHoldsNoEndUp) {
  auto outcome = start(std::string("http://") + slow_name, within(30s));
  std::this_thread::sleep_for(50ms);
  const auto before = Clock::now();
  client_.reset();
  EXPECT_LT(Clock::now() - before, 2s) << "the name takes three";
  EXPECT_THAT(told(outcome.get()), HasSubstr("the client goes"));
}

TEST_F(HttpEndTest, ANameThatIsLookedUpHoldsNoOtherCallUp) {
  LoopbackServer server([](Peer& peer) {
    peer.read_request();
    peer.send(reply_with("a"));
  });
  FetchOptions options = within(30s);
  auto outcome = start(std::string("http://") + slow_name, options);
  std::this_thread::sleep_for(50ms);
  // The look-up of the name takes three seconds.
  EXPECT_EQ(fetched(server.url(), within(2s)), "200 a");
  options.cancel.request();
  EXPECT_THAT(told(outcome.get()), StartsWith("cancelled(0): "));
  EXPECT_EQ(fetched(server.url(), within(2s)), "200 a");
}

TEST_F(HttpEndTest, ANameThatNobodyHas) {
  EXPECT_THAT(fetched("http://nowhere.invalid/x", within(30s)),
              StartsWith("unreachable(0): http://nowhere.invalid: "));
}

}  // namespace
}  // namespace runtime::llm

// Stands in for a name server that does not answer: a test cannot give the C library another one.
extern "C" __attribute__((visibility("default"))) int getaddrinfo(const char* name,
                                                                  const char* service,
                                                                  const addrinfo* req,
                                                                  addrinfo** pai) {
  const std::string_view asked = name == nullptr ? "" : name;
  if (asked.substr(asked.find('.') + 1) == "invalid") {
    if (asked == runtime::llm::slow_name) std::this_thread::sleep_for(std::chrono::seconds(3));
    return EAI_NONAME;
  }
  using Function = decltype(&::getaddrinfo);
  const auto real = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  return real(name, service, req, pai);
}
