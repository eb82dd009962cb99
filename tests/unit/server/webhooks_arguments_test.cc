#include "server/cli/webhooks/webhooks_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/cli/sandbox/field_words.h"
#include "server/cli/webhooks/webhooks_text.h"

namespace server::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

template <class One>
One webhook_parsed_as(std::vector<std::string> args) {
  args.insert(args.begin(), "webhook");
  auto command = parse_arguments(std::move(args), "1.2.3");
  if (const auto* finished = std::get_if<Finished>(&command)) ADD_FAILURE() << finished->error;
  auto* options = std::get_if<WebhooksOptions>(&command);
  auto* one = options == nullptr ? nullptr : std::get_if<One>(options);
  EXPECT_NE(one, nullptr);
  return one == nullptr ? One() : *one;
}

TEST(WebhookArguments, CreateTakesAUrlAndKinds) {
  const auto made = webhook_parsed_as<CreateWebhookOptions>(
      {"create", "--event", "created", "--event", "ended", "https://a.org/x", "--name", "mine"});
  EXPECT_EQ(made.url, "https://a.org/x");
  EXPECT_THAT(made.events, ElementsAre("created", "ended"));
  EXPECT_EQ(made.name, "mine");
  EXPECT_EQ(made.format, Format::text);
}

TEST(WebhookArguments, WhatChangeDoesNotNameStays) {
  const auto renamed = webhook_parsed_as<ChangeWebhookOptions>({"change", "a", "--name", ""});
  EXPECT_EQ(renamed.id, "a");
  EXPECT_EQ(renamed.name, "");
  EXPECT_FALSE(renamed.url);
  EXPECT_THAT(renamed.events, IsEmpty());
  EXPECT_FALSE(renamed.is_enabled);
  EXPECT_EQ(webhook_parsed_as<ChangeWebhookOptions>({"change", "a", "--disable"}).is_enabled,
            false);
  const auto moved = webhook_parsed_as<ChangeWebhookOptions>(
      {"change", "a", "--url", "https://b.org", "--event", "ended", "--enable", "--json"});
  EXPECT_EQ(moved.url, "https://b.org");
  EXPECT_THAT(moved.events, ElementsAre("ended"));
  EXPECT_EQ(moved.is_enabled, true);
  EXPECT_EQ(moved.format, Format::json);
}

TEST(WebhookArguments, TheOthers) {
  EXPECT_EQ(webhook_parsed_as<ListWebhooksOptions>({"list", "--json"}).format, Format::json);
  EXPECT_EQ(webhook_parsed_as<GetWebhookOptions>({"get", "a"}).id, "a");
  EXPECT_EQ(webhook_parsed_as<TestWebhookOptions>({"test", "a"}).id, "a");
  EXPECT_FALSE(webhook_parsed_as<WebhookSecretOptions>({"secret", "a"}).previous_seconds);
  EXPECT_EQ(
      webhook_parsed_as<WebhookSecretOptions>({"secret", "a", "--previous", "2h"}).previous_seconds,
      7200);
  EXPECT_EQ(
      webhook_parsed_as<WebhookSecretOptions>({"secret", "a", "--previous", "0"}).previous_seconds,
      0);
  EXPECT_THAT(webhook_parsed_as<DeleteWebhooksOptions>({"delete", "a", "b"}).ids,
              ElementsAre("a", "b"));
}

TEST(WebhookArguments, Mistakes) {
  struct Case {
    std::vector<std::string> args;
    const char* word;
  };
  const Case cases[] = {
      {{"webhook"}, "subcommand"},
      {{"webhook", "create"}, "URL"},
      {{"webhook", "create", "https://a.org"}, "--event"},
      {{"webhook", "create", "https://a.org", "--event"}, "--event"},
      {{"webhook", "create", "https://a.org", "--event", "\xff"}, "UTF-8"},
      {{"webhook", "get"}, "ID"},
      {{"webhook", "test", ""}, "ID"},
      {{"webhook", "change", "a"}, "--enable"},
      {{"webhook", "change", "--enable"}, "ID"},
      {{"webhook", "change", "a", "--enable", "--disable"}, "one of"},
      {{"webhook", "secret", "a", "--previous", "30d"}, "--previous"},
      {{"webhook", "delete"}, "ID"},
      {{"webhook", "delete", "a", ""}, "ID"},
      {{"webhook", "ls"}, "list shows them"},
      {{"webhook", "enable"}, "change --enable"},
  };
  for (const auto& [args, word] : cases) {
    const auto command = parse_arguments(args, "1.2.3");
    const auto* finished = std::get_if<Finished>(&command);
    ASSERT_NE(finished, nullptr) << ::testing::PrintToString(args);
    EXPECT_EQ(finished->exit_code, 2) << ::testing::PrintToString(args);
    EXPECT_THAT(finished->error, HasSubstr(word)) << ::testing::PrintToString(args);
  }
}

TEST(WebhookWords, ARefusalNamesWhatWasTyped) {
  const auto text = [](const char* detail, const char* id) {
    return refusal_of_a_webhook(refusal_in_options(detail), id);
  };
  EXPECT_EQ(text("no such webhook", "abc"), "no such webhook: abc");
  EXPECT_EQ(text("url: expected a URL", ""), "URL: the server expects a URL");
  EXPECT_EQ(text("url: a.org:1 is beyond what is allowed", "abc"),
            "--url: a.org:1 is beyond what is allowed");
  EXPECT_EQ(text("events: expected kinds of events: created", ""),
            "--event: the server expects kinds of events: created");
}

TEST(WebhookText, OneIsShownLineByLine) {
  const auto webhook = runtime::json::parse(
      R"({"id":"abc","name":"","url":"https://a.org/","events":["created","ended"],)"
      R"("created_at":"2026-11-21T20:16:00.123Z","enabled":true,"disabled_reason":null,)"
      R"("failures":2,"previous_secret_until":null,"failing_since":"2026-11-21T20:17:00.000Z",)"
      R"("next_try_at":"2026-11-21T20:18:00.000Z","missed_events":0,"last_try":{)"
      R"("at":"2026-11-21T20:17:30.000Z","event":"ended","delivered":false,"status":500,)"
      R"("error":"the answer is 500"}})",
      "test");
  ASSERT_TRUE(webhook);
  EXPECT_EQ(webhook_text(*webhook),
            "id: abc\nurl: https://a.org/\nevents: created,ended\n"
            "created: 2026-11-21 20:16:00 UTC\nstate: failing\n"
            "failing since: 2026-11-21 20:17:00 UTC\nnext try: 2026-11-21 20:18:00 UTC\n"
            "last try: 2026-11-21 20:17:30 UTC, ended: not delivered: the answer is 500\n");
  runtime::json::Array all;
  all.push_back(*webhook);
  for (const std::size_t width : {0u, 200u, 80u, 40u}) {
    const std::string text = webhooks_text(all, width);
    EXPECT_THAT(text, HasSubstr("abc"));
    EXPECT_THAT(text, HasSubstr("failing"));
    EXPECT_THAT(text, Not(HasSubstr("\t")));
  }
}

}  // namespace
}  // namespace server::client
