// SandboxFiles over a directory of the host, which is opened as the root of a jail would be.
#include "runtime/living/sandbox_files.h"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace runtime {
namespace {

namespace fs = std::filesystem;

class SandboxFilesTest : public testing::Test {
 protected:
  SandboxFilesTest() {
    std::string name = testing::TempDir() + "sandbox-files-XXXXXX";
    root_ = ::mkdtemp(name.data());
    fd_ = jail::Fd(::open(root_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  ~SandboxFilesTest() override { fs::remove_all(root_); }

  jail::Result<jail::Fd> open(std::string_view path, int flags, mode_t mode) const {
    open_how how{};
    how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
    how.mode = (flags & O_CREAT) != 0 ? mode : 0;
    how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
    jail::Fd fd(static_cast<int>(
        ::syscall(SYS_openat2, fd_.get(), std::string(path).c_str(), &how, sizeof how)));
    if (!fd.valid()) return jail::Error{jail::ErrorKind::kernel, "open", errno, {}};
    return fd;
  }

  SandboxFiles files() const {
    return SandboxFiles(
        [this](std::string_view path, int flags, mode_t mode) { return open(path, flags, mode); });
  }

  void write(const std::string& path, std::string_view content) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << content;
  }

  std::string read(const std::string& path) const {
    std::ifstream file(root_ / path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  jail::Result<bool> put(std::string_view path, std::string_view content,
                         std::optional<mode_t> mode = std::nullopt) const {
    auto file = files().create(path, mode);
    if (!file) return file.error();
    if (auto written = file->write(content); !written) return written.error();
    return file->commit();
  }

  std::vector<std::string> names(std::string_view path, int depth = 1) const {
    const auto list = files().list(path, depth);
    EXPECT_TRUE(list) << list.error().message();
    std::vector<std::string> names;
    for (const auto& entry : list->entries) names.push_back(entry.path);
    return names;
  }

  fs::path root_;
  jail::Fd fd_;
};

TEST_F(SandboxFilesTest, AFileIsWrittenWithTheDirectoriesAboveIt) {
  const auto is_new = put("/a/b/c.txt", "hello");
  ASSERT_TRUE(is_new) << is_new.error().message();
  EXPECT_TRUE(*is_new);
  EXPECT_EQ(read("a/b/c.txt"), "hello");
  EXPECT_EQ(files().stat("/a/b/c.txt")->mode, 0644u);
  EXPECT_EQ(names("/a/b"), std::vector<std::string>{"/a/b/c.txt"}) << "nothing else is left";
}

TEST_F(SandboxFilesTest, AFileIsReplacedAtOnceAndKeepsItsMode) {
  ASSERT_TRUE(put("/x", "old", 0755));
  auto file = files().create("/x", std::nullopt);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->write("new"));
  EXPECT_EQ(read("x"), "old");
  const auto is_new = file->commit();
  ASSERT_TRUE(is_new);
  EXPECT_FALSE(*is_new);
  EXPECT_EQ(read("x"), "new");
  EXPECT_EQ(files().stat("/x")->mode, 0755u);
}

TEST_F(SandboxFilesTest, WhatIsNotCommittedLeavesNothing) {
  {
    auto file = files().create("/x", std::nullopt);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write("half"));
  }
  EXPECT_TRUE(names("/").empty());
}

// By a name a guest could open the file, and hold the lock that write() needs.
TEST_F(SandboxFilesTest, AFileHasNoNameUntilItIsWhole) {
  const auto names = [this] {
    return std::distance(fs::directory_iterator(root_), fs::directory_iterator());
  };
  for (const bool replaces : {false, true}) {
    auto file = files().create("/file", std::nullopt);
    ASSERT_TRUE(file) << file.error().message();
    ASSERT_TRUE(file->write("whole"));
    EXPECT_EQ(names(), replaces ? 1 : 0);
    const auto is_new = file->commit();
    ASSERT_TRUE(is_new) << is_new.error().message();
    EXPECT_EQ(*is_new, !replaces);
    EXPECT_EQ(names(), 1);
    EXPECT_EQ(read("file"), "whole");
  }
}

TEST_F(SandboxFilesTest, ALinkIsReplacedAndNotWrittenThrough) {
  write("target", "kept");
  fs::create_symlink("target", root_ / "link");
  ASSERT_TRUE(put("/link", "new"));
  EXPECT_EQ(read("target"), "kept");
  EXPECT_EQ(files().stat("/link")->type, FileEntry::Type::file);
}

TEST_F(SandboxFilesTest, EntriesSayWhatTheyAre) {
  write("file", "12345");
  fs::create_directory(root_ / "directory");
  fs::create_symlink("/etc/passwd", root_ / "link");
  ASSERT_EQ(::mkfifo((root_ / "fifo").c_str(), 0600), 0);
  const auto file = files().stat("/file");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->type, FileEntry::Type::file);
  EXPECT_EQ(file->size, 5u);
  EXPECT_EQ(files().stat("/directory/")->type, FileEntry::Type::directory);
  EXPECT_EQ(files().stat("/link")->type, FileEntry::Type::link);
  EXPECT_EQ(files().stat("/link")->target, "/etc/passwd");
  EXPECT_EQ(files().stat("/fifo")->type, FileEntry::Type::other);
  EXPECT_EQ(files().stat("/")->type, FileEntry::Type::directory);
  EXPECT_EQ(files().stat("/none").error().sys_errno, ENOENT);
}

TEST_F(SandboxFilesTest, ATimeThatNoClockCanSayIsBounded) {
  write("file", "");
  const timespec times[] = {{.tv_sec = 99'999'999'999'999, .tv_nsec = 0},
                            {.tv_sec = 99'999'999'999'999, .tv_nsec = 0}};
  ASSERT_EQ(::utimensat(fd_.get(), "file", times, 0), 0);
  const auto entry = files().stat("/file");
  ASSERT_TRUE(entry);
  EXPECT_GT(entry->modified, std::chrono::system_clock::now());
}

TEST_F(SandboxFilesTest, AListGoesAsDeepAsItIsAsked) {
  write("d/one", "");
  write("d/e/two", "");
  write("d/e/f/three", "");
  fs::create_symlink("/", root_ / "d/root");
  EXPECT_EQ(names("/d"), (std::vector<std::string>{"/d/e", "/d/one", "/d/root"}));
  EXPECT_EQ(names("/d", 2),
            (std::vector<std::string>{"/d/e", "/d/e/f", "/d/e/two", "/d/one", "/d/root"}));
  EXPECT_EQ(names("/d", 16).size(), 6u) << "the link is not followed";
  EXPECT_EQ(files().list("/d/one", 1).error().sys_errno, ENOTDIR);
}

TEST_F(SandboxFilesTest, AListIsBounded) {
  for (std::size_t i = 0; i < SandboxFiles::max_entries + 10; ++i) {
    write("many/" + std::to_string(i), "");
  }
  const auto list = files().list("/many", 1);
  ASSERT_TRUE(list);
  EXPECT_EQ(list->entries.size(), SandboxFiles::max_entries);
  EXPECT_TRUE(list->is_truncated);
}

TEST_F(SandboxFilesTest, DirectoriesAreMadeAndRemoved) {
  EXPECT_TRUE(*files().make_directory("/a/b/c"));
  EXPECT_FALSE(*files().make_directory("/a/b/c/"));
  write("file", "");
  EXPECT_EQ(files().make_directory("/file").error().sys_errno, EEXIST);
  EXPECT_EQ(files().make_directory("/file/below").error().sys_errno, ENOTDIR);
  EXPECT_EQ(files().remove("/a", false).error().sys_errno, ENOTEMPTY);
  EXPECT_TRUE(files().remove("/a/b/c", false));
  EXPECT_TRUE(files().remove("/a", true));
  EXPECT_FALSE(fs::exists(root_ / "a"));
  EXPECT_EQ(files().remove("/a", true).error().sys_errno, ENOENT);
}

TEST_F(SandboxFilesTest, WhatIsRemovedWithAllThatIsInItStaysWithin) {
  write("outside/kept", "");
  write("tree/a/b/c", "");
  fs::create_directory_symlink("/outside", root_ / "tree/a/link");
  fs::create_directory_symlink("../../outside", root_ / "tree/other");
  EXPECT_TRUE(files().remove("/tree", true));
  EXPECT_FALSE(fs::exists(root_ / "tree"));
  EXPECT_TRUE(fs::exists(root_ / "outside/kept"));
}

TEST_F(SandboxFilesTest, ATreeThatIsTooDeepIsNotRemoved) {
  fs::path deep = root_ / "deep";
  for (int i = 0; i < SandboxFiles::max_depth + 2; ++i) deep /= "d";
  fs::create_directories(deep);
  EXPECT_EQ(files().remove("/deep", true).error().sys_errno, ELOOP);
}

TEST_F(SandboxFilesTest, FilesMoveAndReplaceFilesAlone) {
  write("a", "1");
  write("b", "2");
  fs::create_directory(root_ / "d");
  EXPECT_TRUE(files().move("/a", "/b"));
  EXPECT_EQ(read("b"), "1");
  EXPECT_EQ(files().move("/b", "/d").error().sys_errno, EEXIST);
  EXPECT_TRUE(files().move("/b", "/d/b"));
  EXPECT_EQ(files().move("/none", "/x").error().sys_errno, ENOENT);
  EXPECT_EQ(files().move("/d", "/d/b/inside").error().sys_errno, ENOTDIR);
}

TEST_F(SandboxFilesTest, APathEndsInAName) {
  for (const char* path : {"/", "/.", "/a/..", "relative", ""}) {
    EXPECT_FALSE(files().create(path, std::nullopt)) << path;
    EXPECT_FALSE(files().remove(path, true)) << path;
  }
  EXPECT_EQ(files().remove("/..", true).error().kind, jail::ErrorKind::invalid);
}

TEST_F(SandboxFilesTest, ADirectoryIsNoFile) {
  fs::create_directory(root_ / "d");
  EXPECT_EQ(files().open_to_read("/d").error().sys_errno, EISDIR);
  EXPECT_EQ(files().create("/d", std::nullopt).error().sys_errno, EISDIR);
}

}  // namespace
}  // namespace runtime
