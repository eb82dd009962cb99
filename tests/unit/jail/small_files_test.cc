#include "parent/small_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace jail {
namespace {

using testing::EndsWith;
using testing::IsEmpty;
using testing::SizeIs;

class SmallFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string room = (std::filesystem::temp_directory_path() / "small-files.XXXXXX").string();
    ASSERT_NE(::mkdtemp(room.data()), nullptr);
    place_ = room;
    ::umask(022);
  }
  void TearDown() override { std::filesystem::remove_all(place_); }

  void put(const std::string& path, const std::string& text, mode_t mode = 0644) {
    std::filesystem::create_directories((place_ / path).parent_path());
    std::ofstream(place_ / path, std::ios::binary) << text;
    ASSERT_EQ(::chmod((place_ / path).c_str(), mode), 0);
  }
  std::optional<std::string> read(const std::string& path) const {
    const auto file =
        small_file(Fd(::open((place_ / path).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)), "/x");
    return file ? std::optional(file->text) : std::nullopt;
  }
  Root copied() const {
    Root root;
    root.binds = {{place_.string(), "/etc/x", NodeKind::directory}};
    return with_small_directories_copied(root);
  }
  void expect_kept_as_bind() const {
    const Root root = copied();
    EXPECT_THAT(root.binds, SizeIs(1));
    EXPECT_THAT(root.files, IsEmpty());
    EXPECT_THAT(root.links, IsEmpty());
  }

  std::filesystem::path place_;
};

TEST_F(SmallFilesTest, TextIsReadAsItIs) {
  const std::string text("a\0b\n", 4);
  put("file", text);
  EXPECT_EQ(read("file"), text);
  put("empty", "");
  EXPECT_EQ(read("empty"), "");
}

TEST_F(SmallFilesTest, AFileOfTheKernelIsLongerThanItSays) {
  const auto read_all = [](const char* path) {
    const auto file = small_file(Fd(::open(path, O_RDONLY | O_CLOEXEC)), "/x");
    return file ? file->text : std::string();
  };
  EXPECT_EQ(read_all("/proc/sys/kernel/ostype"), "Linux\n");
  const std::string mappings = read_all("/proc/self/smaps");
  EXPECT_GT(mappings.size(), 4096u);
  EXPECT_THAT(mappings, EndsWith("\n"));
}

TEST_F(SmallFilesTest, ACopyIsAsOldAsTheFile) {
  put("file", "x");
  const timespec times[] = {{1, 2}, {1'000'000'000, 5}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (place_ / "file").c_str(), times, 0), 0);
  const auto file = small_file(Fd(::open((place_ / "file").c_str(), O_RDONLY | O_CLOEXEC)), "/y");
  ASSERT_TRUE(file && file->modified);
  EXPECT_EQ(file->target, "/y");
  EXPECT_EQ(file->modified->tv_sec, 1'000'000'000);
  EXPECT_EQ(file->modified->tv_nsec, 5);
}

TEST_F(SmallFilesTest, OnlyWhatACopyCanBe) {
  put("large", std::string((1u << 20) + 1, 'x'));
  put("program", "#!", 0755);
  put("secret", "x", 0640);
  ASSERT_EQ(::mkfifo((place_ / "fifo").c_str(), 0644), 0);
  for (const char* name : {"large", "program", "secret", "fifo", "missing"}) {
    EXPECT_EQ(read(name), std::nullopt) << name;
  }
}

TEST_F(SmallFilesTest, ATreeBecomesFilesAndLinks) {
  put("a", "1");
  put("b/c", "2");
  std::filesystem::create_symlink("/usr/bin/true", place_ / "b/d");
  const Root root = copied();
  EXPECT_THAT(root.binds, IsEmpty());
  ASSERT_THAT(root.files, SizeIs(2));
  ASSERT_THAT(root.links, SizeIs(1));
  EXPECT_EQ(root.links[0].target, "/etc/x/b/d");
  EXPECT_EQ(root.links[0].points_to, "/usr/bin/true");
  for (const TextFile& file : root.files) {
    EXPECT_EQ(file.text, file.target == "/etc/x/a" ? "1" : "2") << file.target;
  }
}

TEST_F(SmallFilesTest, WhatCannotBeCopiedAsItIsStaysAMount) {
  put("a", "1");
  put("program", "#!", 0755);
  expect_kept_as_bind();
}

TEST_F(SmallFilesTest, AnEmptyDirectoryWouldBeLost) {
  put("a", "1");
  std::filesystem::create_directory(place_ / "empty");
  expect_kept_as_bind();
}

TEST_F(SmallFilesTest, LargeTreesStayMounts) {
  put("a", std::string(600'000, 'x'));
  put("b", std::string(600'000, 'x'));
  expect_kept_as_bind();
}

TEST_F(SmallFilesTest, TreesOfManyEntriesStayMounts) {
  for (int i = 0; i <= 2000; ++i) {
    std::filesystem::create_symlink("x", place_ / std::to_string(i));
  }
  expect_kept_as_bind();
}

TEST_F(SmallFilesTest, SingleFilesStayMounts) {
  put("a", "1");
  Root root;
  root.binds = {{(place_ / "a").string(), "/etc/a", NodeKind::file}};
  EXPECT_THAT(with_small_directories_copied(root).binds, SizeIs(1));
}

}  // namespace
}  // namespace jail
