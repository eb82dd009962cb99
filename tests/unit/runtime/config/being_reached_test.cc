// The settings for reaching the server: where it listens, and how many connections and requests it
// takes.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

#include "tests/unit/runtime/config/config_fixture.h"

namespace runtime {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

TEST_F(ConfigTest, ListensOnAUnixSocket) {
  EXPECT_EQ(load().api_socket_mode, 0600u);
  EXPECT_EQ(unix_path(load().api_host), std::nullopt);
  write("agent-sandbox.json", R"({"api_host": "unix:/run/a b.sock", "api_socket_mode": "0660"})");
  EXPECT_EQ(unix_path(load().api_host), "/run/a b.sock");
  EXPECT_EQ(load().api_socket_mode, 0660u);
  EXPECT_THAT(error_in_file(R"({"api_host": "unix:/a\u0000b"})"), HasSubstr("api_host"));
}

TEST_F(ConfigTest, ThePathOfASocketFitsIntoItsAddress) {
  const std::string longest = "unix:/" + std::string(106, 'x');
  sources_.flags = {{"API_HOST", longest, "--host"}};
  EXPECT_EQ(load().api_host, longest);
  sources_.flags = {{"API_HOST", longest + "x", "--host"}};
  EXPECT_THAT(error(), AllOf(HasSubstr("--host"), HasSubstr("at most 107 bytes")));
}

TEST_F(ConfigTest, ARateIsRequestsAndTheirTime) {
  EXPECT_EQ(load().api_key_rate.requests, 0u);
  EXPECT_EQ(load().api_key_concurrency, 0u);
  const std::tuple<const char*, std::uint32_t, std::chrono::seconds> cases[] = {
      {"20/s", 20, 1s}, {"600/m", 600, 60s}, {"1/h", 1, 3600s}, {"1000000/s", 1'000'000, 1s}};
  for (const auto& [text, requests, time] : cases) {
    sources_.environment = {{"API_KEY_RATE", text}};
    EXPECT_EQ(load().api_key_rate.requests, requests) << text;
    EXPECT_EQ(load().api_key_rate.time, time) << text;
  }
  write("agent-sandbox.json",
        R"({"api_key_rate": "5/s", "api_key_burst": 7, "api_key_concurrency": 3})");
  sources_.environment = {{"API_KEY_RATE", "0"}};
  EXPECT_EQ(load().api_key_rate.requests, 0u) << "what the file has is taken back";
  EXPECT_EQ(load().api_key_burst, 7u);
  EXPECT_EQ(load().api_key_concurrency, 3u);
  EXPECT_THAT(error_with("API_KEY_RATE", "fast"),
              HasSubstr("API_KEY_RATE in the environment: \"fast\" is not allowed; expected "
                        "requests 1 .. 1000000 and their time, as in 20/s"));
}

TEST_F(ConfigTest, OnePeerHasHalfOfTheConnectionsWhereOthersReachTheServer) {
  Config config;
  EXPECT_EQ(connections_per_peer(config), 0u);
  config.api_host = "unix:/a";
  EXPECT_EQ(connections_per_peer(config), 0u);
  config.api_host = "0.0.0.0";
  EXPECT_EQ(connections_per_peer(config), 256u);
  config.api_max_connections = 1;
  EXPECT_EQ(connections_per_peer(config), 1u);
  config.api_max_connections_per_peer = 0;
  EXPECT_EQ(connections_per_peer(config), 0u);
  sources_.environment = {{"API_MAX_CONNECTIONS_PER_PEER", "5"}};
  EXPECT_EQ(connections_per_peer(load()), 5u);
}

TEST_F(ConfigTest, OnlyLoopbackIsServedWithoutAKey) {
  Config config;
  for (const char* host :
       {"127.0.0.1", "127.8.8.8", "localhost", "::1", "::ffff:127.0.0.1", "unix:/a"}) {
    config.api_host = host;
    EXPECT_TRUE(check_exposure(config).has_value()) << host;
  }
  for (const char* host : {"0.0.0.0", "::", "192.168.0.1", "128.0.0.1", "::ffff:10.0.0.1"}) {
    config.api_host = host;
    config.api_keys.clear();
    ASSERT_FALSE(check_exposure(config).has_value()) << host;
    EXPECT_THAT(check_exposure(config).error().message(), HasSubstr("API_KEYS"));
    config.api_keys.emplace_back("key");
    EXPECT_TRUE(check_exposure(config).has_value()) << host;
  }
}

}  // namespace
}  // namespace runtime
