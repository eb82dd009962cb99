// Files that an older version wrote, and tasks with their checkpoints while they run.
#include <gmock/gmock.h>
#include <stdlib.h>

#include <filesystem>

#include "runtime/store/job_table.h"
#include "runtime/store/sandbox_table.h"
#include "runtime/store/volume_table.h"
#include "runtime/store/webhook_table.h"

namespace runtime {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A file of version 1, with one job that ended and one that outlived its server.
constexpr const char* version_1 = R"sql(
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE jobs (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  owner TEXT NOT NULL,
  status TEXT NOT NULL,
  language TEXT NOT NULL,
  code_sha256 TEXT NOT NULL,
  created INTEGER NOT NULL,
  finished INTEGER,
  execution_time_ms REAL,
  bytes INTEGER NOT NULL DEFAULT 0,
  error TEXT NOT NULL DEFAULT '',
  result TEXT NOT NULL DEFAULT '');
CREATE INDEX jobs_by_time ON jobs (created, id);
INSERT INTO settings VALUES
  ('salt', '0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef');
INSERT INTO jobs (id, owner, status, language, code_sha256, created, finished, execution_time_ms,
                  bytes, result)
  VALUES ('old', 'me', 'success', 'bash', 'abc', 1700000000000, 1700000001000, 1.5, 514, '{}');
INSERT INTO jobs (id, owner, status, language, code_sha256, created)
  VALUES ('cut', 'me', 'running', 'python', 'def', 1700000002000);
PRAGMA application_id=1634169698;
)sql";

// The same file of version 2: a result of each kind, and a task that outlived its server.
constexpr const char* version_2 = R"sql(
ALTER TABLE jobs ADD COLUMN kind TEXT NOT NULL DEFAULT 'code';
CREATE TABLE checkpoints (
  job INTEGER NOT NULL,
  place INTEGER NOT NULL,
  document TEXT NOT NULL,
  PRIMARY KEY (job, place)) WITHOUT ROWID;
CREATE TRIGGER job_dropped AFTER DELETE ON jobs BEGIN
  DELETE FROM checkpoints WHERE job = old.seq;
END;
CREATE TRIGGER job_ended AFTER UPDATE OF result ON jobs WHEN new.result <> '' BEGIN
  DELETE FROM checkpoints WHERE job = new.seq;
END;
INSERT INTO jobs (id, owner, status, language, code_sha256, created, finished, bytes, result, kind)
  VALUES ('task', 'me', 'completed', 'python', 'abc', 1, 2, 519, '{"a":1}', 'task'),
         ('bad', 'me', 'success', 'python', 'abc', 1, 2, 515, 'bad', 'code');
INSERT INTO jobs (id, owner, status, language, code_sha256, created, kind)
  VALUES ('cut task', 'me', 'running', 'python', 'def', 3, 'task');
INSERT INTO checkpoints SELECT seq, 0, '{"b":2}' FROM jobs WHERE id = 'cut task';
INSERT INTO checkpoints SELECT seq, 1, 'bad' FROM jobs WHERE id = 'cut task';
INSERT INTO checkpoints SELECT seq, 2, '{"c":3}' FROM jobs WHERE id = 'cut task';
PRAGMA user_version=2;
)sql";

// Stands in for the reader of runtime/service.
jail::Result<std::string> read_old_answer(OldAnswer kind, const std::string& answer) {
  if (answer == "bad") return jail::Error{jail::ErrorKind::invalid, "bad", 0, {}};
  return std::to_string(static_cast<int>(kind)) + std::string(1, '\0') + answer;
}

std::string record_of(OldAnswer kind, const std::string& answer) {
  return *read_old_answer(kind, answer);
}

class JobHistory : public ::testing::Test {
 protected:
  JobHistory() {
    std::string pattern = std::filesystem::temp_directory_path() / "job-file.XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
  }
  ~JobHistory() override { std::filesystem::remove_all(directory_); }

  std::string path() const { return directory_ / "jobs.sqlite"; }

  void write_old_file(const std::string& more) {
    auto database = Database::open(path());
    ASSERT_TRUE(database.has_value());
    const auto done = database->run(version_1 + more);
    ASSERT_TRUE(done.has_value()) << done.error().message();
  }

  JobTable open() {
    auto table = JobTable::open(path(), {}, read_old_answer);
    EXPECT_TRUE(table.has_value()) << table.error().message();
    return std::move(*table);
  }

  static JobRecord must_find(JobTable& table, const std::string& id) {
    auto record = table.find(id, std::nullopt);
    EXPECT_TRUE(record.has_value() && record->has_value()) << id;
    return record && *record ? std::move(**record) : JobRecord();
  }

  static JobStart task_of(const std::string& id) {
    JobStart start;
    start.id = id;
    start.kind = task_job;
    start.language = "python";
    start.created = JobTime(1'700'000'000'000ms);
    return start;
  }

  std::filesystem::path directory_;
};

TEST_F(JobHistory, OfVersion1KeepsItsJobs) {
  write_old_file("PRAGMA user_version=1");
  for (int round = 0; round < 2; ++round) {
    JobTable table = open();
    EXPECT_EQ(table.found_running(), round == 0 ? 1u : 0u);
    EXPECT_EQ(table.salt().substr(0, 4), "0123");
    const JobRecord old = must_find(table, "old");
    EXPECT_EQ(old.summary.kind, "code");
    EXPECT_EQ(old.summary.status, "success");
    EXPECT_EQ(old.summary.language, "bash");
    EXPECT_EQ(old.summary.execution_time_ms, 1.5);
    EXPECT_EQ(old.summary.created, JobTime(1'700'000'000'000ms));
    EXPECT_EQ(old.summary.finished, JobTime(1'700'000'001'000ms));
    EXPECT_EQ(old.record, record_of(OldAnswer::program, "{}"));
    EXPECT_THAT(old.checkpoints, IsEmpty());
    const JobRecord cut = must_find(table, "cut");
    EXPECT_EQ(cut.summary.status, "failed");
    EXPECT_THAT(cut.summary.error, HasSubstr("before the result was stored"));
    EXPECT_EQ(table.list({})->jobs.size(), 2u);
  }
  JobTable table = open();
  ASSERT_TRUE(table.insert(task_of("new")).has_value());
  ASSERT_TRUE(table.checkpoint("new", 0, "1").has_value());
  EXPECT_THAT(must_find(table, "new").checkpoints, ElementsAre("1"));
}

TEST_F(JobHistory, OfVersion2HasRecordsForItsAnswers) {
  write_old_file(version_2);
  for (int round = 0; round < 2; ++round) {
    JobTable table = open();
    EXPECT_EQ(must_find(table, "old").record, record_of(OldAnswer::program, "{}"));
    EXPECT_EQ(must_find(table, "task").record, record_of(OldAnswer::task, R"({"a":1})"));
    const JobRecord bad = must_find(table, "bad");
    EXPECT_EQ(bad.record, "");
    EXPECT_EQ(bad.summary.status, "success");
    EXPECT_THAT(bad.summary.error, HasSubstr("cannot be read"));
    EXPECT_THAT(must_find(table, "cut task").checkpoints,
                ElementsAre(record_of(OldAnswer::attempt, R"({"b":2})"),
                            record_of(OldAnswer::attempt, R"({"c":3})")));
  }
  auto database = Database::open(path());
  ASSERT_TRUE(database.has_value());
  EXPECT_EQ(*database->number("SELECT sum(bytes - 512 - length(record)) FROM jobs"
                              " WHERE id IN ('old', 'task', 'bad')"),
            0);
}

TEST_F(JobHistory, OfAnOlderVersionIsRefusedWhereNobodyReadsItsAnswers) {
  write_old_file(version_2);
  const auto table = JobTable::open(path(), {});
  ASSERT_FALSE(table.has_value());
  EXPECT_EQ(table.error().kind, jail::ErrorKind::unsupported);
  JobTable opened = open();
  EXPECT_EQ(must_find(opened, "old").summary.status, "success");
}

TEST_F(JobHistory, OfVersion3GetsTheTablesOfSandboxes) {
  { JobTable table = open(); }
  {
    auto database = Database::open(path());
    ASSERT_TRUE(database.has_value());
    ASSERT_TRUE(
        database->run("DROP TABLE sandboxes; DROP TABLE sandbox_events; DROP TABLE webhooks;"
                      "DROP TABLE volumes; PRAGMA user_version=3"));
  }
  auto opened = JobTable::open(path(), {});
  ASSERT_TRUE(opened.has_value()) << opened.error().message();
  SandboxTable sandboxes(opened->database(), 10);
  EXPECT_TRUE(sandboxes.all().has_value());
  EXPECT_TRUE(sandboxes.events({}).has_value());
}

TEST_F(JobHistory, OfVersion4GetsTheTableOfWebhooksAndKeepsItsSandboxes) {
  {
    JobTable table = open();
    SandboxTable sandboxes(table.database(), 10);
    ASSERT_TRUE(sandboxes.put({.id = "a", .owner = "o", .ended = {}, .record = "r"}).has_value());
    ASSERT_TRUE(table.database()
                    .run("DROP TABLE webhooks; DROP TABLE volumes; PRAGMA user_version=4")
                    .has_value());
  }
  auto opened = JobTable::open(path(), {});
  ASSERT_TRUE(opened.has_value()) << opened.error().message();
  SandboxTable sandboxes(opened->database(), 10);
  const auto kept = sandboxes.all();
  ASSERT_TRUE(kept.has_value());
  EXPECT_EQ(kept->size(), 1u);
  WebhookTable webhooks(opened->database());
  EXPECT_TRUE(webhooks.all().has_value());
}

TEST_F(JobHistory, OfVersion5GetsTheTableOfVolumes) {
  {
    JobTable table = open();
    ASSERT_TRUE(table.database().run("DROP TABLE volumes; PRAGMA user_version=5").has_value());
  }
  auto opened = JobTable::open(path(), {});
  ASSERT_TRUE(opened.has_value()) << opened.error().message();
  VolumeTable volumes(opened->database());
  EXPECT_TRUE(volumes.all().has_value());
}

TEST_F(JobHistory, OfALaterVersionIsLeftAlone) {
  for (const char* version : {"PRAGMA user_version=7", "PRAGMA user_version=0"}) {
    std::filesystem::remove(path());
    write_old_file(version);
    const auto table = JobTable::open(path(), {}, read_old_answer);
    ASSERT_FALSE(table.has_value()) << version;
    EXPECT_EQ(table.error().kind, jail::ErrorKind::unsupported);
  }
}

TEST_F(JobHistory, ATaskThatItsServerDidNotOutliveKeepsItsHistory) {
  {
    JobTable table = open();
    ASSERT_TRUE(table.insert(task_of("t")).has_value());
    ASSERT_TRUE(table.checkpoint("t", 0, R"({"attempt":1})").has_value());
    ASSERT_TRUE(table.checkpoint("t", 1, R"({"attempt":2,"x":"ü"})").has_value());
    EXPECT_EQ(must_find(table, "t").summary.status, "running");
  }
  JobTable table = open();
  const JobRecord record = must_find(table, "t");
  EXPECT_EQ(record.summary.kind, "task");
  EXPECT_EQ(record.summary.status, "failed");
  EXPECT_THAT(record.summary.error, HasSubstr("before the task did"));
  EXPECT_EQ(record.record, "");
  EXPECT_THAT(record.checkpoints, ElementsAre(R"({"attempt":1})", R"({"attempt":2,"x":"ü"})"));
  EXPECT_EQ(table.list({})->jobs.at(0).kind, "task");
  ASSERT_TRUE(table.checkpoint("t", 2, "late").has_value());
  EXPECT_EQ(must_find(table, "t").checkpoints, record.checkpoints) << "it has ended";
}

TEST_F(JobHistory, ALaterCheckpointTakesThePlaceOfAnEarlier) {
  JobTable table = open();
  ASSERT_TRUE(table.insert(task_of("t")).has_value());
  const std::pair<std::size_t, const char*> told[] = {
      {0, "1"}, {1, "2"}, {10, "4"}, {2, "3"}, {0, R"({"critique":"1"})"}, {10, "44"}};
  for (const auto& [place, document] : told) {
    ASSERT_TRUE(table.checkpoint("t", place, document).has_value());
  }
  EXPECT_THAT(must_find(table, "t").checkpoints,
              ElementsAre(R"({"critique":"1"})", "2", "3", "44"));
}

TEST_F(JobHistory, AResultTakesThePlaceOfTheCheckpoints) {
  JobTable table = open();
  for (const char* result : {"{}", ""}) {
    const std::string id = std::string("t") + result;
    ASSERT_TRUE(table.insert(task_of(id)).has_value());
    ASSERT_TRUE(table.checkpoint(id, 0, "1").has_value());
    JobEnd end;
    end.status = "completed";
    end.record = result;
    ASSERT_TRUE(table.finish(id, end).has_value());
    EXPECT_EQ(must_find(table, id).checkpoints.size(), *result == '\0' ? 1u : 0u);
  }
}

TEST_F(JobHistory, CheckpointsCountAsMuchAsResults) {
  const std::string large(100'000, 'x');
  auto table = JobTable::open(":memory:", {.kept = 10, .max_bytes = 250'000});
  ASSERT_TRUE(table.has_value());
  for (const char* id : {"a", "b", "c"}) {
    ASSERT_TRUE(table->insert(task_of(id)).has_value());
    ASSERT_TRUE(table->checkpoint(id, 0, large).has_value());
    JobEnd end;
    end.status = "failed";
    ASSERT_TRUE(table->finish(id, end).has_value());
  }
  EXPECT_EQ(table->list({})->jobs.size(), 2u);
}

}  // namespace
}  // namespace runtime
