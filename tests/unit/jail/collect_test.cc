// Collects from directories of the host; the kernel ring does the same after real guests.
#include "jail/collect.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "jail/fd.h"

namespace jail {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class CollectTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string room = (std::filesystem::temp_directory_path() / "collect.XXXXXX").string();
    ASSERT_NE(::mkdtemp(room.data()), nullptr);
    root_ = room;
    directory_ = Fd(::open(room.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(directory_.valid());
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void put(const std::string& path, const std::string& content = "x") {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path, std::ios::binary) << content;
  }

  Collection collect(std::vector<std::string> globs, const CollectLimits& limits = {}) {
    return jail::collect(directory_.get(), globs, limits);
  }
  std::vector<std::string> paths(std::vector<std::string> globs, const CollectLimits& limits = {}) {
    std::vector<std::string> paths;
    for (const CollectedFile& file : collect(std::move(globs), limits).files) {
      paths.push_back(file.path);
    }
    return paths;
  }
  // Returns "path: reason", in order.
  std::vector<std::string> skips(const Collection& collection) {
    std::vector<std::string> lines;
    for (const SkippedFile& file : collection.skipped) {
      lines.push_back(file.path + ": " + std::string(to_string(file.reason)));
    }
    return lines;
  }

  std::filesystem::path root_;
  Fd directory_;
};

TEST_F(CollectTest, GlobsNameWhatGlobSevenSays) {
  for (const char* path : {"a.png", "b.txt", "sub/c.png", "sub/deep/d.png", ".hidden.png",
                           ".dir/e.png", "sub/.f.png", "x[1].png", "\xFF.png"}) {
    put(path);
  }
  EXPECT_THAT(paths({"*.png"}), ElementsAre("a.png", "x[1].png", "\xFF.png"));
  EXPECT_THAT(paths({"?.png"}), ElementsAre("a.png", "\xFF.png"));
  EXPECT_THAT(paths({"[ab].*"}), ElementsAre("a.png", "b.txt"));
  EXPECT_THAT(paths({"x[[]1].png"}), ElementsAre("x[1].png"));
  EXPECT_THAT(paths({"sub/*.png"}), ElementsAre("sub/c.png"));
  EXPECT_THAT(paths({"**/d.png"}), ElementsAre("sub/deep/d.png"));
  EXPECT_THAT(paths({"**/*.png"}),
              ElementsAre("a.png", "sub/c.png", "sub/deep/d.png", "x[1].png", "\xFF.png"));
  EXPECT_THAT(paths({"sub/**"}), ElementsAre("sub/c.png", "sub/deep/d.png"));
  EXPECT_THAT(paths({"**/**/**/a.png", "a.*"}), ElementsAre("a.png"));
  EXPECT_THAT(paths({".*"}), ElementsAre(".hidden.png"));
  EXPECT_THAT(paths({".dir/*", "sub/.*"}), ElementsAre(".dir/e.png", "sub/.f.png"));
  EXPECT_THAT(paths({"sub", "sub/deep", "nothing", "*/nothing"}), IsEmpty());
  EXPECT_THAT(skips(collect({"sub", "nothing"})), IsEmpty());
}

TEST_F(CollectTest, GlobsThatCannotNameAnythingAreRefused) {
  for (const std::string glob : {"", "/", "/etc/passwd", "../x", "a/../b", "a//b", "a/", "."}) {
    EXPECT_FALSE(check_glob(glob)) << glob;
  }
  EXPECT_FALSE(check_glob(std::string_view("a\0", 2)));
  EXPECT_FALSE(check_glob(std::string(513, 'a')));
  std::string deep = "a";
  for (int i = 1; i < 32; ++i) deep += "/a";
  EXPECT_TRUE(check_glob(deep));
  EXPECT_FALSE(check_glob(deep + "/a"));
}

TEST_F(CollectTest, OneGlobAndOnePath) {
  EXPECT_TRUE(glob_names("**/*.png", "a/b/c.png"));
  EXPECT_TRUE(glob_names("**/*.png", "c.png"));
  EXPECT_FALSE(glob_names("*.png", "a/c.png"));
  EXPECT_FALSE(glob_names("a/*", "a"));
  EXPECT_FALSE(glob_names("**", "a/.b"));
  EXPECT_FALSE(glob_names("**", "/etc/x")) << "no file of a directory has such a path";
  EXPECT_FALSE(glob_names("**", ""));
  EXPECT_FALSE(glob_names("../*", "../a"));
}

TEST_F(CollectTest, ContentIsTheFilesBytes) {
  const std::string bytes("\0\xFF\n\r\0", 5);
  put("a", bytes);
  put("empty", "");
  const Collection collection = collect({"*"});
  ASSERT_EQ(collection.files.size(), 2u);
  EXPECT_EQ(collection.files[0].content, bytes);
  EXPECT_EQ(collection.files[1].content, "");
}

TEST_F(CollectTest, WhatIsNoFileOfItsOwnIsSkipped) {
  put("file");
  std::filesystem::create_symlink("/etc/passwd", root_ / "link");
  std::filesystem::create_symlink("file", root_ / "link_within");
  std::filesystem::create_directory_symlink("/etc", root_ / "outside");
  std::filesystem::create_hard_link(root_ / "file", root_ / "hard");
  ASSERT_EQ(::mkfifo((root_ / "fifo").c_str(), 0600), 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  (root_ / "socket").string().copy(address.sun_path, sizeof address.sun_path - 1);
  const Fd socket(::socket(AF_UNIX, SOCK_STREAM, 0));
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  const Collection collection = collect({"*", "outside/passwd", "**/passwd"});
  EXPECT_THAT(collection.files, IsEmpty());
  EXPECT_THAT(skips(collection),
              ElementsAre("fifo: not a regular file", "file: more than one link",
                          "hard: more than one link", "link: not a regular file",
                          "link_within: not a regular file", "outside: not a regular file",
                          "socket: not a regular file"));
  EXPECT_EQ(collection.skipped_total, 7u);
}

TEST_F(CollectTest, SizesAreBounded) {
  CollectLimits limits;
  limits.file_bytes = 10;
  limits.total_bytes = 25;
  limits.files = 3;
  put("a", std::string(10, 'a'));
  put("b", std::string(11, 'b'));
  put("c", std::string(10, 'c'));
  put("d", std::string(6, 'd'));
  put("e", std::string(5, 'e'));
  put("f", "");
  const Collection collection = collect({"*"}, limits);
  EXPECT_THAT(paths({"*"}, limits), ElementsAre("a", "c", "e"));
  EXPECT_THAT(
      skips(collection),
      ElementsAre("b: too large", "d: too large together with the others", "f: too many files"));
}

TEST_F(CollectTest, AHoleIsNotReadOneTerabyteLong) {
  put("sparse", "x");
  ASSERT_EQ(::truncate((root_ / "sparse").c_str(), off_t{1} << 40), 0);
  EXPECT_THAT(skips(collect({"*"})), ElementsAre("sparse: too large"));
}

TEST_F(CollectTest, DepthIsBounded) {
  CollectLimits limits;
  limits.depth = 2;
  put("one/two/three/four/file");
  put("one/two/file");
  const Collection collection = collect({"**"}, limits);
  EXPECT_THAT(paths({"**"}, limits), ElementsAre("one/two/file"));
  EXPECT_THAT(skips(collection), ElementsAre("one/two/three: too deep"));
}

TEST_F(CollectTest, EntriesAndTheListOfSkipsAreBounded) {
  for (int i = 0; i < 50; ++i) std::filesystem::create_symlink("x", root_ / std::to_string(i));
  CollectLimits limits;
  limits.listed_skips = 7;
  Collection collection = collect({"*"}, limits);
  EXPECT_EQ(collection.skipped.size(), 7u);
  EXPECT_EQ(collection.skipped_total, 50u);
  limits.entries = 10;
  limits.listed_skips = 100;
  collection = collect({"*"}, limits);
  EXPECT_EQ(collection.skipped_total, 11u);
  EXPECT_EQ(collection.skipped.front().reason, SkipReason::too_many_entries);
}

TEST_F(CollectTest, ComparisonsAreBounded) {
  for (int i = 0; i < 3000; ++i) put(std::string(200, 'a') + std::to_string(i), "");
  std::string stars;
  for (int i = 0; i < 120; ++i) stars += "*a?";
  std::vector<std::string> globs(64, stars + "b");
  const auto before = std::chrono::steady_clock::now();
  const Collection collection = collect(globs);
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(10));
  EXPECT_THAT(skips(collection), ElementsAre(".: too many entries in the directories"));
}

}  // namespace
}  // namespace jail
