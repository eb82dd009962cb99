// DirectoryWatch over a directory of the host.
#include "runtime/living/directory_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace runtime {
namespace {

namespace fs = std::filesystem;
using Type = FileEvent::Type;

class DirectoryWatchTest : public testing::Test {
 protected:
  DirectoryWatchTest() {
    std::string name = testing::TempDir() + "watch-XXXXXX";
    root_ = ::mkdtemp(name.data());
  }
  ~DirectoryWatchTest() override { fs::remove_all(root_); }

  jail::Result<DirectoryWatch> start(bool is_recursive = true) const {
    const auto open = [](std::string_view path) -> jail::Result<jail::Fd> {
      jail::Fd fd(::open(std::string(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      if (!fd.valid()) return jail::Error{jail::ErrorKind::kernel, "open", errno, {}};
      return fd;
    };
    return DirectoryWatch::start(open, root_.string(), is_recursive,
                                 {.watches = {watches_}, .directories = {directories_}});
  }

  // Returns all events that wait, up to a bound: the type's number and the path within.
  static std::vector<FileEvent> all(DirectoryWatch& watch) {
    std::vector<FileEvent> events;
    for (bool has_more = true; has_more;) {
      auto read = watch.read();
      has_more = read.has_more;
      for (auto& event : read.events) events.push_back(std::move(event));
    }
    return events;
  }

  long count(const std::vector<FileEvent>& events, Type type, const std::string& path) const {
    const std::string whole = (root_ / path).string();
    return std::count_if(events.begin(), events.end(), [&](const FileEvent& event) {
      return event.type == type && event.path == whole;
    });
  }

  void write(const std::string& path) const { std::ofstream(root_ / path) << "x"; }

  fs::path root_;
  std::shared_ptr<WatchRoom> watches_ = std::make_shared<WatchRoom>(2);
  std::shared_ptr<WatchRoom> directories_ = std::make_shared<WatchRoom>(20);
};

TEST_F(DirectoryWatchTest, WhatIsInANewDirectoryIsToldOnce) {
  auto watch = start();
  ASSERT_TRUE(watch) << watch.error().message();
  fs::create_directories(root_ / "a/b");
  write("a/b/f");
  const auto events = all(*watch);
  for (const char* path : {"a", "a/b", "a/b/f"}) {
    EXPECT_EQ(count(events, Type::created, path), 1) << path;
  }
  write("a/b/g");
  EXPECT_EQ(count(all(*watch), Type::created, "a/b/g"), 1);
}

TEST_F(DirectoryWatchTest, AFileWithoutANameIsNotTold) {
  auto watch = start();
  ASSERT_TRUE(watch) << watch.error().message();
  const jail::Fd file(::open(root_.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600));
  ASSERT_TRUE(file.valid());
  ASSERT_EQ(::fchmod(file.get(), 0644), 0);
  ASSERT_EQ(::write(file.get(), "x", 1), 1);
  const std::string link = "/proc/self/fd/" + std::to_string(file.get());
  ASSERT_EQ(
      ::linkat(AT_FDCWD, link.c_str(), AT_FDCWD, (root_ / "named").c_str(), AT_SYMLINK_FOLLOW), 0);
  write("#1");  // which is the name of this one
  const auto events = all(*watch);
  EXPECT_EQ(count(events, Type::created, "named"), 1);
  EXPECT_EQ(count(events, Type::created, "#1"), 1);
  for (const FileEvent& event : events) {
    EXPECT_TRUE(event.path.ends_with("/named") || event.path.ends_with("/#1")) << event.path;
  }
}

// A reader that comes between the two events of a rename sees only the first one. The kernel's
// queue holds all of them.
TEST_F(DirectoryWatchTest, AMoveIsNeverTwoEvents) {
  write("a");
  auto watch = start();
  ASSERT_TRUE(watch) << watch.error().message();
  std::atomic<bool> goes_on{true};
  std::thread moves([&] {
    for (int i = 0; i < 7000; ++i)
      fs::rename(root_ / (i % 2 == 0 ? "a" : "b"), root_ / (i % 2 == 0 ? "b" : "a"));
    goes_on = false;
  });
  long moved = 0;
  long others = 0;
  bool has_more = true;
  while (goes_on || has_more) {
    const auto read = watch->read();
    has_more = read.has_more;
    for (const FileEvent& event : read.events) {
      if (event.type == Type::overflow) continue;
      ++(event.type == Type::moved ? moved : others);
    }
  }
  moves.join();
  EXPECT_GT(moved, 0);
  EXPECT_EQ(others, 0);
}

TEST_F(DirectoryWatchTest, OfADirectoryThatWasMovedAwayNothingMoreIsTold) {
  const fs::path elsewhere = root_.string() + "-elsewhere";
  fs::create_directories(root_ / "a/b");
  auto watch = start();
  ASSERT_TRUE(watch) << watch.error().message();
  fs::rename(root_ / "a", elsewhere);
  std::ofstream(elsewhere / "b/f") << "x";
  fs::create_directory(elsewhere / "c");
  fs::rename(elsewhere, root_ / "d");
  write("d/b/g");
  const auto events = all(*watch);
  EXPECT_EQ(count(events, Type::removed, "a"), 1);
  EXPECT_EQ(count(events, Type::created, "a/b/f"), 0);
  EXPECT_EQ(count(events, Type::created, "a/c"), 0);
  EXPECT_EQ(count(events, Type::created, "a/b/g"), 0);
  for (const char* path : {"d", "d/b", "d/b/f", "d/c", "d/b/g"}) {
    EXPECT_EQ(count(events, Type::created, path), 1) << path;
  }
}

TEST_F(DirectoryWatchTest, ExchangedDirectoriesHaveTheirNewPaths) {
  fs::create_directories(root_ / "a/in");
  fs::create_directories(root_ / "b/in");
  auto watch = start();
  ASSERT_TRUE(watch);
  const std::string a = (root_ / "a").string();
  const std::string b = (root_ / "b").string();
  ASSERT_EQ(::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE), 0);
  (void)all(*watch);
  write("a/in/1");
  write("b/in/2");
  const auto events = all(*watch);
  EXPECT_EQ(count(events, Type::created, "a/in/1"), 1);
  EXPECT_EQ(count(events, Type::created, "b/in/2"), 1);
}

TEST_F(DirectoryWatchTest, RoomIsGivenBack) {
  for (int round = 0; round < 5; ++round) {
    auto first = start();
    auto second = start();
    ASSERT_TRUE(first && second);
    EXPECT_FALSE(start()) << "the third";
    for (int number = 0; number < 30; ++number)
      fs::create_directory(root_ / std::to_string(number));
    (void)all(*first);
    for (int number = 0; number < 30; ++number) fs::remove(root_ / std::to_string(number));
    (void)all(*first);
    (void)all(*second);
    EXPECT_EQ(first->directories() + second->directories(), 2u);
  }
}

TEST_F(DirectoryWatchTest, ATreeThatIsTooLargeIsRefusedAndOneThatGrowsOverflows) {
  for (int number = 0; number < 19; ++number) fs::create_directory(root_ / std::to_string(number));
  auto watch = start();
  ASSERT_TRUE(watch);
  EXPECT_EQ(watch->directories(), 20u);
  EXPECT_FALSE(start(false)) << "no room for one more";
  fs::create_directory(root_ / "more");
  const auto events = all(*watch);
  const auto is_overflow = [](const FileEvent& event) { return event.type == Type::overflow; };
  EXPECT_TRUE(std::any_of(events.begin(), events.end(), is_overflow));
}

TEST_F(DirectoryWatchTest, ItIsOverWithItsDirectory) {
  auto watch = start();
  ASSERT_TRUE(watch);
  fs::rename(root_, root_.string() + "-moved");
  EXPECT_TRUE(watch->read().is_over);
  fs::remove_all(root_.string() + "-moved");
}

}  // namespace
}  // namespace runtime
