// What is promised to the disks of sandboxes, by the room that the host has.
#include "runtime/service/sandbox_disks.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/statvfs.h>

#include <chrono>
#include <filesystem>
#include <string>

namespace runtime {
namespace {

class SandboxDisksTest : public testing::Test {
 protected:
  SandboxDisksTest() {
    std::string name = testing::TempDir() + "sandbox-disks-XXXXXX";
    root_ = ::mkdtemp(name.data());
  }
  ~SandboxDisksTest() override { std::filesystem::remove_all(root_); }

  std::uint64_t available() const {
    struct statvfs status {};
    EXPECT_EQ(::statvfs(root_.c_str(), &status), 0);
    return status.f_bavail * status.f_frsize;
  }

  std::shared_ptr<SandboxDisks> open(std::uint64_t reserve_bytes) {
    auto disks =
        SandboxDisks::open({.path = root_ + "/disks", .reserve_bytes = reserve_bytes}, logger_);
    if (!disks) ADD_FAILURE() << disks.error().message();
    return disks ? *disks : nullptr;
  }

  Logger logger_{LogOptions{.write = [](std::string_view) {}}};
  std::string root_;
};

// The host's disk is used by others meanwhile, so sizes are far apart.
TEST_F(SandboxDisksTest, NoMoreIsPromisedThanThereIs) {
  const auto disks = open(0);
  const std::uint64_t most = available() / 10 * 6;
  auto first = disks->make(most);
  ASSERT_TRUE(first) << first.error().message();
  EXPECT_EQ((*first)->limits().bytes, most);
  EXPECT_FALSE((*first)->is_as_it_came_back());
  const auto second = disks->make(most);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, jail::ErrorKind::exhausted);
  EXPECT_TRUE(disks->make(most / 6)) << "a smaller one has room beside it";
  (*first)->give_up();
  disks->remove_soon();
  EXPECT_TRUE(disks->make(most)) << "one that has ended is owed nothing, though it is still known";
}

TEST_F(SandboxDisksTest, ALimitIsChangedWithinWhatIsThereAndWhatTheHostHas) {
  const auto disks = open(0);
  constexpr std::uint64_t mb = 1u << 20;
  const auto disk = *disks->make(10 * mb);
  ASSERT_TRUE(SandboxDisk::reserve(disk)->take(8 * mb));
  EXPECT_FALSE(SandboxDisk::reserve(disk)->take(11 * mb));
  ASSERT_TRUE(disks->resize(*disk, 20 * mb));
  const auto written = SandboxDisk::reserve(disk);
  EXPECT_TRUE(written->take(18 * mb));
  EXPECT_EQ(disk->allowed().bytes, 20 * mb);
  const auto less = disks->resize(*disk, 17 * mb);
  ASSERT_FALSE(less);
  EXPECT_EQ(less.error().kind, jail::ErrorKind::refused);
  EXPECT_EQ(disk->limits().bytes, 20 * mb);
  ASSERT_TRUE(disks->resize(*disk, 19 * mb));
  EXPECT_EQ(disk->allowed().bytes, 19 * mb) << "what is more than the lower limit ends it";
  const auto more = disks->resize(*disk, available() * 2);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().kind, jail::ErrorKind::exhausted);
  EXPECT_EQ(disk->limits().bytes, 19 * mb);
}

TEST_F(SandboxDisksTest, ALowerLimitTakesACountThatSawAll) {
  const auto disks = open(0);
  constexpr std::uint64_t mb = 1u << 20;
  const auto disk = *disks->make(30 * mb);
  disk->count_by([] {});
  const auto uncounted = disks->resize(*disk, 20 * mb);
  ASSERT_FALSE(uncounted);
  EXPECT_EQ(uncounted.error().kind, jail::ErrorKind::timed_out);
  EXPECT_EQ(disk->limits().bytes, 30 * mb);
  const auto impatient = disks->resize(*disk, 20 * mb);
  ASSERT_FALSE(impatient) << "the count is not there yet";
  EXPECT_EQ(impatient.error().kind, jail::ErrorKind::timed_out);
  EXPECT_TRUE(disks->resize(*disk, 40 * mb)) << "a higher one takes no count";
}

TEST_F(SandboxDisksTest, OneThatGrowsIsPromisedTheRest) {
  const auto disks = open(0);
  const std::uint64_t part = available() / 10;
  const auto first = disks->make(2 * part);
  const auto second = disks->make(2 * part);
  ASSERT_TRUE(first && second);
  ASSERT_TRUE(disks->resize(**first, 4 * part));
  EXPECT_EQ((*first)->limits().bytes, 4 * part);
  EXPECT_EQ((*first)->allowed().bytes, 4 * part);
  const auto refused = disks->resize(**second, 8 * part);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, jail::ErrorKind::exhausted);
  EXPECT_EQ((*second)->limits().bytes, 2 * part) << "one that is refused stays as it was";
}

TEST_F(SandboxDisksTest, ALowerLimitEndsNoneForWhatIsThere) {
  const auto disks = open(0);
  constexpr std::uint64_t mb = 1u << 20;
  const auto disk = *disks->make(30 * mb);
  DiskUse use;
  use.bytes = 20 * mb;
  disk->note(use);
  disk->limit(10 * mb, SandboxDisk::Excess::may_stay);
  EXPECT_EQ(disk->limits().bytes, 10 * mb);
  EXPECT_FALSE(disk->is_beyond());
  use.bytes = 25 * mb;
  EXPECT_TRUE(disk->is_beyond(use));
  EXPECT_FALSE(SandboxDisk::reserve(disk)->take(1)) << "it is full";
}

TEST_F(SandboxDisksTest, TheReserveIsNoOnes) {
  const auto disks = open(available() / 10 * 6);
  EXPECT_EQ(disks->shortage(), std::nullopt);
  EXPECT_NE(open(available() * 2)->shortage(), std::nullopt);
  EXPECT_FALSE(disks->make(available() / 10 * 6));
  EXPECT_TRUE(disks->make(1u << 20));
}

TEST_F(SandboxDisksTest, ADirectoryThatComesBackHasItsRoomAlready) {
  const auto disks = open(available() / 10 * 6);
  const std::uint64_t bytes = available() / 10 * 6;
  const auto directory = DiskStore::open(root_ + "/others");
  ASSERT_TRUE(directory) << directory.error().message();
  const auto adopted = [&](SandboxDisks::Room room) {
    return disks->adopt(*(*directory)->make(), bytes, DiskUse(), room);
  };
  EXPECT_FALSE(adopted(SandboxDisks::Room::anew));
  EXPECT_TRUE(adopted(SandboxDisks::Room::as_before));
}

TEST_F(SandboxDisksTest, WhatWasThereBeforeARestartMayStay) {
  const DiskReturn again{.name = "a", .patience = std::chrono::hours(1)};
  std::string name;
  {
    auto disks = DiskStore::open(root_ + "/disks", again);
    ASSERT_TRUE(disks);
    name = (*(*disks)->make())->name();
  }
  auto disks = SandboxDisks::open(
      {.path = root_ + "/disks", .reserve_bytes = 0, .return_of_server = again}, logger_);
  ASSERT_TRUE(disks) << disks.error().message();
  ASSERT_TRUE((*disks)->are_kept());
  constexpr std::uint64_t mb = 1u << 20;
  const auto taken = (*disks)->take(name, 10 * mb);
  ASSERT_TRUE(taken) << taken.error().message();
  const auto disk = *taken;
  EXPECT_TRUE(disk->is_as_it_came_back()) << "though it was not counted yet";
  const auto count = [&disk](std::uint64_t bytes) {
    disk->begin_count();
    disk->note({.bytes = bytes,
                .files = 1,
                .is_countable = true,
                .in_flight = 0,
                .seen = DiskUse::Seen::all});
  };
  ASSERT_TRUE((*disks)->resize(*disk, 20 * mb));
  disk->limit(10 * mb, SandboxDisk::Excess::may_stay);
  count(30 * mb);
  EXPECT_FALSE(disk->is_beyond()) << "changes before the first count end none";
  EXPECT_EQ(disk->limits().bytes, 10 * mb);
  EXPECT_FALSE(SandboxDisk::reserve(disk)->take(1)) << "it is full";
  count(32 * mb);
  EXPECT_TRUE(disk->is_beyond()) << "it has more than it came back with";
  EXPECT_FALSE(disk->is_as_it_came_back());
  count(20 * mb);
  EXPECT_TRUE(disk->is_as_it_came_back());
  disk->note_doubt();
  EXPECT_FALSE(disk->is_as_it_came_back());
  EXPECT_FALSE(disk->is_beyond());
  count(22 * mb);
  EXPECT_TRUE(disk->is_beyond()) << "what was removed is not there any more";
  count(5 * mb);
  EXPECT_TRUE(SandboxDisk::reserve(disk)->take(mb));
  EXPECT_EQ(disk->allowed().bytes, 10 * mb);
  count(11 * mb);
  EXPECT_TRUE(disk->is_beyond());
}

TEST_F(SandboxDisksTest, ItsOwnersWritesAreWithinItsRoom) {
  const auto disks = open(0);
  const auto disk = *disks->make(1u << 20);
  const auto count = [&disk](std::uint64_t bytes) {
    disk->begin_count();
    disk->note({.bytes = bytes, .files = 1, .is_countable = true, .in_flight = 0, .seen = {}});
  };
  auto one = SandboxDisk::reserve(disk);
  auto other = SandboxDisk::reserve(disk);
  EXPECT_TRUE(one->take(1u << 19));
  EXPECT_FALSE(other->take((1u << 19) + 1));
  count(0);
  EXPECT_FALSE(other->take((1u << 19) + 1)) << "no count sees a file that has no name yet";
  {
    const auto refused = SandboxDisk::reserve(disk);
    EXPECT_TRUE(refused->take(1u << 19));
  }
  EXPECT_EQ(disk->use().bytes, 1u << 19) << "a file that got no name gives its room back";
  one->note_name();
  one.reset();
  EXPECT_FALSE(other->take((1u << 19) + 1)) << "it was complete after that count";
  EXPECT_EQ(disk->use().bytes, 1u << 19);
  count(1u << 10);
  EXPECT_EQ(disk->use().bytes, 1u << 10) << "and is in the next one";
  EXPECT_TRUE(other->take((1u << 19) + 1));
  EXPECT_FALSE(disk->is_beyond());
  disk->note({.bytes = 1,
              .files = SandboxDisks::max_files + 1,
              .is_countable = true,
              .in_flight = 0,
              .seen = {}});
  EXPECT_TRUE(disk->is_beyond());
  disk->note({.bytes = 1, .files = 1, .is_countable = false, .in_flight = 0, .seen = {}});
  EXPECT_TRUE(disk->is_beyond());
}

TEST_F(SandboxDisksTest, WhatWasGivenUpIsRemovedByItself) {
  const auto disks = open(0);
  const auto disk = *disks->make(1u << 20);
  const std::filesystem::path path = disk->path();
  std::filesystem::create_directories(path / "a/b/c");
  disk->give_up();
  disks->remove_soon();
  const auto removed = path.parent_path() / "removed";
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!std::filesystem::is_empty(removed) && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  EXPECT_TRUE(std::filesystem::is_empty(removed));
}

TEST_F(SandboxDisksTest, AVolumeIsPromisedWhatItMayStillTake) {
  const auto disks = open(0);
  const std::uint64_t most = available() / 10 * 6;
  auto made = disks->make(0);
  ASSERT_TRUE(made);
  ASSERT_TRUE(disks->store().make_volume((*made)->directory(), "volume"));
  (*made)->give_up();
  DiskUse use;
  use.bytes = most / 6 * 5;
  auto mounted =
      disks->adopt(*disks->store().open_volume("volume"), most, use, SandboxDisks::Room::anew);
  ASSERT_TRUE(mounted) << mounted.error().message();
  EXPECT_EQ((*mounted)->use().bytes, use.bytes);
  EXPECT_TRUE(disks->make(most)) << "little of it is left to be taken";
  (*mounted)->give_up();
  EXPECT_TRUE(std::filesystem::exists(root_ + "/disks/volumes/volume"));
  auto empty = disks->adopt(*disks->store().open_volume("volume"), most, DiskUse(),
                            SandboxDisks::Room::anew);
  ASSERT_TRUE(empty);
  EXPECT_FALSE(disks->make(most));
  (*empty)->give_up();
  EXPECT_TRUE(disks->make(most)) << "one that nobody writes to is promised nothing";
}

}  // namespace
}  // namespace runtime
