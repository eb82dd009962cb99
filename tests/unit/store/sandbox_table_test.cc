#include "runtime/store/sandbox_table.h"

#include <gmock/gmock.h>

#include "runtime/store/database_place.h"
#include "runtime/store/job_schema.h"

namespace runtime {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class SandboxTableTest : public ::testing::Test {
 protected:
  SandboxTableTest() : database_(*Database::open(in_memory)) {
    EXPECT_TRUE(make_job_tables(database_, {}).has_value());
  }

  void add_event(const std::string& owner, const std::string& sandbox, const std::string& kind) {
    const auto added = table_.add_event(
        owner,
        {.sandbox = sandbox, .at = StoredTime(5us), .kind = kind, .request = "r", .detail = "{}"});
    ASSERT_TRUE(added.has_value()) << added.error().message();
  }

  std::vector<std::string> kinds(const SandboxEventQuery& query) {
    const auto page = table_.events(query);
    EXPECT_TRUE(page.has_value());
    has_more_ = page->has_more;
    std::vector<std::string> kinds;
    for (const SandboxEvent& event : page->events) kinds.push_back(event.kind);
    return kinds;
  }

  Database database_;
  SandboxTable table_{database_, 3};
  bool has_more_ = false;
};

TEST_F(SandboxTableTest, KeepsWhatItWasToldLast) {
  ASSERT_TRUE(table_.put({"b", "me", std::nullopt, "lives"}));
  ASSERT_TRUE(table_.put({"a", "me", std::nullopt, "too"}));
  ASSERT_TRUE(table_.put({"b", "me", StoredTime(7us), std::string("\0ended", 6)}));
  const auto rows = table_.all();
  ASSERT_TRUE(rows.has_value());
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ((*rows)[0].id, "b");
  EXPECT_EQ((*rows)[0].ended, StoredTime(7us));
  EXPECT_EQ((*rows)[0].record, std::string("\0ended", 6));
  EXPECT_EQ((*rows)[1].ended, std::nullopt);
  ASSERT_TRUE(table_.remove("b"));
  EXPECT_EQ(table_.all()->size(), 1u);
}

TEST_F(SandboxTableTest, ProcessesWhoseEndNobodySaw) {
  SandboxTable table(database_, 100);
  const auto note = [&](const std::string& sandbox, const std::string& kind, int pid) {
    ASSERT_TRUE(table.add_event(
        "me", {.sandbox = sandbox,
               .at = StoredTime(5us),
               .kind = kind,
               .request = "",
               .detail = pid == 0 ? "{}" : "{\"pid\":" + std::to_string(pid) + "}"}));
  };
  for (const int pid : {5, 4, 3}) note("s", "process_started", pid);
  note("s", "process_ended", 4);
  note("s", "process_ended", 3);
  note("s", "process_started", 3);
  note("s", "process_started", 0);
  note("s", "file_read", 9);
  note("t", "process_started", 8);
  note("t", "process_ended", 5);
  EXPECT_THAT(*table.processes_without_end("s"), ElementsAre(3, 5));
  EXPECT_THAT(*table.processes_without_end("t"), ElementsAre(8));
  EXPECT_THAT(*table.processes_without_end("u"), IsEmpty());
}

TEST_F(SandboxTableTest, EventsOfAnOwnerAreNumberedAndTheOldestGo) {
  for (const char* kind : {"1", "2", "3", "4"}) add_event("me", "s", kind);
  add_event("you", "t", "yours");
  EXPECT_THAT(kinds({.owner = "me"}), ElementsAre("2", "3", "4"));
  EXPECT_THAT(kinds({.owner = "you"}), ElementsAre("yours"));
  EXPECT_EQ(table_.events({.owner = "you"})->events[0].number, 1u)
      << "a number says nothing about what others do";
  EXPECT_THAT(kinds({.owner = "nobody"}), IsEmpty());
}

TEST_F(SandboxTableTest, ConnectionsDropNoOtherEvent) {
  add_event("me", "s", "created");
  add_event("me", "t", "egress_refused");
  for (int times = 0; times < 100; ++times) add_event("me", "s", "egress_allowed");
  add_event("me", "s", "ended");
  EXPECT_THAT(kinds({.owner = "me"}),
              ElementsAre("created", "egress_refused", "egress_allowed", "ended"));
  for (const char* kind : {"1", "2", "3"}) add_event("me", "s", kind);
  EXPECT_THAT(kinds({.owner = "me"}),
              ElementsAre("egress_refused", "egress_allowed", "1", "2", "3"));
}

TEST_F(SandboxTableTest, OfManyEventsTheLatestAreKeptAndAFewMore) {
  SandboxTable table(database_, 640);
  for (int times = 0; times < 2000; ++times) {
    ASSERT_TRUE(table.add_event("me", {.sandbox = "s",
                                       .at = StoredTime(5us),
                                       .kind = std::to_string(times),
                                       .request = "",
                                       .detail = "{}"}));
  }
  const auto page = table.events({.owner = "me", .limit = 1000});
  ASSERT_TRUE(page.has_value());
  EXPECT_GE(page->events.size(), 640u);
  EXPECT_LT(page->events.size(), 640u + 10);
  EXPECT_EQ(page->events.back().kind, "1999");
}

TEST_F(SandboxTableTest, EventsComeInPagesFromBothEnds) {
  add_event("me", "s", "1");
  add_event("me", "t", "2");
  add_event("me", "s", "3");
  EXPECT_THAT(kinds({.owner = "me", .limit = 2}), ElementsAre("1", "2"));
  EXPECT_TRUE(has_more_);
  EXPECT_THAT(kinds({.owner = "me", .after = 2, .limit = 2}), ElementsAre("3"));
  EXPECT_FALSE(has_more_);
  EXPECT_THAT(kinds({.owner = "me", .limit = 2, .is_newest_first = true}), ElementsAre("3", "2"));
  EXPECT_THAT(kinds({.owner = "me", .before = 2, .is_newest_first = true}), ElementsAre("1"));
  EXPECT_THAT(kinds({.owner = "me", .sandbox = "s"}), ElementsAre("1", "3"));
  EXPECT_THAT(kinds({.owner = "me", .kind = "2"}), ElementsAre("2"));
}

}  // namespace
}  // namespace runtime
