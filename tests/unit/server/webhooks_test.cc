#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>

#include "runtime/service/abandoned_lookups.h"
#include "runtime/service/webhook_destinations.h"
#include "runtime/service/webhook_message.h"
#include "runtime/service/webhook_patience.h"

namespace runtime {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

TEST(AbandonedLookups, AreCountedByOwnerUntilTheResolverHasGivenUp) {
  AbandonedLookups lookups;
  const AbandonedLookups::Clock::time_point now{};
  EXPECT_FALSE(lookups.has_too_many("a", now));
  for (std::size_t i = 0; i < AbandonedLookups::max_per_owner; ++i) {
    EXPECT_FALSE(lookups.has_too_many("a", now + 1s));
    lookups.note("a", now + std::chrono::seconds(i == 0 ? 0 : 1));
  }
  EXPECT_TRUE(lookups.has_too_many("a", now + 29s));
  EXPECT_FALSE(lookups.has_too_many("b", now + 29s));
  EXPECT_FALSE(lookups.has_too_many("a", now + 30s));
  lookups.note("a", now + 30s);
  EXPECT_TRUE(lookups.has_too_many("a", now + 30s));
}

bool leads_there(const std::string& rule, const std::string& url) {
  return !WebhookDestinations({rule}).why_not(url).has_value();
}

bool may_connect(const std::vector<std::string>& rules, const char* address, std::uint16_t port) {
  sockaddr_storage storage{};
  auto& v4 = reinterpret_cast<sockaddr_in&>(storage);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(storage);
  if (::inet_pton(AF_INET, address, &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
  } else {
    EXPECT_EQ(::inet_pton(AF_INET6, address, &v6.sin6_addr), 1) << address;
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
  }
  return WebhookDestinations(rules).may_connect(reinterpret_cast<const sockaddr&>(storage));
}

TEST(WebhookDestinations, AUrlLeadsWhereARuleSaysAlone) {
  EXPECT_TRUE(leads_there("hooks.example.org:443", "https://hooks.example.org/a?b=c"));
  EXPECT_TRUE(leads_there("hooks.example.org:443", "https://hooks.example.org"));
  EXPECT_TRUE(leads_there("hooks.example.org:443", "https://HOOKS.example.org.:443/"));
  EXPECT_TRUE(leads_there("*.example.org:8443", "https://a.b.example.org:8443/"));
  EXPECT_TRUE(leads_there("http://hooks.example.org:80", "http://hooks.example.org/"));
  EXPECT_TRUE(leads_there("http://[::1]:8080", "http://[::1]:8080/"));
  EXPECT_TRUE(leads_there("10.0.0.0/8:443", "https://10.1.2.3/"));
  EXPECT_FALSE(leads_there("hooks.example.org:443", "https://example.org/"));
  EXPECT_FALSE(leads_there("hooks.example.org:443", "https://hooks.example.org:444/"));
  EXPECT_FALSE(leads_there("hooks.example.org:443", "http://hooks.example.org:443/"));
  EXPECT_FALSE(leads_there("http://hooks.example.org:80", "https://hooks.example.org:80/"));
  EXPECT_FALSE(leads_there("*.example.org:443", "https://example.org/"));
  EXPECT_FALSE(leads_there("0.0.0.0/0:443", "https://10.1.2.3/"));
  EXPECT_FALSE(leads_there("0.0.0.0/0:443", "https://hooks.example.org/"));
  EXPECT_FALSE(leads_there("no rule", "https://hooks.example.org/"));
  EXPECT_THAT(*WebhookDestinations({"a.example:443"}).why_not("https://b.example/"),
              AllOf(HasSubstr("b.example:443"), HasSubstr("SANDBOX_WEBHOOKS_ALLOW"),
                    HasSubstr("a.example:443")));
}

TEST(WebhookDestinations, WhatTwoReadersWouldReadDifferentlyIsNoUrl) {
  const std::string rule = "http://127.0.0.1:80";
  EXPECT_TRUE(leads_there(rule, "http://127.0.0.1/"));
  for (const char* url : {"",
                          "http://",
                          "http:///",
                          "HTTP://127.0.0.1/",
                          "ftp://127.0.0.1/",
                          "//127.0.0.1/",
                          "127.0.0.1",
                          "http:127.0.0.1",
                          "http:\\\\127.0.0.1/",
                          "http://127.0.0.1\\@x/",
                          "http://u@127.0.0.1/",
                          "http://u:p@127.0.0.1/",
                          "http://127.0.0.1/#a",
                          "http://127.0.0.1/ a",
                          "http://127.0.0.1 /",
                          "http://127.0.0.1/\n",
                          "http://127.0.0.1/\xc3\xa4",
                          "http://0x7f.1/",
                          "http://127.1/",
                          "http://2130706433/",
                          "http://017700000001/",
                          "http://127.0.0.1:/",
                          "http://127.0.0.1:0/",
                          "http://127.0.0.1:65616/",
                          "http://127.0.0.1:80:80/",
                          "http://127.0.0.1:+80/",
                          "http://127.0.0.1%2f/",
                          "http://[127.0.0.1]/",
                          "http://[::1/",
                          "http://::1/",
                          "http://*.1/"}) {
    EXPECT_FALSE(leads_there(rule, url)) << url;
  }
  EXPECT_FALSE(leads_there(rule, "http://127.0.0.1/" + std::string(max_webhook_url_bytes, 'a')));
}

TEST(WebhookDestinations, AnAddressIsPublicOrNamed) {
  const std::vector<std::string> names = {"hooks.example.org:443", "http://localhost:8080"};
  EXPECT_TRUE(may_connect(names, "93.184.216.34", 443));
  EXPECT_TRUE(may_connect(names, "2606:2800:220:1::1", 443));
  for (const char* address :
       {"127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0",
        "100.64.0.1", "224.0.0.1", "255.255.255.255", "::", "::1", "::ffff:127.0.0.1",
        "::ffff:10.0.0.1", "fe80::1", "fc00::1", "ff02::1", "64:ff9b::a00:1"}) {
    EXPECT_FALSE(may_connect(names, address, 8080)) << address;
    EXPECT_FALSE(may_connect({"0.0.0.0/0:443", "[::/0]:443"}, address, 443)) << address;
  }
  EXPECT_TRUE(may_connect({"10.0.0.0/8:443"}, "10.0.0.1", 443));
  EXPECT_TRUE(may_connect({"http://10.0.0.0/8:443"}, "::ffff:10.0.0.1", 443));
  EXPECT_FALSE(may_connect({"10.0.0.0/8:443"}, "10.0.0.1", 444));
  EXPECT_FALSE(may_connect({"10.0.0.0/8:443"}, "127.0.0.1", 443));
  EXPECT_TRUE(may_connect({"http://[::1]:8080"}, "::1", 8080));
  sockaddr local{};
  local.sa_family = AF_UNIX;
  EXPECT_FALSE(WebhookDestinations({"0.0.0.0/0:443"}).may_connect(local));
}

// The example of the specification's own libraries.
TEST(WebhookMessage, IsSignedAsStandardWebhooksHasIt) {
  const WebhookMessage message{"msg_p5jXN8AQM9LWM0D4loKWxJek", "test", R"({"test": 2432232314})"};
  const Secret secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
  const auto headers =
      webhook_headers(message, {secret}, std::chrono::system_clock::time_point(1614265330s));
  using Header = std::pair<std::string, std::string>;
  EXPECT_THAT(
      headers,
      ::testing::IsSupersetOf(
          {Header("webhook-id", message.id), Header("webhook-timestamp", "1614265330"),
           Header("webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")}));
}

TEST(WebhookMessage, SecretsAreLongAndDiffer) {
  const std::string secret = make_webhook_secret().reveal();
  EXPECT_THAT(secret, MatchesRegex("whsec_[A-Za-z0-9+/]{32}"));
  EXPECT_NE(secret, make_webhook_secret().reveal());
}

TEST(WebhookMessage, HoldsTheEvent) {
  SandboxEvent event;
  event.number = 7;
  event.sandbox = "s";
  event.at = StoredTime(1s);
  event.kind = "created";
  event.detail = R"({"name":"n"})";
  const WebhookMessage message = message_of(event);
  EXPECT_EQ(message.id, "evt_s_7");
  EXPECT_EQ(message.body,
            R"({"id":"evt_s_7","type":"created","timestamp":"1970-01-01T00:00:01.000Z",)"
            R"("sandbox_id":"s","data":{"number":7,"at":"1970-01-01T00:00:01.000Z",)"
            R"("kind":"created","sandbox_id":"s","request_id":null,"detail":{"name":"n"}}})");
}

class WebhookPatienceTest : public ::testing::Test {
 protected:
  // Notes a failed try, that long after the first.
  void fail_after(std::chrono::milliseconds time,
                  std::optional<std::chrono::milliseconds> asked = {}) {
    WebhookSent sent;
    sent.attempt = {begin_ + time, "created", 500, "it answered 500"};
    sent.asked_wait = asked;
    note_try(row_, sent, patience_, 0);
  }

  const StoredTime begin_{1'000'000s};
  WebhookPatience patience_;
  WebhookRow row_;
};

TEST_F(WebhookPatienceTest, WaitsTwiceAsLongEachTimeUpToAnHour) {
  std::chrono::milliseconds time{0};
  std::vector<std::int64_t> waits;
  for (int tries = 0; tries < 14; ++tries) {
    fail_after(time);
    const auto wait =
        std::chrono::duration_cast<std::chrono::seconds>(*row_.next_try - (begin_ + time));
    waits.push_back(wait.count());
    time += wait;
  }
  EXPECT_THAT(
      waits, ::testing::ElementsAre(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3600, 3600));
  EXPECT_EQ(row_.failures, 14u);
  EXPECT_EQ(row_.failing_since, begin_);
  EXPECT_EQ(row_.disabled, "");
}

TEST_F(WebhookPatienceTest, TheReceiverMayAskForMoreButNotForEver) {
  fail_after(0s, 90s);
  EXPECT_EQ(row_.next_try, begin_ + 90s);
  fail_after(90s, 10ms);
  EXPECT_EQ(row_.next_try, begin_ + 92s);
  fail_after(92s, 999h);
  EXPECT_EQ(row_.next_try, begin_ + 92s + 1h);
}

TEST_F(WebhookPatienceTest, ADeliveryForgives) {
  fail_after(0s);
  fail_after(1s);
  WebhookSent sent;
  sent.attempt = {begin_ + 3s, "created", 204, ""};
  note_try(row_, sent, patience_, 0);
  EXPECT_EQ(row_.failures, 0u);
  EXPECT_FALSE(row_.failing_since || row_.next_try);
  EXPECT_EQ(row_.last->status, 204);
}

TEST_F(WebhookPatienceTest, OneThatFailsForTooLongIsDisabled) {
  patience_.retry = 10s;
  fail_after(0s);
  fail_after(7s);
  EXPECT_EQ(row_.next_try, begin_ + 9s);
  fail_after(9s);
  EXPECT_EQ(row_.next_try, begin_ + 10s) << "its last chance";
  EXPECT_EQ(row_.disabled, "");
  fail_after(10s);
  EXPECT_EQ(row_.disabled, "no try succeeded for 10 s, the last one: it answered 500");
  EXPECT_FALSE(row_.next_try);
}

TEST_F(WebhookPatienceTest, OneThatIsGoneIsDisabledAtOnce) {
  WebhookSent sent;
  sent.attempt = {begin_, "created", 410, "it answered 410"};
  sent.is_gone = true;
  note_try(row_, sent, patience_, 0);
  EXPECT_EQ(row_.disabled, "it answered 410 Gone");
}

}  // namespace
}  // namespace runtime
