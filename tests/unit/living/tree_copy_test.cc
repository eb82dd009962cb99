// Copies of trees that guests have left.
#include "runtime/living/tree_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "runtime/living/disk_count.h"

namespace runtime {
namespace {

namespace fs = std::filesystem;
using jail::ErrorKind;
using jail::Fd;

class TreeCopyTest : public testing::Test {
 protected:
  TreeCopyTest() {
    std::string name = testing::TempDir() + "tree-copy-XXXXXX";
    root_ = fs::canonical(::mkdtemp(name.data()));
    fs::create_directory(from());
    fs::create_directory(to());
  }
  ~TreeCopyTest() override {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }

  fs::path from() const { return root_ / "from"; }
  fs::path to() const { return root_ / "to"; }
  static Fd opened(const fs::path& path) {
    return Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  TreeCopy copy(TreeCopy::Limits limits = {.bytes = 100u << 20, .files = 1000},
                const Cancel& cancel = Cancel()) const {
    return {opened(from()), opened(to()), limits, cancel};
  }
  static void write(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }
  static std::string text_of(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static struct stat status_of(const fs::path& path) {
    struct stat status {};
    EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
    return status;
  }

  fs::path root_;
};

TEST_F(TreeCopyTest, HasContentModesTimesAndLinks) {
  fs::create_directories(from() / "a" / "b");
  write(from() / "a" / "b" / "file", std::string(100'000, 'x'));
  write(from() / "program", "text");
  ASSERT_EQ(::chmod((from() / "program").c_str(), 06755), 0);
  fs::create_symlink("/etc/passwd", from() / "link");
  fs::create_symlink("nowhere", from() / "broken");
  const timespec times[] = {{.tv_sec = 5, .tv_nsec = 6}, {.tv_sec = 7, .tv_nsec = 8}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (from() / "a" / "b").c_str(), times, 0), 0);
  TreeCopy all = copy();
  const auto done = all.run();
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(text_of(to() / "a" / "b" / "file"), std::string(100'000, 'x'));
  EXPECT_EQ(status_of(to() / "program").st_mode & 07777, 0755u);
  EXPECT_EQ(fs::read_symlink(to() / "link"), "/etc/passwd");
  EXPECT_EQ(fs::read_symlink(to() / "broken"), "nowhere");
  EXPECT_EQ(status_of(to() / "a" / "b").st_mtim.tv_sec, 7);
  EXPECT_EQ(all.files(), 6u);
  write(to() / "a" / "b" / "file", "other");
  EXPECT_EQ(text_of(from() / "a" / "b" / "file").size(), 100'000u);
}

TEST_F(TreeCopyTest, LeavesOutWhatIsNeitherFileDirectoryNorLink) {
  ASSERT_EQ(::mkfifo((from() / "pipe").c_str(), 0666), 0);
  const auto done = copy().run();
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_TRUE(fs::is_empty(to()));
}

TEST_F(TreeCopyTest, HolesStayHoles) {
  const Fd file(::open((from() / "sparse").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  ASSERT_EQ(::ftruncate(file.get(), 50 << 20), 0);
  ASSERT_EQ(::pwrite(file.get(), "x", 1, 20 << 20), 1);
  const auto done = copy().run();
  ASSERT_TRUE(done) << done.error().message();
  const struct stat made = status_of(to() / "sparse");
  EXPECT_EQ(made.st_size, 50 << 20);
  EXPECT_LT(made.st_blocks, 2048);
  EXPECT_EQ(text_of(to() / "sparse")[20 << 20], 'x');
}

TEST_F(TreeCopyTest, WhatItsOwnerMayNotReadIsCopied) {
  fs::create_directory(from() / "shut");
  write(from() / "shut" / "file", "text");
  ASSERT_EQ(::chmod((from() / "shut" / "file").c_str(), 0), 0);
  ASSERT_EQ(::chmod((from() / "shut").c_str(), 0), 0);
  const auto done = copy().run();
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(status_of(to() / "shut").st_mode & 07777, 0u);
  ASSERT_EQ(::chmod((to() / "shut").c_str(), 0700), 0);
  EXPECT_EQ(status_of(to() / "shut" / "file").st_mode & 07777, 0u);
  EXPECT_EQ(status_of(from() / "shut" / "file").st_mode & 07777, 0u);
  EXPECT_EQ(status_of(to() / "shut" / "file").st_size, 4);
}

TEST_F(TreeCopyTest, IsWithinItsLimits) {
  for (int i = 0; i < 10; ++i) write(from() / std::to_string(i), std::string(8192, 'x'));
  for (const TreeCopy::Limits limits :
       {TreeCopy::Limits{.bytes = 40'000, .files = 100}, {.bytes = 1u << 20, .files = 9}}) {
    const auto done = copy(limits).run();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().kind, ErrorKind::exhausted);
    EXPECT_EQ(done.error().sys_errno, EFBIG);
    for (const auto& entry : fs::directory_iterator(to())) fs::remove(entry);
  }
}

TEST_F(TreeCopyTest, ATreeThatIsTooDeepIsRefused) {
  Fd directory = opened(from());
  for (int depth = 0; depth <= DiskCount::max_depth; ++depth) {
    ASSERT_EQ(::mkdirat(directory.get(), "d", 0700), 0);
    directory = Fd(::openat(directory.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  const auto done = copy().run();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().sys_errno, EFBIG);
}

TEST_F(TreeCopyTest, CanBeCancelled) {
  write(from() / "file", "text");
  const Cancel cancel;
  cancel.request();
  const auto done = copy({.bytes = 1u << 20, .files = 10}, cancel).run();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::closed);
}

}  // namespace
}  // namespace runtime
