#include "runtime/store/job_table.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>

#include "runtime/store/job_place.h"

namespace runtime {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

const JobTime epoch{1'700'000'000'000ms};

JobStart start_of(const std::string& id, std::chrono::microseconds after = 0ms,
                  const std::string& owner = "") {
  JobStart start;
  start.id = id;
  start.owner = owner;
  start.language = "python";
  start.code_sha256 = "abc";
  start.created = epoch + after;
  return start;
}

JobEnd end_of(const std::string& status, const std::string& result) {
  JobEnd end;
  end.status = status;
  end.execution_time_ms = 1.5;
  end.record = result;
  end.finished = epoch + 5s;
  return end;
}

JobTable table_with(JobBounds bounds, const std::string& path = in_memory) {
  auto table = JobTable::open(path, bounds);
  EXPECT_TRUE(table.has_value()) << table.error().message();
  return std::move(*table);
}

void add(JobTable& table, const JobStart& start, const JobEnd& end) {
  const auto done = table.transaction([&]() -> jail::Result<void> {
    if (auto inserted = table.insert(start); !inserted) return inserted;
    return table.finish(start.id, end);
  });
  ASSERT_TRUE(done.has_value()) << done.error().message();
}

std::vector<std::string> ids_of(const JobPage& page) {
  std::vector<std::string> ids;
  for (const JobSummary& job : page.jobs) ids.push_back(job.id);
  return ids;
}

TEST(JobTable, KeepsWhatItWasTold) {
  JobTable table = table_with({});
  ASSERT_TRUE(table.insert(start_of("a")).has_value());
  const auto running = table.find("a", std::nullopt);
  ASSERT_TRUE(running.has_value() && running->has_value());
  EXPECT_EQ((*running)->summary.status, "running");
  EXPECT_FALSE((*running)->summary.finished.has_value());
  ASSERT_TRUE(table.finish("a", end_of("success", R"({"x":"ü\u0000"})")).has_value());
  const auto found = table.find("a", std::nullopt);
  ASSERT_TRUE(found.has_value() && found->has_value());
  EXPECT_EQ((*found)->summary.status, "success");
  EXPECT_EQ((*found)->summary.language, "python");
  EXPECT_EQ((*found)->summary.code_sha256, "abc");
  EXPECT_EQ((*found)->summary.created, epoch);
  EXPECT_EQ((*found)->summary.finished, epoch + 5s);
  EXPECT_EQ((*found)->summary.execution_time_ms, 1.5);
  EXPECT_EQ((*found)->record, R"({"x":"ü\u0000"})");
  EXPECT_FALSE(table.find("b", std::nullopt)->has_value());
}

TEST(JobTable, AnEndIsFinal) {
  JobTable table = table_with({});
  add(table, start_of("a"), end_of("cancelled", "{}"));
  ASSERT_TRUE(table.finish("a", end_of("success", "{}")).has_value());
  ASSERT_TRUE(table.remove("a").has_value());
  EXPECT_EQ((*table.find("a", std::nullopt))->summary.status, "cancelled");
}

TEST(JobTable, AnotherOwnerSeesNothing) {
  JobTable table = table_with({});
  add(table, start_of("a", 0ms, "me"), end_of("success", "{}"));
  EXPECT_TRUE(table.find("a", "me")->has_value());
  EXPECT_FALSE(table.find("a", "you")->has_value());
  EXPECT_FALSE(table.find("a", "")->has_value());
  JobQuery query;
  query.owner = "you";
  EXPECT_THAT(ids_of(*table.list(query)), ElementsAre());
  query.owner = "me";
  EXPECT_THAT(ids_of(*table.list(query)), ElementsAre("a"));
}

TEST(JobTable, PagesFromNewToOldAlsoWhenTimesAreEqual) {
  JobTable table = table_with({});
  for (const char* id : {"a", "b", "c"}) add(table, start_of(id), end_of("success", "{}"));
  for (const char* id : {"d", "e"}) add(table, start_of(id, 1s), end_of("error", "{}"));
  JobQuery query;
  query.limit = 2;
  std::vector<std::string> seen;
  for (int pages = 1;; ++pages) {
    const auto page = table.list(query);
    ASSERT_TRUE(page.has_value());
    for (const auto& id : ids_of(*page)) seen.push_back(id);
    if (!page->next_cursor) {
      EXPECT_EQ(pages, 3);
      break;
    }
    EXPECT_TRUE(is_job_cursor(*page->next_cursor));
    query.cursor = page->next_cursor;
  }
  EXPECT_THAT(seen, ElementsAre("e", "d", "c", "b", "a"));
  JobQuery errors;
  errors.status = "error";
  EXPECT_THAT(ids_of(*table.list(errors)), ElementsAre("e", "d"));
}

TEST(JobTable, TwoOfOneMillisecondAreListedInTheirOrder) {
  JobTable table = table_with({});
  add(table, start_of("b", 1us), end_of("success", "{}"));
  add(table, start_of("a", 2us), end_of("success", "{}"));
  add(table, start_of("c", 3us), end_of("success", "{}"));
  EXPECT_THAT(ids_of(*table.list({})), ElementsAre("c", "a", "b"));
}

TEST(JobTable, OnlyItsOwnCursorsAreCursors) {
  for (const char* bad : {"", ".", "1", "1.", ".a", "x.a", "1 .a", "-", "99999999999999999999.a"}) {
    EXPECT_FALSE(is_job_cursor(bad)) << bad;
  }
  EXPECT_TRUE(is_job_cursor("17.a-b"));
}

TEST(JobTable, TheOldestGoWhenThereAreTooMany) {
  JobTable table = table_with({.kept = 3, .max_bytes = 1u << 30});
  ASSERT_TRUE(table.insert(start_of("first")).has_value());  // it still runs, so it stays
  for (int i = 0; i < 10; ++i) add(table, start_of(std::to_string(i), 1s * i), end_of("error", ""));
  EXPECT_THAT(ids_of(*table.list({})), ElementsAre("9", "8", "7", "first"));
}

TEST(JobTable, TheOldestGoWhenTheyAreTooLarge) {
  JobTable table = table_with({.kept = 1000, .max_bytes = 10'000});
  for (int i = 0; i < 10; ++i) {
    add(table, start_of(std::to_string(i), 1s * i), end_of("error", std::string(3'000, 'x')));
  }
  EXPECT_THAT(ids_of(*table.list({})), ElementsAre("9", "8"));
  add(table, start_of("huge", 20s), end_of("error", std::string(20'000, 'x')));
  EXPECT_THAT(ids_of(*table.list({})), ElementsAre());
}

TEST(JobTable, AFailedTransactionLeavesNothing) {
  JobTable table = table_with({});
  const auto done = table.transaction([&]() -> jail::Result<void> {
    if (auto inserted = table.insert(start_of("a")); !inserted) return inserted;
    return table.insert(start_of("a"));
  });
  EXPECT_FALSE(done.has_value());
  EXPECT_FALSE(table.find("a", std::nullopt)->has_value());
  EXPECT_TRUE(table.insert(start_of("a")).has_value());
}

class JobFile : public ::testing::Test {
 protected:
  JobFile() {
    std::string name = (std::filesystem::temp_directory_path() / "job_table.XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  ~JobFile() override { std::filesystem::remove_all(directory_); }

  std::string path() const { return directory_ + "/jobs.sqlite"; }

  std::string directory_;
};

TEST_F(JobFile, WhatRanWhenTheServerDiedHasFailed) {
  std::string salt;
  {
    JobTable table = table_with({}, path());
    EXPECT_EQ(table.found_running(), 0u);
    salt = table.salt();
    ASSERT_TRUE(table.insert(start_of("a")).has_value());
    add(table, start_of("b"), end_of("success", "{}"));
  }
  JobTable table = table_with({}, path());
  EXPECT_EQ(table.found_running(), 1u);
  EXPECT_EQ(table.salt(), salt);
  const auto found = table.find("a", std::nullopt);
  EXPECT_EQ((*found)->summary.status, "failed");
  EXPECT_THAT((*found)->summary.error, ::testing::HasSubstr("server ended"));
  EXPECT_TRUE((*found)->summary.finished.has_value());
  EXPECT_EQ((*table.find("b", std::nullopt))->summary.status, "success");
}

TEST_F(JobFile, HasOneUserAtATime) {
  {
    JobTable table = table_with({}, path());
    const auto second = JobTable::open(path(), {});
    ASSERT_FALSE(second.has_value());
    EXPECT_EQ(second.error().kind, jail::ErrorKind::refused);
  }
  EXPECT_TRUE(JobTable::open(path(), {}).has_value());
}

TEST_F(JobFile, SaltsDiffer) {
  EXPECT_NE(table_with({}, path()).salt(), table_with({}, path() + "2").salt());
}

}  // namespace
}  // namespace runtime
