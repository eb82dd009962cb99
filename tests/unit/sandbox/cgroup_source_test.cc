// The choice of the cgroup, on hosts of every kind, from what /proc says there.
#include "runtime/sandbox/cgroup_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <vector>

#include "jail/fd.h"
#include "runtime/sandbox/systemd_scope.h"

namespace runtime {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* unified_mount =
    "24 31 0:22 / /sys rw,nosuid,nodev,noexec,relatime shared:7 - sysfs sysfs rw\n"
    "33 24 0:28 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 "
    "rw,nsdelegate,memory_recursiveprot\n";

constexpr const char* v1_mounts =
    "31 24 0:27 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro,mode=755\n"
    "32 31 0:28 / /sys/fs/cgroup/systemd rw,nosuid - cgroup cgroup rw,xattr,name=systemd\n"
    "33 31 0:29 / /sys/fs/cgroup/memory rw,nosuid - cgroup cgroup rw,memory\n";

enum class Host { plain, systemd };

struct Found {
  std::string directory;
  std::string error;
};

// `delegated` are the directories that systemd has marked.
Found own(std::string cgroup, std::string mounts, Host host,
          std::vector<std::string> delegated = {}) {
  CgroupPlace place;
  place.proc_self_cgroup = std::move(cgroup);
  place.proc_self_mountinfo = std::move(mounts);
  place.under_systemd = host == Host::systemd;
  place.is_marked_delegated = [delegated](const std::string& directory) {
    return std::find(delegated.begin(), delegated.end(), directory) != delegated.end();
  };
  const auto directory = own_delegated_directory(place);
  if (!directory) return {{}, directory.error().message()};
  return {*directory, {}};
}

TEST(OwnDelegatedDirectory, OfASystemServiceOnlyWithDelegate) {
  const std::string text = "0::/system.slice/agent-sandbox.service\n";
  const std::string directory = "/sys/fs/cgroup/system.slice/agent-sandbox.service";
  EXPECT_EQ(own(text, unified_mount, Host::systemd, {directory}).directory, directory);
  EXPECT_THAT(own(text, unified_mount, Host::systemd).error,
              AllOf(HasSubstr(directory), HasSubstr("systemd did not delegate it")));
}

TEST(OwnDelegatedDirectory, OfAUserServiceOnlyWithDelegate) {
  const std::string unit = "/user.slice/user-1000.slice/user@1000.service/app.slice/a.service";
  const std::string directory = "/sys/fs/cgroup" + unit;
  EXPECT_EQ(own("0::" + unit + "\n", unified_mount, Host::systemd, {directory}).directory,
            directory);
  EXPECT_THAT(own("0::" + unit + "\n", unified_mount, Host::systemd).error, HasSubstr(unit));
}

TEST(OwnDelegatedDirectory, IsNotALoginSession) {
  EXPECT_THAT(
      own("0::/user.slice/user-1000.slice/session-3.scope\n", unified_mount, Host::systemd).error,
      HasSubstr("session-3.scope: systemd did not delegate it"));
}

TEST(OwnDelegatedDirectory, InAContainerWithACgroupNamespaceIsTheMount) {
  const char* mounts =
      "1121 1117 0:28 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime - cgroup2 cgroup "
      "rw,nsdelegate,memory_recursiveprot\n";
  EXPECT_EQ(own("0::/\n", mounts, Host::plain).directory, "/sys/fs/cgroup");
  // A container that runs a systemd of its own got its root as a whole, too.
  EXPECT_EQ(own("0::/\n", mounts, Host::systemd).directory, "/sys/fs/cgroup");
}

TEST(OwnDelegatedDirectory, InAContainerInTheHostsNamespaceIsItsPart) {
  const std::string text = "0::/system.slice/docker-0f1e2d.scope\n";
  EXPECT_EQ(own(text, unified_mount, Host::plain).directory,
            "/sys/fs/cgroup/system.slice/docker-0f1e2d.scope");
}

TEST(OwnDelegatedDirectory, InAPodIsThePodsContainer) {
  const std::string pod =
      "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1a2b.slice/"
      "cri-containerd-3c4d.scope";
  const std::string mounts =
      "812 780 0:28 " + pod + " /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw\n";
  EXPECT_EQ(own("0::" + pod + "\n", mounts, Host::plain).directory, "/sys/fs/cgroup");
}

TEST(OwnDelegatedDirectory, OfAHybridHostIsTheUnifiedOne) {
  const std::string mounts =
      std::string(v1_mounts) +
      "34 31 0:30 / /sys/fs/cgroup/unified rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
  EXPECT_EQ(own("4:memory:/user.slice\n1:name=systemd:/a\n0::/a\n", mounts, Host::plain).directory,
            "/sys/fs/cgroup/unified/a");
}

TEST(OwnDelegatedDirectory, OfAV1HostIsNone) {
  EXPECT_THAT(own("4:memory:/user.slice\n1:name=systemd:/a\n", v1_mounts, Host::systemd).error,
              HasSubstr("no cgroup v2 shows it here"));
}

// The search with steps that are recorded, and that fail as the test says.
class Search : public testing::Test {
 protected:
  jail::Result<CgroupFound> search(const std::string& configured) {
    CgroupSteps steps;
    steps.own_directory = [this]() -> jail::Result<std::string> {
      taken_.emplace_back("look");
      if (!has_own_) return error("no own one");
      return std::string("/own");
    };
    steps.named_own_directory = []() -> jail::Result<std::string> { return std::string("/unit"); };
    steps.adopt = [this](const std::string& directory) -> jail::Result<void> {
      taken_.emplace_back("adopt " + directory);
      if (adoptions_++ < refused_adoptions_) return error(directory + " is not ours");
      return {};
    };
    steps.enter_scope = [this]() -> jail::Result<std::string> {
      taken_.emplace_back("scope");
      if (!has_systemd_) return error("no systemd");
      return std::string("/scope");
    };
    return search_cgroup(configured, steps);
  }

  static jail::Error error(std::string doing) {
    return {jail::ErrorKind::refused, std::move(doing), 0, "a hint"};
  }

  bool has_own_ = true;
  bool has_systemd_ = true;
  int refused_adoptions_ = 0;
  int adoptions_ = 0;
  std::vector<std::string> taken_;
};

TEST_F(Search, TakesTheConfiguredOneFirst) {
  const auto found = search("/named");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->origin, CgroupOrigin::configured);
  EXPECT_THAT(taken_, ElementsAre("adopt /named"));
}

TEST_F(Search, NeverPassesOverAConfiguredOne) {
  refused_adoptions_ = 1;
  const auto found = search("/named");
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message(), HasSubstr("/named is not ours"));
  EXPECT_THAT(taken_, ElementsAre("adopt /named"));
}

TEST_F(Search, TakesTheOwnOneOnTheOperatorsWord) {
  has_own_ = false;  // as systemd reports
  const auto found = search("own");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->origin, CgroupOrigin::configured);
  EXPECT_THAT(taken_, ElementsAre("adopt /unit"));
}

TEST_F(Search, TakesTheOwnOneBeforeAskingSystemd) {
  const auto found = search("auto");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->origin, CgroupOrigin::own);
  EXPECT_THAT(taken_, ElementsAre("look", "adopt /own"));
}

TEST_F(Search, AsksSystemdWhereTheOwnOneIsShared) {
  refused_adoptions_ = 1;
  const auto found = search("auto");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->origin, CgroupOrigin::systemd);
  EXPECT_THAT(taken_, ElementsAre("look", "adopt /own", "scope", "adopt /scope"));
}

TEST_F(Search, AsksSystemdWhereNoneIsDelegated) {
  has_own_ = false;
  const auto found = search("auto");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->origin, CgroupOrigin::systemd);
  EXPECT_THAT(taken_, ElementsAre("look", "scope", "adopt /scope"));
}

TEST_F(Search, KeepsEveryReasonWhereThereIsNone) {
  has_own_ = has_systemd_ = false;
  const auto found = search("auto");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->origin, CgroupOrigin::none);
  EXPECT_EQ(found->why_none, "no own one; no systemd");
}

TEST_F(Search, KeepsTheReasonWhereTheUnitOfSystemdIsNotUsable) {
  refused_adoptions_ = 2;
  const auto found = search("auto");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->why_none, "/own is not ours; /scope is not ours");
}

TEST_F(Search, TriesNothingWhereNoneIsWanted) {
  const auto found = search("none");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->origin, CgroupOrigin::none);
  EXPECT_THAT(found->why_none, HasSubstr("configuration"));
  EXPECT_TRUE(taken_.empty());
}

TEST(FindCgroup, NamesAConfiguredOneThatCannotBeUsed) {
  for (const char* directory : {"/no/such/cgroup", "/proc/self"}) {
    const auto choice = find_cgroup({.configured = directory, .runtime_directory = {}});
    ASSERT_FALSE(choice);
    EXPECT_THAT(choice.error().message(), HasSubstr(directory));
  }
}

class Scope : public testing::Test {
 protected:
  Scope() {
    std::string name = (std::filesystem::temp_directory_path() / "scope test.XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  ~Scope() override { std::filesystem::remove_all(directory_); }

  jail::Fd listener() {
    jail::Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = directory_ + "/private";
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(fd.get(), 1), 0);
    return fd;
  }

  jail::Result<void> enter(std::chrono::milliseconds patience) {
    return enter_systemd_scope(
        {.socket = directory_ + "/private", .name = "a.scope", .patience = patience});
  }

  std::string directory_;
};

TEST_F(Scope, WithoutSystemdSaysWhereItLooked) {
  const auto entered = enter(std::chrono::milliseconds(100));
  ASSERT_FALSE(entered);
  EXPECT_EQ(entered.error().kind, jail::ErrorKind::unsupported);
  EXPECT_THAT(entered.error().message(), HasSubstr(directory_ + "/private"));
}

TEST_F(Scope, WaitsForASilentSystemdNoLongerThanItMay) {
  const jail::Fd silent = listener();
  const auto begin = std::chrono::steady_clock::now();
  const auto entered = enter(std::chrono::milliseconds(200));
  const auto took = std::chrono::steady_clock::now() - begin;
  ASSERT_FALSE(entered);
  EXPECT_EQ(entered.error().kind, jail::ErrorKind::timed_out);
  EXPECT_GE(took, std::chrono::milliseconds(200));
  EXPECT_LT(took, std::chrono::seconds(5));
}

TEST_F(Scope, EndsWithASystemdThatHangsUp) {
  jail::Fd listening = listener();
  ::shutdown(listening.get(), SHUT_RDWR);
  listening.reset();
  EXPECT_FALSE(enter(std::chrono::milliseconds(1000)));
}

}  // namespace
}  // namespace runtime
