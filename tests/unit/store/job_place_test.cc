#include "runtime/store/job_place.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <mutex>

#include "runtime/store/digest.h"

namespace runtime {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class JobPlace : public ::testing::Test {
 protected:
  JobPlace() {
    std::string name = (fs::temp_directory_path() / "job_place.XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
    path_ = directory_ + "/state/agent-sandbox/jobs.sqlite";
  }
  ~JobPlace() override { fs::remove_all(directory_); }

  std::string log() {
    std::string all;
    for (const std::string& line : lines_) all += line;
    return all;
  }

  void damage(const std::string& path) {
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path) << std::string(8192, 'x');
  }

  std::string directory_;
  std::string path_;
  std::vector<std::string> lines_;
  Logger logger_{{.level = LogLevel::debug,
                  .format = LogFormat::text,
                  .write = [this](std::string_view line) { lines_.emplace_back(line); }}};
};

TEST_F(JobPlace, TheUsualOne) {
  EXPECT_EQ(usual_jobs_path({}), std::nullopt);
  EXPECT_EQ(usual_jobs_path({{"HOME", "/h"}}), "/h/.local/state/agent-sandbox/jobs.sqlite");
  EXPECT_EQ(usual_jobs_path({{"HOME", "/h"}, {"XDG_STATE_HOME", "/s"}}),
            "/s/agent-sandbox/jobs.sqlite");
  EXPECT_EQ(usual_jobs_path({{"HOME", "/h"}, {"XDG_STATE_HOME", "relative"}}),
            "/h/.local/state/agent-sandbox/jobs.sqlite");
  EXPECT_EQ(usual_jobs_path({{"HOME", "/h"}, {"STATE_DIRECTORY", "/var/lib/a:/var/lib/b"}}),
            "/var/lib/a/jobs.sqlite");
}

TEST_F(JobPlace, IsMadeForItsOwnerAlone) {
  EXPECT_TRUE(open_job_table(std::nullopt, path_, {}, {}, logger_).has_value());
  struct stat status {};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  ASSERT_EQ(::stat(fs::path(path_).parent_path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  EXPECT_EQ(log(), "");
}

TEST_F(JobPlace, ADamagedFileIsSetAsideAtTheUsualPlace) {
  damage(path_);
  ASSERT_TRUE(open_job_table(std::nullopt, path_, {}, {}, logger_).has_value());
  EXPECT_TRUE(fs::exists(path_ + ".damaged"));
  EXPECT_EQ(fs::file_size(path_ + ".damaged"), 8192u);
  EXPECT_THAT(log(), HasSubstr("set aside"));
}

TEST_F(JobPlace, ADamagedFileThatWasConfiguredStopsTheStart) {
  damage(path_);
  const auto table = open_job_table(path_, std::nullopt, {}, {}, logger_);
  ASSERT_FALSE(table.has_value());
  EXPECT_THAT(table.error().message(), HasSubstr(path_));
  EXPECT_THAT(table.error().message(), HasSubstr("move the file away"));
  EXPECT_EQ(fs::file_size(path_), 8192u);
}

TEST_F(JobPlace, AnotherProgramsDatabaseIsLeftAlone) {
  fs::create_directories(fs::path(path_).parent_path());
  {
    auto other = Database::open(path_);
    ASSERT_TRUE(other.has_value());
    ASSERT_TRUE(other->run("CREATE TABLE theirs (x)").has_value());
  }
  const auto table = open_job_table(path_, std::nullopt, {}, {}, logger_);
  ASSERT_FALSE(table.has_value());
  EXPECT_THAT(table.error().message(), HasSubstr("another program"));
  EXPECT_TRUE(Database::open(path_)->run("INSERT INTO theirs VALUES (1)").has_value());
}

TEST_F(JobPlace, WhereASecondServerHoldsTheFile) {
  const auto first = open_job_table(std::nullopt, path_, {}, {}, logger_);
  ASSERT_TRUE(first.has_value());
  const auto configured = open_job_table(path_, std::nullopt, {}, {}, logger_);
  ASSERT_FALSE(configured.has_value());
  EXPECT_THAT(configured.error().message(), HasSubstr("another server"));
  EXPECT_TRUE(open_job_table(std::nullopt, path_, {}, {}, logger_).has_value());
  EXPECT_THAT(log(), HasSubstr("kept in memory"));
}

TEST_F(JobPlace, WhereNothingCanBeWritten) {
  std::ofstream(directory_ + "/file") << "x";
  const std::string below = directory_ + "/file/state/jobs.sqlite";
  EXPECT_TRUE(open_job_table(std::nullopt, below, {}, {}, logger_).has_value());
  EXPECT_THAT(log(), HasSubstr("kept in memory"));
  const auto configured = open_job_table(below, std::nullopt, {}, {}, logger_);
  ASSERT_FALSE(configured.has_value());
  EXPECT_THAT(configured.error().message(), HasSubstr("JOBS_PATH"));
}

TEST_F(JobPlace, WhatIsNotARegularFileIsNamedAsThat) {
  const std::string pipe = directory_ + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {std::string("/dev/full"), pipe, directory_}) {
    const auto configured = open_job_table(path, std::nullopt, {}, {}, logger_);
    ASSERT_FALSE(configured.has_value()) << path;
    EXPECT_EQ(configured.error().message(),
              "jobs in " + path +
                  ": it is not a regular file. Hint: set JOBS_PATH to a file that this user may "
                  "write, or to :memory:");
  }
}

TEST(Digest, KnownAnswers) {
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(keyed_sha256("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

}  // namespace
}  // namespace runtime
