// Finds the cgroup of a process from /proc/self/cgroup and mountinfo as hosts of several kinds show
// them.
#include <gtest/gtest.h>

#include "jail/cgroup.h"

namespace jail {
namespace {

constexpr const char* unified_mount =
    "24 1 0:22 / /sys rw,nosuid - sysfs sysfs rw\n"
    "30 24 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 "
    "rw,nsdelegate,memory_recursiveprot\n";

TEST(OwnCgroup, OfAUserServiceUnderSystemd) {
  EXPECT_EQ(
      own_cgroup_directory(
          "0::/user.slice/user-1000.slice/user@1000.service/app.slice/sandbox.service\n",
          unified_mount),
      "/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice/sandbox.service");
}

TEST(OwnCgroup, OfASystemService) {
  EXPECT_EQ(own_cgroup_directory("0::/system.slice/agent-sandbox.service\n", unified_mount),
            "/sys/fs/cgroup/system.slice/agent-sandbox.service");
}

TEST(OwnCgroup, InACgroupNamespaceIsTheMountItself) {
  EXPECT_EQ(own_cgroup_directory("0::/\n", unified_mount), "/sys/fs/cgroup");
}

TEST(OwnCgroup, InAContainerThatBindsItsPart) {
  const char* mounts =
      "812 780 0:26 /docker/0123abcd /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw,nsdelegate\n";
  EXPECT_EQ(own_cgroup_directory("0::/docker/0123abcd\n", mounts), "/sys/fs/cgroup");
  EXPECT_EQ(own_cgroup_directory("0::/docker/0123abcd/inner\n", mounts), "/sys/fs/cgroup/inner");
}

TEST(OwnCgroup, OutsideOfWhatTheMountShowsIsNowhere) {
  const char* mounts = "812 780 0:26 /docker/0123 /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
  EXPECT_EQ(own_cgroup_directory("0::/docker/0123abcd\n", mounts), std::nullopt);
  EXPECT_EQ(own_cgroup_directory("0::/../..\n", unified_mount), std::nullopt);
}

TEST(OwnCgroup, OfAHybridHostIsTheUnifiedOne) {
  const char* mounts =
      "31 24 0:27 / /sys/fs/cgroup ro - tmpfs tmpfs ro,mode=755\n"
      "32 31 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
      "33 31 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate\n";
  EXPECT_EQ(own_cgroup_directory("5:memory:/a\n1:name=systemd:/a\n0::/a\n", mounts),
            "/sys/fs/cgroup/unified/a");
}

TEST(OwnCgroup, OfAV1HostIsNowhere) {
  EXPECT_EQ(
      own_cgroup_directory("5:memory:/a\n1:name=systemd:/a\n",
                           "32 31 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"),
      std::nullopt);
}

TEST(OwnCgroup, ThatWasRemovedIsNowhere) {
  EXPECT_EQ(own_cgroup_directory("0::/a (deleted)\n", unified_mount), std::nullopt);
}

TEST(OwnCgroup, OfAMountPointWithASpace) {
  EXPECT_EQ(
      own_cgroup_directory("0::/a\n", "30 24 0:26 / /mnt/my\\040cgroup rw - cgroup2 none rw\n"),
      "/mnt/my cgroup/a");
}

TEST(OwnCgroup, OfNothingIsNowhere) {
  EXPECT_EQ(own_cgroup_directory("", ""), std::nullopt);
  EXPECT_EQ(own_cgroup_directory("0::/a\n", "short line\n"), std::nullopt);
}

}  // namespace
}  // namespace jail
