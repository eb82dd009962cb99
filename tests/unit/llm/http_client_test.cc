#include "runtime/llm/http_client.h"

#include <dirent.h>
#include <fcntl.h>
#include <gmock/gmock.h>

#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <cstdlib>
#include <mutex>
#include <set>

#include "tests/unit/llm/fetching.h"
#include "tests/unit/llm/loopback_server.h"

namespace runtime::llm {
namespace {

namespace asio = boost::asio;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;
using Peer = LoopbackServer::Peer;

// Answers every request of a connection with the request itself.
void echo(Peer& peer) {
  for (;;) {
    const std::string request = peer.read_request();
    if (request.empty() || !peer.send(reply_with(request))) return;
  }
}

LoopbackServer::Handler answer_with(std::string reply) {
  return [reply = std::move(reply)](Peer& peer) {
    while (!peer.read_request().empty() && peer.send(reply)) {
    }
  };
}

class HttpClientTest : public ::testing::Test {
 protected:
  HttpOutcome fetch(HttpRequest request, FetchOptions options = within(10s)) {
    return loop_.spawn(client_.fetch(std::move(request), std::move(options))).get();
  }
  std::string fetched(HttpRequest request) { return told(fetch(std::move(request))); }

  LoopThread loop_;
  HttpClient client_;
};

TEST_F(HttpClientTest, AnAddressIsJudgedBeforeItIsConnectedTo) {
  LoopbackServer server(echo);
  std::mutex mutex;
  std::vector<int> families;
  HttpClientOptions options;
  options.may_connect = [&](const sockaddr& address) {
    const std::lock_guard lock(mutex);
    families.push_back(address.sa_family);
    return false;
  };
  HttpClient client(std::move(options));
  const auto outcome = loop_.spawn(client.fetch(post(server.url("/"), "x"), within(10s))).get();
  EXPECT_THAT(told(outcome), MatchesRegex("forbidden\\(0\\): http://127.0.0.1:[0-9]+: it is at an "
                                          "address that may not be connected to"));
  EXPECT_THAT(families, ElementsAre(AF_INET));
}

TEST_F(HttpClientTest, ARequestAsItIsSent) {
  LoopbackServer server(echo);
  HttpRequest request = post(server.url("/v1/chat?x=1"), std::string("{\0}", 3));
  request.headers.emplace_back("X-Empty", "");
  const HttpOutcome outcome = fetch(std::move(request));
  const std::string sent = std::get<HttpReply>(outcome).body;
  EXPECT_THAT(sent, StartsWith("POST /v1/chat?x=1 HTTP/1.1\r\n"));
  EXPECT_THAT(sent, HasSubstr("\r\nAuthorization: Bearer SECRET\r\n"));
  EXPECT_THAT(sent, HasSubstr("\r\nContent-Type: application/json\r\n"));
  EXPECT_THAT(sent, HasSubstr("\r\nX-Empty:\r\n"));
  EXPECT_THAT(sent, HasSubstr("\r\nUser-Agent: agent-sandbox\r\n"));
  EXPECT_THAT(sent, HasSubstr("\r\nContent-Length: 3\r\n"));
  EXPECT_THAT(sent, ::testing::EndsWith(std::string("\r\n\r\n{\0}", 7)));
}

TEST_F(HttpClientTest, NothingIsAddedThatAServerCouldStumbleOver) {
  LoopbackServer server(echo);
  const std::string sent = fetched(post(server.url(), std::string(2 << 20, 'x')));
  for (const char* header : {"Expect:", "Accept-Encoding:", "Upgrade:", "Connection:"}) {
    EXPECT_THAT(sent, Not(HasSubstr(header)));
  }
}

TEST_F(HttpClientTest, AllMethods) {
  LoopbackServer server(echo);
  for (const char* method : {"GET", "POST", "PUT", "PATCH", "DELETE"}) {
    HttpRequest request = get(server.url());
    request.method = method;
    EXPECT_THAT(fetched(request), StartsWith(std::string("200 ") + method + " / HTTP/1.1"));
    request.body = "abc";
    EXPECT_THAT(fetched(request), StartsWith(std::string("200 ") + method + " / HTTP/1.1"));
    EXPECT_THAT(fetched(request), Not(HasSubstr("Content-Type")));
  }
  EXPECT_EQ(server.accepted(), 1);
}

TEST_F(HttpClientTest, RepliesOfEveryStatusAreReplies) {
  for (const char* status : {"204", "400", "429", "500", "529"}) {
    LoopbackServer server(
        answer_with(reply_with("", status + std::string(" Word"), "Retry-After: 7\r\n")));
    const HttpOutcome outcome = fetch(post(server.url(), "{}"));
    ASSERT_EQ(told(outcome), status + std::string(" "));
    const auto& reply = std::get<HttpReply>(outcome);
    ASSERT_NE(reply.header("retry-after"), nullptr);
    EXPECT_EQ(*reply.header("retry-after"), "7");
    EXPECT_EQ(reply.header("absent"), nullptr);
  }
}

TEST_F(HttpClientTest, AnInterimReplyIsNotTheReply) {
  LoopbackServer server(
      answer_with("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + reply_with("a")));
  const HttpOutcome outcome = fetch(get(server.url()));
  EXPECT_EQ(told(outcome), "200 a");
  EXPECT_EQ(std::get<HttpReply>(outcome).header("link"), nullptr);
}

TEST_F(HttpClientTest, ARedirectIsNotFollowed) {
  LoopbackServer elsewhere(echo);
  LoopbackServer server(
      answer_with(reply_with("", "307 Over there", "Location: " + elsewhere.url() + "\r\n")));
  EXPECT_EQ(fetched(post(server.url(), "{}")), "307 ");
  EXPECT_EQ(elsewhere.accepted(), 0);
}

// The server sends the next word only when it has seen that the last one arrived.
TEST_F(HttpClientTest, ABodyIsHandedOutAsItComes) {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> arrived;
  LoopbackServer server([&](Peer& peer) {
    peer.read_request();
    peer.send("HTTP/1.1 201 Made\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (std::size_t count = 1; count <= 5; ++count) {
      peer.send("4\r\nbit" + std::to_string(count) + "\r\n");
      std::unique_lock lock(mutex);
      if (!changed.wait_for(lock, 5s, [&] { return arrived.size() == count; })) return;
    }
    peer.send("0\r\nX-Trailer: 1\r\n\r\n");
  });
  FetchOptions options = within(20s);
  options.on_body = [&](int status, std::string_view bytes) {
    EXPECT_EQ(status, 201);
    EXPECT_TRUE(loop_.loop().get_executor().running_in_this_thread());
    const std::lock_guard lock(mutex);
    arrived.emplace_back(bytes);
    changed.notify_one();
  };
  EXPECT_EQ(told(fetch(get(server.url()), options)), "201 bit1bit2bit3bit4bit5");
  EXPECT_THAT(arrived, ElementsAre("bit1", "bit2", "bit3", "bit4", "bit5"));
}

TEST_F(HttpClientTest, ConnectionsAreKept) {
  LoopbackServer server(echo);
  for (int i = 0; i < 20; ++i) {
    ASSERT_THAT(fetched(post(server.url(), "abc")), StartsWith("200 POST"));
  }
  EXPECT_EQ(server.accepted(), 1);
}

TEST_F(HttpClientTest, AKeptConnectionThatTheServerClosedIsReplaced) {
  LoopbackServer server([](Peer& peer) {
    peer.read_request();
    peer.send(reply_with("once"));
  });
  for (int i = 0; i < 10; ++i) ASSERT_EQ(fetched(post(server.url(), "abc")), "200 once");
  EXPECT_EQ(server.accepted(), 10);
}

// Each call gets its reply only when all of them have asked.
TEST_F(HttpClientTest, CallsAtOnceDoNotWaitForOneAnother) {
  constexpr int calls = 50;
  std::mutex mutex;
  std::condition_variable changed;
  int asked = 0;
  LoopbackServer server([&](Peer& peer) {
    peer.read_request();
    std::unique_lock lock(mutex);
    ++asked;
    changed.notify_all();
    if (changed.wait_for(lock, 10s, [&] { return asked == calls; })) peer.send(reply_with("all"));
  });
  std::vector<std::future<HttpOutcome>> outcomes;
  for (int i = 0; i < calls; ++i) {
    outcomes.push_back(loop_.spawn(client_.fetch(get(server.url()), within(20s))));
  }
  for (auto& outcome : outcomes) EXPECT_EQ(told(outcome.get()), "200 all");
}

TEST_F(HttpClientTest, ManyLoopsAtOnce) {
  LoopbackServer server(echo);
  LoopThread second;
  asio::thread_pool pool(2);
  std::vector<std::future<HttpOutcome>> outcomes;
  for (int i = 0; i < 100; ++i) {
    const std::string body = "number " + std::to_string(i) + std::string(20'000, '.');
    outcomes.push_back(loop_.spawn(client_.fetch(post(server.url(), body), within(20s))));
    outcomes.push_back(second.spawn(client_.fetch(post(server.url(), body), within(20s))));
    outcomes.push_back(asio::co_spawn(pool, client_.fetch(post(server.url(), body), within(20s)),
                                      asio::use_future));
  }
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const HttpOutcome outcome = outcomes[i].get();
    ASSERT_TRUE(std::holds_alternative<HttpReply>(outcome)) << told(outcome);
    EXPECT_THAT(std::get<HttpReply>(outcome).body,
                HasSubstr("\r\n\r\nnumber " + std::to_string(i / 3) + "."));
  }
}

class HeadsOnlyTest : public HttpClientTest {
 protected:
  HttpOutcome head_of(LoopbackServer& server) {
    return loop_.spawn(heads_.fetch(post(server.url(), "{}"), within(20s))).get();
  }

  HttpClient heads_{[] {
    HttpClientOptions options;
    options.heads_only = true;
    options.max_head_bytes = 16u << 10;
    options.max_reply_bytes = 64u << 10;
    return options;
  }()};
};

TEST_F(HeadsOnlyTest, TheReplyIsThereOnceItsHeadIs) {
  const std::vector<std::string> rests = {"", "Content-Length: 99999999999\r\n",
                                          "Transfer-Encoding: chunked\r\n"};
  for (const std::string& rest : rests) {
    std::atomic<bool> left = false;
    {
      LoopbackServer server([&](Peer& peer) {
        peer.read_request();
        peer.send("HTTP/1.1 503 No\r\nRetry-After: 7\r\n" + rest + "\r\n");
        left = peer.left_within(20s);
      });
      const HttpOutcome outcome = head_of(server);
      ASSERT_EQ(told(outcome), "503 ") << rest;
      EXPECT_EQ(*std::get<HttpReply>(outcome).header("retry-after"), "7");
    }
    EXPECT_TRUE(left) << rest;
  }
}

TEST_F(HeadsOnlyTest, WhatFollowsWithoutEndIsNotReadOn) {
  for (const char* first : {"5;", "0\r\nX: ", "fffffff\r\n"}) {
    LoopbackServer server([&](Peer& peer) {
      peer.read_request();
      peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + std::string(first));
      const std::string flood(65'536, 'a');
      while (peer.send(flood)) {
      }
    });
    EXPECT_EQ(told(head_of(server)), "200 ") << first;
  }
}

TEST_F(HeadsOnlyTest, AConnectionIsKeptWhoseReplyCameWhole) {
  LoopbackServer server(answer_with(reply_with("body")));
  for (int i = 0; i < 5; ++i) ASSERT_EQ(told(head_of(server)), "200 ");
  EXPECT_EQ(server.accepted(), 1);
}

TEST_F(HeadsOnlyTest, AnInterimHeadIsNotTheReply) {
  LoopbackServer server([](Peer& peer) {
    peer.read_request();
    peer.send("HTTP/1.1 103 Early Hints\r\n\r\n");
  });
  EXPECT_THAT(told(head_of(server)), StartsWith("interrupted(103): "));
}

LoopbackServer::Handler end_after(std::string reply) {
  return [reply = std::move(reply)](Peer& peer) {
    peer.read_request();
    peer.send(reply);
  };
}

TEST_F(HeadsOnlyTest, AHeadThatIsTooLargeIsNoReply) {
  std::string lines;
  for (int i = 0; i < 200; ++i) lines += "a:\r\n";
  for (const std::string& head : {lines, "a: " + std::string(20'000, 'x') + "\r\n"}) {
    LoopbackServer server(end_after("HTTP/1.1 200 OK\r\n" + head + "\r\n"));
    EXPECT_THAT(told(head_of(server)),
                MatchesRegex("too_large.*the head of the reply is larger than 16384 bytes or has "
                             "more than 100 lines"));
    EXPECT_THAT(told(head_of(server)), StartsWith("too_large"));
  }
}

TEST_F(HttpClientTest, AHeadOfManyLinesIsNoReply) {
  std::string lines;
  for (int i = 0; i < 60'000; ++i) lines += "a:\r\n";
  LoopbackServer server(end_after("HTTP/1.1 200 OK\r\n" + lines + "\r\n"));
  EXPECT_THAT(fetched(get(server.url())), MatchesRegex("too_large.*more than 100 lines"));
}

TEST_F(HeadsOnlyTest, ALineWithoutEndIsNoReply) {
  LoopbackServer server(end_after("HTTP/1.1 200 OK\r\na: " + std::string(1 << 20, 'x')));
  EXPECT_THAT(told(head_of(server)),
              MatchesRegex("too_large.*a line of the reply's head is too long"));
}

TEST_F(HttpClientTest, AHeadWithoutItsEndIsNoReply) {
  for (const char* head : {"HTTP/1.1 200 OK\r\nFoo", "HTTP/1.1 200 OK\r\nFoo: bar\r\n"}) {
    LoopbackServer server(end_after(head));
    EXPECT_THAT(fetched(get(server.url())),
                MatchesRegex("interrupted.*the connection ended before the head of the reply did"));
  }
}

TEST_F(HttpClientTest, NobodyThere) {
  std::uint16_t port = 0;
  const jail::Fd silent = bound_socket(port);  // bound, but it does not listen
  const std::string text =
      fetched(post("http://u:SECRET@127.0.0.1:" + std::to_string(port) + "/v1?key=SECRET", "{}"));
  EXPECT_THAT(text, StartsWith("unreachable(0): http://127.0.0.1:" + std::to_string(port) + ": "));
  EXPECT_THAT(text, HasSubstr("onnect"));
  EXPECT_THAT(text, Not(HasSubstr("SECRET")));
}

TEST_F(HttpClientTest, WhatCannotBeSentIsNotSent) {
  LoopbackServer server(echo);
  HttpRequest request = get(server.url());
  request.headers = {{"Authorization", "Bearer SECRET\r\nX: y"}};
  const std::string text = fetched(request);
  EXPECT_THAT(text, MatchesRegex("unreachable.*Authorization.*"));
  EXPECT_THAT(text, Not(HasSubstr("SECRET")));
  EXPECT_THAT(fetched(get("ftp://127.0.0.1/")), StartsWith("unreachable(0): a URL: "));
  EXPECT_THAT(fetched(get("127.0.0.1:1/")), StartsWith("unreachable(0): a URL: "));
  EXPECT_THAT(fetched(get("http://127.0.0.1:99999/")), StartsWith("unreachable(0): "));
  EXPECT_THAT(fetched(get("http:///x")), StartsWith("unreachable(0): "));
  EXPECT_EQ(server.accepted(), 0);
}

TEST_F(HttpClientTest, ProxiesAreThoseOfTheOptionsOnly) {
  LoopbackServer server(echo);
  LoopbackServer proxy(answer_with(reply_with("by proxy")));
  for (const char* name : {"http_proxy", "ALL_PROXY", "all_proxy"}) {
    ::setenv(name, proxy.url().c_str(), 1);
  }
  EXPECT_THAT(fetched(get(server.url())), StartsWith("200 GET /"));
  EXPECT_EQ(proxy.accepted(), 0);
  ::setenv("no_proxy", "*", 1);
  HttpClientOptions options;
  options.proxy = proxy.url();
  HttpClient proxied(std::move(options));
  EXPECT_EQ(told(loop_.spawn(proxied.fetch(get(server.url()), within(10s))).get()), "200 by proxy");
  for (const char* name : {"http_proxy", "ALL_PROXY", "all_proxy", "no_proxy"}) ::unsetenv(name);
}

std::set<int> inherited_descriptors() {
  std::set<int> found;
  DIR* const directory = ::opendir("/proc/self/fd");
  while (const dirent* entry = ::readdir(directory)) {
    const int fd = std::atoi(entry->d_name);
    const int flags = ::fcntl(fd, F_GETFD);
    if (flags >= 0 && (flags & FD_CLOEXEC) == 0) found.insert(fd);
  }
  ::closedir(directory);
  return found;
}

TEST_F(HttpClientTest, AProgramThatIsStartedGetsNoConnection) {
  const std::set<int> before = inherited_descriptors();
  LoopbackServer server(echo);
  EXPECT_THAT(fetched(get(server.url())), StartsWith("200 "));  // and the connection is kept
  EXPECT_EQ(inherited_descriptors(), before);
}

}  // namespace
}  // namespace runtime::llm
