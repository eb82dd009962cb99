#include "runtime/lessons/lesson_place.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace runtime::lessons {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class LessonPlace : public ::testing::Test {
 protected:
  LessonPlace() {
    std::string name = (fs::temp_directory_path() / "lesson_place.XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
    path_ = directory_ + "/state/agent-sandbox/lessons.sqlite";
  }
  ~LessonPlace() override { fs::remove_all(directory_); }

  void damage() {
    fs::create_directories(fs::path(path_).parent_path());
    std::ofstream(path_) << std::string(8192, 'x');
  }

  std::string directory_;
  std::string path_;
  std::string log_;
  Logger logger_{{.level = LogLevel::debug,
                  .format = LogFormat::text,
                  .write = [this](std::string_view line) { log_ += line; }}};
};

TEST_F(LessonPlace, IsBesideTheJobs) {
  Config config;
  EXPECT_EQ(usual_lessons_path(config, {}), std::nullopt);
  EXPECT_EQ(usual_lessons_path(config, {{"HOME", "/h"}}),
            "/h/.local/state/agent-sandbox/lessons.sqlite");
  EXPECT_EQ(usual_lessons_path(config, {{"STATE_DIRECTORY", "/var/lib/a"}}),
            "/var/lib/a/lessons.sqlite");
  config.jobs_path = "/srv/jobs.db";
  EXPECT_EQ(usual_lessons_path(config, {{"HOME", "/h"}}), "/srv/lessons.sqlite");
  config.jobs_path = ":memory:";
  EXPECT_EQ(usual_lessons_path(config, {{"HOME", "/h"}}), ":memory:");
}

TEST_F(LessonPlace, AnOwnerMayHaveAQuarter) {
  Config config;
  EXPECT_EQ(bounds_of(config).kept, 2000u);
  EXPECT_EQ(bounds_of(config).of_an_owner, 500u);
  config.lessons_kept = 1;
  EXPECT_EQ(bounds_of(config).of_an_owner, 1u);
}

TEST_F(LessonPlace, IsMadeForItsOwnerAlone) {
  const auto table = open_lesson_table(std::nullopt, path_, {}, logger_);
  ASSERT_TRUE(table.has_value()) << table.error().message();
  for (const char* suffix : {"", "-wal", "-shm"}) {
    struct stat status {};
    ASSERT_EQ(::stat((path_ + suffix).c_str(), &status), 0) << suffix;
    EXPECT_EQ(status.st_mode & 0777, 0600u) << suffix;
  }
  EXPECT_EQ(log_, "");
}

TEST_F(LessonPlace, ADamagedFileIsSetAsideAtTheUsualPlace) {
  damage();
  ASSERT_TRUE(open_lesson_table(std::nullopt, path_, {}, logger_).has_value());
  EXPECT_EQ(fs::file_size(path_ + ".damaged"), 8192u);
  EXPECT_THAT(log_, HasSubstr("set aside"));
}

TEST_F(LessonPlace, ADamagedFileThatWasConfiguredStopsTheStart) {
  damage();
  const auto table = open_lesson_table(path_, std::nullopt, {}, logger_);
  ASSERT_FALSE(table.has_value());
  EXPECT_THAT(table.error().message(), HasSubstr(path_));
  EXPECT_THAT(table.error().message(), HasSubstr("LESSONS_PATH"));
  EXPECT_EQ(fs::file_size(path_), 8192u);
}

TEST_F(LessonPlace, AnotherProgramsDatabaseIsLeftAlone) {
  fs::create_directories(fs::path(path_).parent_path());
  {
    auto other = Database::open(path_);
    ASSERT_TRUE(other.has_value());
    ASSERT_TRUE(other->run("CREATE TABLE theirs (x)").has_value());
  }
  const auto configured = open_lesson_table(path_, std::nullopt, {}, logger_);
  ASSERT_FALSE(configured.has_value());
  EXPECT_THAT(configured.error().message(), HasSubstr("another program"));
  EXPECT_TRUE(open_lesson_table(std::nullopt, path_, {}, logger_).has_value());
  EXPECT_THAT(log_, HasSubstr("kept in memory"));
  EXPECT_TRUE(Database::open(path_)->run("INSERT INTO theirs VALUES (1)").has_value());
}

TEST_F(LessonPlace, WhereNothingCanBeWritten) {
  std::ofstream(directory_ + "/file") << "x";
  const std::string below = directory_ + "/file/state/lessons.sqlite";
  EXPECT_TRUE(open_lesson_table(std::nullopt, below, {}, logger_).has_value());
  EXPECT_THAT(log_, HasSubstr("kept in memory"));
  EXPECT_FALSE(open_lesson_table(below, std::nullopt, {}, logger_).has_value());
}

}  // namespace
}  // namespace runtime::lessons
