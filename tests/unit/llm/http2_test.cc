// TLS and HTTP/2, against Debian's nghttpd and certificates by openssl.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "runtime/llm/http_client.h"
#include "tests/time_scale.h"
#include "tests/unit/llm/fetching.h"
#include "tests/unit/llm/loopback_server.h"

namespace runtime::llm {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Debian keeps nghttpd in sbin, which is not in everybody's PATH.
std::string program(const std::string& name) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(std::string(path == nullptr ? "" : path) +
                             ":/usr/sbin:/usr/local/sbin:/usr/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (::access((folder + "/" + name).c_str(), X_OK) == 0) return folder + "/" + name;
  }
  return {};
}

std::size_t count_of(std::string_view text, std::string_view word) {
  std::size_t count = 0;
  for (auto at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++count;
  return count;
}

class Http2Test : public ::testing::Test {
 protected:
  void SetUp() override {
    if (program("nghttpd").empty()) GTEST_SKIP() << "no nghttpd (Debian: nghttp2-server)";
    if (program("openssl").empty()) GTEST_SKIP() << "no openssl";
    std::string pattern = (fs::temp_directory_path() / "http2-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    fs::create_directory(folder_ / "docs");
    write("docs/small", "hello");
    write("docs/large", std::string(24u << 20, 'x'));
    make_certificate("own", "DNS:localhost,IP:127.0.0.1");
    serve("own");
  }
  void TearDown() override {
    stop();
    if (!folder_.empty()) fs::remove_all(folder_);
  }

  void write(const std::string& name, const std::string& content) {
    std::ofstream(folder_ / name, std::ios::binary) << content;
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  void make_certificate(const std::string& name, const std::string& names) {
    const std::string command = program("openssl") +
                                " req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
                                " -days 2 -subj /CN=test -addext subjectAltName=" +
                                names + " -keyout " + path(name + ".key") + " -out " +
                                path(name + ".crt") + " 2>" + path(name + ".log");
    ASSERT_EQ(std::system(command.c_str()), 0);
  }

  // The log of nghttpd about its connections and frames goes into the file `log`.
  void serve(const std::string& certificate) {
    if (port_ == 0) const jail::Fd free = bound_socket(port_);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, 1, path("log").c_str(),
                                       O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::posix_spawn_file_actions_adddup2(&actions, 1, 2);
    std::vector<std::string> words = {program("nghttpd"),
                                      "-v",
                                      "--echo-upload",
                                      "-a",
                                      "127.0.0.1",
                                      "-d",
                                      path("docs"),
                                      std::to_string(port_),
                                      path(certificate + ".key"),
                                      path(certificate + ".crt")};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    ASSERT_EQ(
        ::posix_spawn(&server_, words[0].c_str(), &actions, nullptr, arguments.data(), environ), 0);
    ::posix_spawn_file_actions_destroy(&actions);
    const auto end = Clock::now() + scaled(10s);
    while (log().find("listen") == std::string::npos && Clock::now() < end) {
      std::this_thread::sleep_for(5ms);
    }
  }
  void stop() {
    if (server_ <= 0) return;
    ::kill(server_, SIGTERM);
    ::waitpid(server_, nullptr, 0);
    server_ = 0;
  }

  std::string log() const {
    std::ifstream file(folder_ / "log", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::size_t connections() const { return count_of(log(), "SSL/TLS handshake completed"); }
  std::string url(const std::string& name = "/small", const std::string& host = "127.0.0.1") const {
    return "https://" + host + ":" + std::to_string(port_) + name;
  }
  HttpClientOptions trusting(const std::string& certificate) const {
    HttpClientOptions options;
    options.ca_file = path(certificate + ".crt");
    return options;
  }
  std::string fetched(HttpClient& client, HttpRequest request) {
    return told(loop_.spawn(client.fetch(std::move(request), within(20s))).get());
  }

  LoopThread loop_;
  fs::path folder_;
  std::uint16_t port_ = 0;
  pid_t server_ = 0;
};

// nghttpd speaks nothing but HTTP/2.
TEST_F(Http2Test, RepliesOverOneConnection) {
  HttpClient client(trusting("own"));
  EXPECT_EQ(fetched(client, get(url())), "200 hello");
  const HttpOutcome outcome = loop_.spawn(client.fetch(get(url()), within(20s))).get();
  EXPECT_NE(std::get<HttpReply>(outcome).header("server"), nullptr);
  EXPECT_THAT(fetched(client, get(url("/absent"))), StartsWith("404 "));
  EXPECT_EQ(fetched(client, post(url("/echo"), "{\"a\": 1}")), "200 {\"a\": 1}");
  const std::string large(1u << 20, 'y');
  const HttpOutcome echoed =
      loop_.spawn(client.fetch(post(url("/echo"), large), within(20s))).get();
  EXPECT_TRUE(std::get<HttpReply>(echoed).body == large);
  EXPECT_EQ(connections(), 1u);
  EXPECT_THAT(log(), HasSubstr("The negotiated protocol: h2"));
}

TEST_F(Http2Test, CallsAtOnceShareOneConnection) {
  HttpClient client(trusting("own"));
  LoopThread second;
  std::vector<std::future<HttpOutcome>> outcomes;
  for (int i = 0; i < 60; ++i) {
    LoopThread& loop = i % 2 == 0 ? loop_ : second;
    const std::string body = "number " + std::to_string(i);
    outcomes.push_back(loop.spawn(client.fetch(post(url("/echo"), body), within(20s))));
  }
  for (int i = 0; i < 60; ++i) {
    EXPECT_EQ(told(outcomes[static_cast<std::size_t>(i)].get()), "200 number " + std::to_string(i));
  }
  EXPECT_EQ(connections(), 1u);
}

// The stream ends; its connection and the other streams on it go on.
TEST_F(Http2Test, CancelInTheBody) {
  HttpClient client(trusting("own"));
  ASSERT_EQ(fetched(client, get(url())), "200 hello");
  auto other = loop_.spawn(client.fetch(get(url("/large")), within(30s)));
  FetchOptions options = within(30s);
  std::size_t bytes = 0;
  options.on_body = [&, cancel = options.cancel](int, std::string_view piece) {
    bytes += piece.size();
    cancel.request();
  };
  const HttpOutcome outcome = loop_.spawn(client.fetch(get(url("/large")), options)).get();
  EXPECT_THAT(told(outcome), StartsWith("cancelled(200, body began): "));
  const HttpOutcome whole = other.get();
  ASSERT_TRUE(std::holds_alternative<HttpReply>(whole)) << told(whole);
  EXPECT_EQ(std::get<HttpReply>(whole).body.size(), 24u << 20);
  EXPECT_EQ(fetched(client, get(url())), "200 hello");
  EXPECT_THAT(log(), HasSubstr("recv RST_STREAM"));
  EXPECT_EQ(connections(), 1u);
}

TEST_F(Http2Test, TheEndOfTheClientEndsItsCalls) {
  std::vector<std::future<HttpOutcome>> outcomes;
  {
    HttpClient client(trusting("own"));
    std::promise<void> begun;
    FetchOptions first = within(30s);
    first.on_body = [&, said = false](int, std::string_view) mutable {
      if (!std::exchange(said, true)) begun.set_value();
    };
    outcomes.push_back(loop_.spawn(client.fetch(get(url("/large")), first)));
    for (int i = 0; i < 5; ++i) {
      outcomes.push_back(loop_.spawn(client.fetch(get(url("/large")), within(30s))));
    }
    begun.get_future().wait();
  }
  for (auto& outcome : outcomes) {
    EXPECT_THAT(told(outcome.get()), ::testing::MatchesRegex("cancelled.*|200 x+"));
  }
}

TEST_F(Http2Test, AServerThatDies) {
  HttpClient client(trusting("own"));
  FetchOptions options = within(30s);
  options.on_body = [&](int, std::string_view) {
    if (server_ > 0) ::kill(server_, SIGKILL);
  };
  const HttpOutcome outcome = loop_.spawn(client.fetch(get(url("/large")), options)).get();
  EXPECT_THAT(told(outcome), StartsWith("interrupted(200, body began): https://127.0.0.1:"));
  stop();
  EXPECT_THAT(fetched(client, get(url())), StartsWith("unreachable(0): "));
}

TEST_F(Http2Test, AKeptConnectionThatTheServerClosedIsReplaced) {
  HttpClient client(trusting("own"));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(fetched(client, post(url("/echo"), "a")), "200 a");
    stop();
    serve("own");
  }
  EXPECT_EQ(fetched(client, post(url("/echo"), "a")), "200 a");
}

TEST_F(Http2Test, AnAuthorityThatNobodyKnows) {
  HttpClient client;
  const std::string text = fetched(client, post(url(), "{}"));
  EXPECT_THAT(text, StartsWith("unreachable(0): https://127.0.0.1:"));
  EXPECT_THAT(text, HasSubstr("the server's certificate is not trusted: "));
  EXPECT_THAT(text, HasSubstr("self-signed certificate"));
  EXPECT_EQ(count_of(log(), "recv HEADERS"), 0u);
}

TEST_F(Http2Test, AnotherAuthority) {
  make_certificate("other", "DNS:localhost,IP:127.0.0.1");
  HttpClient client(trusting("other"));
  EXPECT_THAT(fetched(client, get(url())), HasSubstr("the server's certificate is not trusted: "));
}

TEST_F(Http2Test, ACertificateOfAnotherName) {
  stop();
  make_certificate("elsewhere", "DNS:elsewhere.example");
  serve("elsewhere");
  HttpClient client(trusting("elsewhere"));
  for (const char* host : {"127.0.0.1", "localhost"}) {
    const std::string text = fetched(client, get(url("/small", host)));
    EXPECT_THAT(text, HasSubstr("the server's certificate is not trusted: "));
    EXPECT_THAT(text, HasSubstr(std::string("'") + host + "'"));
  }
  EXPECT_EQ(count_of(log(), "recv HEADERS"), 0u);
}

TEST_F(Http2Test, NoFileOfAuthorities) {
  HttpClient client(trusting("absent"));
  const std::string text = fetched(client, get(url()));
  EXPECT_THAT(text, StartsWith("unreachable(0): "));
  EXPECT_THAT(text, HasSubstr("absent.crt"));
}

TEST_F(Http2Test, AServerWithoutTlsIsNotTalkedTo) {
  LoopbackServer server([](LoopbackServer::Peer& peer) {
    peer.send(reply_with("a"));
    peer.left_within(10s);
  });
  HttpClient client;
  const std::string text =
      fetched(client, get("https" + server.url().substr(std::string("http").size())));
  EXPECT_THAT(text, StartsWith("unreachable(0): https://127.0.0.1:"));
}

}  // namespace
}  // namespace runtime::llm
