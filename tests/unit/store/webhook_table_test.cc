#include "runtime/store/webhook_table.h"

#include <gmock/gmock.h>

#include "runtime/store/database_place.h"
#include "runtime/store/job_schema.h"

namespace runtime {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

class WebhookTableTest : public ::testing::Test {
 protected:
  WebhookTableTest() : database_(*Database::open(in_memory)) {
    EXPECT_TRUE(make_job_tables(database_, {}).has_value());
  }

  static WebhookRow row_of(const std::string& id, const std::string& owner) {
    WebhookRow row;
    row.id = id;
    row.owner = owner;
    row.created = StoredTime(3us);
    row.url = "https://example.org/";
    row.events = {"created", "ended"};
    row.secret = Secret("whsec_x");
    return row;
  }

  std::vector<WebhookRow> all() {
    auto rows = table_.all();
    EXPECT_TRUE(rows.has_value());
    return rows ? std::move(*rows) : std::vector<WebhookRow>();
  }

  Database database_;
  WebhookTable table_{database_};
};

TEST_F(WebhookTableTest, KeepsAllOfOne) {
  WebhookRow row = row_of("a", "me");
  ASSERT_TRUE(table_.add(row).has_value());
  row.name = "n";
  row.disabled = "why";
  row.cursor = 7;
  row.missed = 8;
  row.failures = 9;
  row.failing_since = StoredTime(10us);
  row.next_try = StoredTime(11us);
  row.last = WebhookTry{StoredTime(12us), "ended", 503, "busy"};
  ASSERT_TRUE(table_.put(row).has_value());
  const auto rows = all();
  ASSERT_EQ(rows.size(), 1u);
  const WebhookRow& kept = rows[0];
  EXPECT_EQ(kept.id, "a");
  EXPECT_EQ(kept.owner, "me");
  EXPECT_EQ(kept.created, StoredTime(3us));
  EXPECT_EQ(kept.name, "n");
  EXPECT_EQ(kept.url, "https://example.org/");
  EXPECT_THAT(kept.events, ElementsAre("created", "ended"));
  EXPECT_EQ(kept.secret.reveal(), "whsec_x");
  EXPECT_EQ(kept.disabled, "why");
  EXPECT_EQ(kept.cursor, 7u);
  EXPECT_EQ(kept.missed, 8u);
  EXPECT_EQ(kept.failures, 9u);
  EXPECT_EQ(kept.failing_since, StoredTime(10us));
  EXPECT_EQ(kept.next_try, StoredTime(11us));
  ASSERT_TRUE(kept.last.has_value());
  EXPECT_EQ(kept.last->at, StoredTime(12us));
  EXPECT_EQ(kept.last->event, "ended");
  EXPECT_EQ(kept.last->status, 503);
  EXPECT_EQ(kept.last->error, "busy");
}

TEST_F(WebhookTableTest, ANewOneBeginsBehindTheEventsOfItsOwner) {
  SandboxTable events(database_, 10);
  for (const char* owner : {"me", "me", "you"}) {
    ASSERT_TRUE(events
                    .add_event(owner, {.sandbox = "s",
                                       .at = StoredTime(5us),
                                       .kind = "created",
                                       .request = "",
                                       .detail = "{}"})
                    .has_value());
  }
  WebhookRow row = row_of("a", "me");
  row.cursor = 77;
  EXPECT_EQ(*table_.add(row), 2u);
  EXPECT_EQ(*table_.add(row_of("b", "nobody")), 0u);
  EXPECT_EQ(all()[0].cursor, 2u);
  EXPECT_FALSE(all()[0].last.has_value());
}

TEST_F(WebhookTableTest, OneThatWasRemovedStaysAway) {
  const WebhookRow row = row_of("a", "me");
  ASSERT_TRUE(table_.add(row).has_value());
  ASSERT_TRUE(table_.add(row_of("b", "me")).has_value());
  ASSERT_TRUE(table_.remove("a").has_value());
  ASSERT_TRUE(table_.put(row).has_value());
  ASSERT_EQ(all().size(), 1u);
  EXPECT_EQ(all()[0].id, "b");
}

}  // namespace
}  // namespace runtime
