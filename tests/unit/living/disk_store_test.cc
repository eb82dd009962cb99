// Directories for sandboxes: who has which, and how what is in them is removed.
#include "runtime/living/disk_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

namespace runtime {
namespace {

namespace fs = std::filesystem;
using jail::ErrorKind;
using jail::Fd;
using State = TreeRemoval::State;

class DiskStoreTest : public testing::Test {
 protected:
  DiskStoreTest() {
    std::string name = testing::TempDir() + "disk-store-XXXXXX";
    root_ = fs::canonical(::mkdtemp(name.data()));
  }
  ~DiskStoreTest() override { fs::remove_all(root_); }

  std::shared_ptr<DiskStore> store() const {
    auto store = DiskStore::open(disks());
    if (!store) ADD_FAILURE() << store.error().message();
    return store ? *store : nullptr;
  }
  std::string disks() const { return (root_ / "disks").string(); }

  std::ptrdiff_t servers() const {
    return std::distance(fs::directory_iterator(disks()), fs::directory_iterator());
  }

  static State empty(DiskStore& store) {
    State state = State::more;
    while (state == State::more) state = store.remove_some(100);
    return state;
  }

  fs::path root_;
};

TEST_F(DiskStoreTest, ADirectoryHasItsOwnNameAndIsItsOwnersAlone) {
  const auto store = this->store();
  const auto one = store->make();
  const auto two = store->make();
  ASSERT_TRUE(one && two);
  EXPECT_NE((*one)->path(), (*two)->path());
  struct stat status {};
  ASSERT_EQ(::stat((*one)->path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0700u);
  ASSERT_EQ(::stat(disks().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0700u);
}

TEST_F(DiskStoreTest, WhatIsGivenUpIsRemoved) {
  const auto store = this->store();
  const auto directory = *store->make();
  std::ofstream(directory->path() + "/file") << "text";
  const std::string path = directory->path();
  directory->give_up();
  EXPECT_FALSE(fs::exists(path));
  EXPECT_EQ(empty(*store), State::done);
  EXPECT_FALSE(directory->open().valid());
}

TEST_F(DiskStoreTest, WhatIsKeptOutlivesItsServerAndIsRemovedByName) {
  std::string path;
  {
    const auto store = this->store();
    const auto directory = *store->make();
    std::ofstream(directory->path() + "/file") << "text";
    ASSERT_TRUE(store->make_volume(*directory, "mine"));
    EXPECT_FALSE(store->make_volume(**store->make(), "mine")) << "the name is taken";
    directory->give_up();
    EXPECT_EQ(empty(*store), State::done);
    const auto again = store->open_volume("mine");
    ASSERT_TRUE(again) << again.error().message();
    path = (*again)->path();
    // A guest may shut the directory that it is shown.
    fs::permissions(path, fs::perms::none);
  }
  const auto next = this->store();
  EXPECT_EQ(empty(*next), State::done);
  const auto opened = next->open_volume("mine");
  ASSERT_TRUE(opened) << opened.error().message();
  EXPECT_TRUE(fs::exists(path + "/file"));
  (*opened)->give_up();
  EXPECT_TRUE(fs::exists(path + "/file")) << "it is kept";
  EXPECT_FALSE(next->open_volume("other"));
  fs::permissions(path, fs::perms::none);
  EXPECT_TRUE(*next->remove_volume("mine"));
  EXPECT_FALSE(*next->remove_volume("mine"));
  EXPECT_FALSE(fs::exists(path));
  EXPECT_EQ(empty(*next), State::done);
}

TEST_F(DiskStoreTest, ALinkIsNoVolume) {
  const auto store = this->store();
  ASSERT_FALSE(store->open_volume("x"));
  fs::create_directory(root_ / "outside");
  fs::create_directory_symlink(root_ / "outside", fs::path(disks()) / "volumes" / "link");
  EXPECT_FALSE(store->open_volume("link"));
  EXPECT_FALSE(store->remove_volume("link"));
  EXPECT_TRUE(fs::exists(root_ / "outside"));
}

TEST_F(DiskStoreTest, WhatLeadsElsewhereIsTheNameOfNoVolume) {
  const auto store = this->store();
  const auto directory = *store->make();
  fs::create_directory(fs::path(disks()) / "other");
  ASSERT_FALSE(store->open_volume("x"));
  for (const char* name : {"../other", "", ".", "..", "x/../../other", "/"}) {
    EXPECT_EQ(store->open_volume(name).error().kind, ErrorKind::invalid) << name;
    EXPECT_EQ(store->remove_volume(name).error().kind, ErrorKind::invalid) << name;
    EXPECT_EQ(store->make_volume(*directory, name).error().kind, ErrorKind::invalid) << name;
  }
  EXPECT_TRUE(fs::exists(fs::path(disks()) / "other"));
}

TEST_F(DiskStoreTest, AServerLeavesNothing) {
  {
    const auto store = this->store();
    { const auto directory = *store->make(); }
    EXPECT_EQ(empty(*store), State::done);
    EXPECT_EQ(servers(), 1);
  }
  EXPECT_EQ(servers(), 0);
}

TEST_F(DiskStoreTest, WhatADeadServerLeftIsRemovedAndWhatALivingOneHasIsNot) {
  const auto other = store();
  const auto kept = *other->make();
  std::ofstream(kept->path() + "/kept") << "text";
  const pid_t pid = ::fork();
  if (pid == 0) {
    auto dying = DiskStore::open(disks());
    auto left = dying ? (*dying)->make() : dying.error();
    if (!left) ::_exit(1);
    std::ofstream((*left)->path() + "/left") << "text";
    ::_exit(0);  // as by SIGKILL: nothing is destroyed
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  ASSERT_EQ(status, 0);
  EXPECT_EQ(servers(), 2);
  const auto next = store();
  EXPECT_EQ(empty(*next), State::done);
  EXPECT_EQ(servers(), 2);
  EXPECT_TRUE(fs::exists(kept->path() + "/kept"));
}

// Runs in a child that has the root of the test as a file system of its own, for 100 files. Returns
// 0, or the step that failed.
int start_where_a_dead_server_left_no_room(const std::string& root, const std::string& disks) {
  if (::mount("disks", root.c_str(), "tmpfs", 0, "nr_inodes=100") != 0) return 1;
  const auto fill = [](const std::string& directory) {
    int number = 0;
    const auto next = [&] { return directory + "/" + std::to_string(number++); };
    while (Fd(::open(next().c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600)).valid()) {
    }
  };
  const pid_t pid = ::fork();
  if (pid == 0) {
    auto dying = DiskStore::open(disks);
    auto left = dying ? (*dying)->make() : dying.error();
    if (!left) ::_exit(1);
    fill((*left)->path());
    ::_exit(0);
  }
  int status = 0;
  if (::waitpid(pid, &status, 0) != pid || status != 0) return 2;
  if (::mkdir((root + "/one-more").c_str(), 0700) == 0) return 3;
  const auto store = DiskStore::open(disks);
  if (!store) return 4;
  return (*store)->make() ? 0 : 5;
}

// As above, for a server that ended as it should.
int start_again_where_no_file_can_be_made(const std::string& root, const std::string& disks) {
  if (::mount("disks", root.c_str(), "tmpfs", 0, "nr_inodes=100") != 0) return 1;
  std::string name;
  {
    const auto store = DiskStore::open(disks, {.name = "a"});
    if (!store) return 2;
    const auto disk = (*store)->make();
    if (!disk) return 3;
    name = (*disk)->name();
  }
  int number = 0;
  while (::mkdir((root + "/" + std::to_string(number)).c_str(), 0700) == 0) ++number;
  const auto store = DiskStore::open(disks, {.name = "a"});
  if (!store) return 4;
  return (*store)->take(name) ? 0 : 5;
}

class OnASmallDisk : public DiskStoreTest {
 protected:
  // Returns what `test` returns in a child that may mount; std::nullopt where none can be had.
  std::optional<int> in_a_child(int (*test)(const std::string&, const std::string&)) const {
    const std::string own_user = "0 " + std::to_string(::geteuid()) + " 1";
    const std::string own_group = "0 " + std::to_string(::getegid()) + " 1";
    constexpr int cannot = 100;
    const pid_t pid = ::fork();
    if (pid == 0) {
      if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) ::_exit(cannot);
      std::ofstream("/proc/self/setgroups") << "deny";
      std::ofstream("/proc/self/uid_map") << own_user;
      std::ofstream("/proc/self/gid_map") << own_group;
      ::_exit(test(root_.string(), disks()));
    }
    int status = 0;
    EXPECT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFEXITED(status));
    if (WEXITSTATUS(status) == cannot) return std::nullopt;
    return WEXITSTATUS(status);
  }
};

TEST_F(OnASmallDisk, WhatADeadServerLeftMakesRoomForTheNext) {
  const auto done = in_a_child(start_where_a_dead_server_left_no_room);
  if (!done) GTEST_SKIP() << "no user namespace can be had";
  EXPECT_EQ(*done, 0);
}

TEST_F(OnASmallDisk, AServerThatComesBackNeedsNoNewFile) {
  const auto done = in_a_child(start_again_where_no_file_can_be_made);
  if (!done) GTEST_SKIP() << "no user namespace can be had";
  EXPECT_EQ(*done, 0);
}

class DisksThatComeBack : public DiskStoreTest {
 protected:
  std::shared_ptr<DiskStore> server(const std::string& name,
                                    std::chrono::seconds patience = std::chrono::hours(1)) const {
    auto store = DiskStore::open(disks(), {.name = name, .patience = patience});
    if (!store) ADD_FAILURE() << store.error().message();
    return store ? *store : nullptr;
  }
  // A directory that a server of this name has left, with a file in it.
  std::string left_by(const std::string& name) const {
    const auto directory = *server(name)->make();
    std::ofstream(directory->path() + "/file") << "text";
    return directory->name();
  }
  fs::path path_of(const std::string& server, const std::string& disk) const {
    return fs::path(disks()) / ("kept-" + server) / disk;
  }
  // As if what a server of this name left had been there for so long.
  void pass_time(const std::string& name, std::chrono::seconds time) const {
    for (const fs::path& path : {path_of(name, ""), path_of(name, "kept-until")}) {
      fs::last_write_time(path, fs::last_write_time(path) - time);
    }
  }
};

TEST_F(DisksThatComeBack, TheyAreOldWhenTheirOwnServerSaysSo) {
  const std::string disk = left_by("a");
  pass_time("a", std::chrono::minutes(50));
  { EXPECT_EQ(empty(*server("b", std::chrono::seconds(1))), State::done); }
  EXPECT_TRUE(fs::exists(path_of("a", disk) / "file"));
  pass_time("a", std::chrono::minutes(20));
  { EXPECT_EQ(empty(*server("b", std::chrono::hours(1000))), State::done); }
  EXPECT_FALSE(fs::exists(path_of("a", "")));
}

TEST_F(DisksThatComeBack, ADirectoryWithoutADiskLeavesWithItsServer) {
  {
    const auto store = server("a");
    EXPECT_EQ(servers(), 1);
  }
  EXPECT_EQ(servers(), 0);
}

TEST_F(DisksThatComeBack, OneIsTakenByItsNameAndTheRestIsRemoved) {
  const std::string kept = left_by("a");
  const std::string other = left_by("a");
  const std::string shut = left_by("a");
  fs::permissions(path_of("a", kept), fs::perms::none);
  fs::permissions(path_of("a", shut), fs::perms::none);
  const auto store = server("a");
  store->give_up_others({kept});
  const auto taken = store->take(kept);
  ASSERT_TRUE(taken) << taken.error().message();
  EXPECT_EQ(empty(*store), State::done);
  EXPECT_TRUE(fs::exists((*taken)->path() + "/file"));
  EXPECT_FALSE(fs::exists(path_of("a", other)));
  EXPECT_FALSE(fs::exists(path_of("a", shut)));
  (*taken)->give_up();
  EXPECT_EQ(empty(*store), State::done);
  EXPECT_FALSE(fs::exists(path_of("a", kept)));
}

TEST_F(DisksThatComeBack, ASecondServerOfTheNameIsRefused) {
  const auto first = server("a");
  EXPECT_EQ(DiskStore::open(disks(), {.name = "a"}).error().kind, ErrorKind::refused);
}

TEST_F(DisksThatComeBack, AnotherServerLeavesThemUntilTheyAreOld) {
  const std::string disk = left_by("a");
  fs::create_directories(root_ / "disks/volumes/mine");
  for (const auto& other : {store(), server("b")}) EXPECT_EQ(empty(*other), State::done);
  EXPECT_TRUE(fs::exists(path_of("a", disk) / "file"));
  pass_time("a", std::chrono::hours(2));
  {
    const auto living = server("a");
    EXPECT_EQ(empty(*server("b")), State::done);
    EXPECT_TRUE(fs::exists(path_of("a", disk) / "file")) << "its server lives";
  }
  pass_time("a", std::chrono::hours(2));
  EXPECT_EQ(empty(*server("b")), State::done);
  EXPECT_FALSE(fs::exists(path_of("a", "")));
  EXPECT_TRUE(fs::exists(root_ / "disks/volumes/mine"));
}

TEST_F(DiskStoreTest, OnlyADirectoryOfItsOwnIsTakenBack) {
  const auto store = *DiskStore::open(disks(), {.name = "a"});
  const fs::path own = fs::path(disks()) / "kept-a";
  fs::create_directory(root_ / "outside");
  fs::create_directory_symlink(root_ / "outside", own / "disk-link");
  std::ofstream(own / "disk-file") << "text";
  for (const char* name : {"disk-link", "disk-file", "disk-none", "removed",
                           "disk-/../../../outside", "../kept-a", "."}) {
    EXPECT_EQ(store->take(name).error().kind, ErrorKind::invalid) << name;
  }
  store->give_up_others({});
  EXPECT_EQ(empty(*store), State::done);
  EXPECT_TRUE(fs::exists(root_ / "outside"));
  EXPECT_EQ((*DiskStore::open((root_ / "others").string()))->take("disk-none").error().kind,
            ErrorKind::invalid);
}

TEST_F(DiskStoreTest, PlacesThatAreNone) {
  std::ofstream(root_ / "file") << "text";
  EXPECT_EQ(DiskStore::open((root_ / "file").string()).error().kind, ErrorKind::invalid);
  EXPECT_EQ(DiskStore::open((root_ / "none/none").string()).error().kind, ErrorKind::kernel);
  fs::create_directory(root_ / "open");
  fs::permissions(root_ / "open", fs::perms::all);
  EXPECT_EQ(DiskStore::open((root_ / "open").string()).error().kind, ErrorKind::refused);
}

TEST_F(DiskStoreTest, LinksLeadNowhere) {
  const auto store = this->store();
  fs::create_directory(root_ / "outside");
  std::ofstream(root_ / "outside/file") << "text";
  const auto directory = *store->make();
  const fs::path path = directory->path();
  fs::create_symlink(root_ / "outside", path / "link");
  fs::create_symlink("../../..", path / "up");
  fs::create_directory(path / "d");
  fs::create_symlink(root_ / "outside", path / "d/link");
  fs::create_hard_link(root_ / "outside/file", path / "d/hard");
  ASSERT_EQ(::mkfifo((path / "fifo").c_str(), 0600), 0);
  directory->give_up();
  EXPECT_EQ(empty(*store), State::done);
  EXPECT_TRUE(fs::exists(root_ / "outside/file"));
}

TEST_F(DiskStoreTest, ATreeThatIsDeeperThanAnyPathIsRemoved) {
  const auto store = this->store();
  const auto directory = *store->make();
  Fd at = directory->open();
  const std::string name(200, 'd');
  for (int i = 0; i < 3000; ++i) {
    ASSERT_EQ(::mkdirat(at.get(), name.c_str(), 0700), 0);
    ASSERT_EQ(::close(::openat(at.get(), "file", O_CREAT | O_WRONLY | O_CLOEXEC, 0)), 0);
    Fd below(::openat(at.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(below.valid());
    ::fchmod(at.get(), 0);  // and every directory is shut
    at = std::move(below);
  }
  at.reset();
  directory->give_up();
  EXPECT_EQ(empty(*store), State::done);
}

TEST_F(DiskStoreTest, ATurnIsBounded) {
  const auto store = this->store();
  const auto directory = *store->make();
  const fs::path path = directory->path();
  for (int d = 0; d < 10; ++d) {
    fs::create_directories(path / std::to_string(d));
    for (int i = 0; i < 1000; ++i) std::ofstream(path / std::to_string(d) / std::to_string(i));
  }
  directory->give_up();
  int turns = 0;
  while (store->remove_some(500) == State::more) ++turns;
  EXPECT_GE(turns, 10'010 / 500);
  EXPECT_LE(turns, 100);
  EXPECT_EQ(store->remove_some(1), State::done);
}

}  // namespace
}  // namespace runtime
