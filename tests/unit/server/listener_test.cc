#include "server/http/listener.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class UnixListenerTest : public ::testing::Test {
 protected:
  UnixListenerTest() {
    std::string name = ::testing::TempDir() + "listener.XXXXXX";
    directory_ = ::mkdtemp(name.data());
    path_ = directory_ + "/socket";
  }
  ~UnixListenerTest() override { std::filesystem::remove_all(directory_); }

  mode_t mode_of_file() const {
    struct stat entry {};
    return ::lstat(path_.c_str(), &entry) == 0 ? entry.st_mode : 0;
  }

  void is_refused_and_left_alone() {
    const mode_t before = mode_of_file();
    const auto listener = listen_unix(path_, 0600);
    ASSERT_FALSE(listener);
    EXPECT_THAT(listener.error().message(), AllOf(HasSubstr(path_), HasSubstr("no socket")));
    EXPECT_EQ(mode_of_file(), before);
  }

  std::string directory_;
  std::string path_;
};

TEST_F(UnixListenerTest, TheFileHasTheModeWhateverTheUmaskSays) {
  const mode_t before = ::umask(0);
  for (const mode_t mask : {0, 022, 077, 0777}) {
    ::umask(mask);
    for (const mode_t mode : {0600, 0660, 0666}) {
      const auto listener = listen_unix(path_, mode);
      EXPECT_TRUE(listener);
      EXPECT_EQ(mode_of_file(), S_IFSOCK | mode);
    }
  }
  ::umask(before);
}

TEST_F(UnixListenerTest, TheFileGoesWithTheListener) {
  {
    auto listener = listen_unix(path_, 0600);
    ASSERT_TRUE(listener);
    const SocketFile moved = std::move(listener->file);
    listener->file.remove();
    EXPECT_NE(mode_of_file(), 0u);
  }
  EXPECT_EQ(mode_of_file(), 0u);
}

TEST_F(UnixListenerTest, AFileThatIsSomebodyElsesStays) {
  auto listener = listen_unix(path_, 0600);
  ASSERT_TRUE(listener);
  ::unlink(path_.c_str());
  std::ofstream(path_) << "another's";
  listener->file.remove();
  EXPECT_TRUE(S_ISREG(mode_of_file()));
}

TEST_F(UnixListenerTest, WhatADeadServerLeftIsReplaced) {
  auto dead = listen_unix(path_, 0666);
  ASSERT_TRUE(dead);
  dead->socket.reset();
  const auto listener = listen_unix(path_, 0600);
  ASSERT_TRUE(listener) << listener.error().message();
  EXPECT_EQ(mode_of_file(), S_IFSOCK | 0600u);
}

TEST_F(UnixListenerTest, OneOnWhichSomebodyListensIsRefused) {
  const auto first = listen_unix(path_, 0600);
  ASSERT_TRUE(first);
  const auto second = listen_unix(path_, 0600);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message(), AllOf(HasSubstr(path_), HasSubstr("another process")));
  EXPECT_NE(mode_of_file(), 0u);
}

TEST_F(UnixListenerTest, WhatIsNoSocketIsLeftAlone) {
  std::ofstream(path_) << "text";
  is_refused_and_left_alone();
  ::unlink(path_.c_str());
  ASSERT_EQ(::symlink("elsewhere", path_.c_str()), 0);
  is_refused_and_left_alone();
  ::unlink(path_.c_str());
  ASSERT_EQ(::mkdir(path_.c_str(), 0700), 0);
  is_refused_and_left_alone();
}

TEST_F(UnixListenerTest, ADirectoryThatIsMissingIsNamed) {
  path_ = directory_ + "/none/socket";
  const auto listener = listen_unix(path_, 0600);
  ASSERT_FALSE(listener);
  EXPECT_THAT(listener.error().message(), HasSubstr(path_));
}

}  // namespace
}  // namespace server
