// The specs that compile() refuses, each with the name of the field, and the calls that it must
// never leave out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/sched.h>

#include <algorithm>
#include <functional>

#include "plan/plan.h"

namespace jail {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

HostFacts host() {
  HostFacts facts;
  facts.uid = 1001;
  facts.gid = 1001;
  facts.last_capability = 40;
  return facts;
}

JailSpec spec() {
  JailSpec value;
  value.argv = {"/bin/true"};
  value.filter.instructions = {0x7fff000000000006};
  return value;
}

struct BadSpec {
  const char* name;
  std::function<void(JailSpec&)> spoil;
  const char* names;  // the field that the error must name
};

class Refused : public testing::TestWithParam<BadSpec> {};

TEST_P(Refused, WithTheFieldNamed) {
  JailSpec value = spec();
  GetParam().spoil(value);
  const auto plan = compile(value, host());
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().kind, ErrorKind::invalid);
  EXPECT_THAT(plan.error().message(), HasSubstr(GetParam().names));
}

TEST(Compile, NoVolumeForAJailWithIdsOfItsOwn) {
  JailSpec value = spec();
  value.volumes = {{.source = "/srv/results", .target = "/data", .why = "kept between runs"}};
  EXPECT_TRUE(compile(value, host()));
  HostFacts with_ids = host();
  with_ids.ids_of_jails = {200'000, 300'000, 10};
  const auto plan = compile(value, with_ids);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().kind, ErrorKind::unsupported);
}

TEST(Compile, AVolumeIsTheWorkspaceOfALivingJailAlone) {
  JailSpec value = spec();
  value.volumes = {{.source = "/srv/disk", .target = "/workspace", .why = "larger than memory"}};
  EXPECT_FALSE(compile(value, host()));
  value.life = jail::Life::until_ended;
  value.argv = {};
  value.env = {};
  const auto plan = compile(value, host());
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_TRUE(plan->workspace_is_on_disk);
  value.volumes[0].target = "/workspace/below";
  EXPECT_FALSE(compile(value, host())) << "nothing is mounted in the tmpfs";
  value.volumes = {};
  value.binds = {{"/srv/disk", "/workspace", NodeKind::directory, "read-only"}};
  EXPECT_FALSE(compile(value, host()));
  value.binds = {};
  EXPECT_FALSE(compile(value, host())->workspace_is_on_disk);
}

TEST(Compile, TwoVolumesAreNotOneWorkspace) {
  JailSpec value = spec();
  value.life = jail::Life::until_ended;
  value.argv = {};
  value.env = {};
  value.volumes = {{.source = "/srv/a", .target = "/workspace", .why = "larger than memory"},
                   {.source = "/srv/b", .target = "/workspace", .why = "larger than memory"}};
  EXPECT_FALSE(compile(value, host()));
}

INSTANTIATE_TEST_SUITE_P(
    Compile, Refused,
    testing::Values(
        BadSpec{"NoArgv", [](JailSpec& s) { s.argv.clear(); }, "argv"},
        BadSpec{"RelativeProgram", [](JailSpec& s) { s.argv = {"true"}; }, "argv"},
        BadSpec{"ProgramWithDots", [](JailSpec& s) { s.argv = {"/bin/../x"}; }, "argv"},
        BadSpec{"NulInArgument", [](JailSpec& s) { s.argv.emplace_back("a\0b", 3); }, "argv"},
        BadSpec{"EnvWithoutEquals", [](JailSpec& s) { s.env = {"HOME"}; }, "env"},
        BadSpec{"EnvWithoutName", [](JailSpec& s) { s.env = {"=x"}; }, "env"},
        BadSpec{"NulInEnv", [](JailSpec& s) { s.env = {std::string("A=\0", 3)}; }, "env"},
        BadSpec{"RelativeDirectory", [](JailSpec& s) { s.working_directory = "w"; },
                "working_directory"},
        BadSpec{"NoHostname", [](JailSpec& s) { s.hostname.clear(); }, "hostname"},
        BadSpec{"LongHostname", [](JailSpec& s) { s.hostname.assign(65, 'h'); }, "hostname"},
        BadSpec{"NoFilter", [](JailSpec& s) { s.filter.instructions.clear(); }, "filter"},
        BadSpec{"LongFilter", [](JailSpec& s) { s.filter.instructions.resize(4097); }, "filter"},
        BadSpec{"RelativeBindSource",
                [](JailSpec& s) {
                  s.root.binds = {{"usr", "/usr", NodeKind::directory}};
                },
                "root.binds"},
        BadSpec{"BindOverRoot",
                [](JailSpec& s) {
                  s.root.binds = {{"/usr", "/", NodeKind::directory}};
                },
                "root.binds"},
        BadSpec{"HiddenInNoBind", [](JailSpec& s) { s.root.hidden = {"/usr/local"}; },
                "root.hidden"},
        BadSpec{"HiddenAsAWhole",
                [](JailSpec& s) {
                  s.root.binds = {{"/usr", "/usr", NodeKind::directory}};
                  s.root.hidden = {"/usr"};
                },
                "root.hidden"},
        BadSpec{"BindTargetClimbs",
                [](JailSpec& s) {
                  s.root.binds = {{"/usr", "/a/../..", NodeKind::directory}};
                },
                "root.binds"},
        BadSpec{"FileTargetClimbs",
                [](JailSpec& s) {
                  s.root.files = {{"/../x", ""}};
                },
                "root.files"},
        BadSpec{"LinkWithoutText",
                [](JailSpec& s) {
                  s.root.links = {{"/bin", ""}};
                },
                "root.links"},
        BadSpec{"TooManyBinds",
                [](JailSpec& s) {
                  for (int i = 0; i < 100; ++i) {
                    s.root.binds.push_back({"/usr", "/b" + std::to_string(i), NodeKind::directory});
                  }
                },
                "root.binds"},
        BadSpec{"NoWall", [](JailSpec& s) { s.limits.wall = {}; }, "limits.wall"},
        BadSpec{"EndlessWall",
                [](JailSpec& s) { s.limits.wall = std::chrono::milliseconds::max(); },
                "limits.wall"},
        BadSpec{"EndlessCpu", [](JailSpec& s) { s.limits.cpu = std::chrono::milliseconds::max(); },
                "limits.cpu"},
        BadSpec{"NegativeCpu", [](JailSpec& s) { s.limits.cpu = std::chrono::milliseconds(-1); },
                "limits.cpu"},
        BadSpec{"NoMemory", [](JailSpec& s) { s.limits.memory_bytes = 0; }, "limits.memory_bytes"},
        BadSpec{"NoProcesses", [](JailSpec& s) { s.limits.processes = 0; }, "limits.processes"},
        BadSpec{"NoFiles", [](JailSpec& s) { s.limits.open_files = 0; }, "limits.open_files"},
        // For a tmpfs, size=0 means no limit at all.
        BadSpec{"EndlessWorkspace", [](JailSpec& s) { s.limits.workspace_bytes = 0; },
                "limits.workspace_bytes"},
        BadSpec{"EndlessWorkspaceInodes", [](JailSpec& s) { s.limits.workspace_inodes = 0; },
                "limits.workspace_inodes"},
        BadSpec{"EndlessTmp", [](JailSpec& s) { s.limits.tmp_bytes = 0; }, "limits.tmp_bytes"},
        BadSpec{"EndlessTmpInodes", [](JailSpec& s) { s.limits.tmp_inodes = 0; },
                "limits.tmp_inodes"}),
    [](const auto& instance) { return std::string(instance.param.name); });

// A spec with one valid grant of each kind.
JailSpec granted() {
  JailSpec value = spec();
  value.root.binds = {{"/usr", "/usr", NodeKind::directory}};
  value.root.links = {{"/lib64", "usr/lib64"}};
  value.root.files = {{"/etc/hosts", ""}};
  value.binds = {{"/srv/models", "/models", NodeKind::directory, "why"}};
  value.volumes = {{"/srv/out", "/data", "why"}};
  value.devices = {{"/dev/kvm", DeviceAccess::read_write, "why"}};
  return value;
}

struct BadGrant {
  std::string field;
  ErrorKind kind;
  std::function<void(JailSpec&)> spoil;
};

void expect_named(const std::vector<BadGrant>& cases) {
  ASSERT_TRUE(compile(granted(), host())) << compile(granted(), host()).error().message();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    JailSpec value = granted();
    cases[i].spoil(value);
    for (const auto& plan : {compile(value, host()), compile_host(value, host()),
                             compile_forked(value, host(), Optimization::on)}) {
      ASSERT_FALSE(plan) << cases[i].field << ", case " << i;
      EXPECT_THAT(plan.error().message(), StartsWith(cases[i].field + ": "));
      EXPECT_EQ(plan.error().kind, cases[i].kind) << plan.error().message();
    }
  }
}

TEST(Grants, StateTheirReasonOnOneLine) {
  std::vector<BadGrant> cases;
  for (const char* why : {"", "  ", "two\nlines", "a \x1b[2J"}) {
    cases.push_back(
        {"binds[0].why", ErrorKind::invalid, [why](JailSpec& s) { s.binds[0].why = why; }});
    cases.push_back(
        {"volumes[0].why", ErrorKind::invalid, [why](JailSpec& s) { s.volumes[0].why = why; }});
    cases.push_back(
        {"devices[0].why", ErrorKind::invalid, [why](JailSpec& s) { s.devices[0].why = why; }});
  }
  expect_named(cases);
}

TEST(Grants, CoverNothingOfTheJail) {
  std::vector<BadGrant> cases;
  for (const char* target :
       {"/proc", "/proc/x", "/dev", "/dev/x", "/tmp/x", "/workspace/x", "/workspace", "/usr",
        "/usr/local", "/lib64/x", "/etc", "/etc/hosts", "/models", "/models/x", "/run/x"}) {
    cases.push_back({"volumes[0].target", ErrorKind::refused,
                     [target](JailSpec& s) { s.volumes[0].target = target; }});
  }
  for (const char* target : {"/", "data", "/a/../b", "/a//b", "/a/"}) {
    cases.push_back({"volumes[0].target", ErrorKind::invalid,
                     [target](JailSpec& s) { s.volumes[0].target = target; }});
    cases.push_back({"binds[0].target", ErrorKind::invalid,
                     [target](JailSpec& s) { s.binds[0].target = target; }});
  }
  cases.push_back({"volumes[1].target", ErrorKind::refused, [](JailSpec& s) {
                     s.volumes.push_back({"/srv/b", "/data/b", "why"});
                   }});
  expect_named(cases);
}

TEST(Grants, AReadOnlyVolumeIsNoWorkingDirectory) {
  JailSpec value = granted();
  value.life = Life::until_ended;
  value.argv.clear();
  value.env.clear();
  value.volumes[0].target = "/workspace";
  ASSERT_TRUE(compile(value, host())) << compile(value, host()).error().message();
  value.volumes[0].access = VolumeAccess::read_only;
  const auto plan = compile(value, host());
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().kind, ErrorKind::refused);
  EXPECT_THAT(plan.error().message(), StartsWith("volumes[0].access: "));
}

TEST(Grants, ShowNothingThatIsTheKernels) {
  std::vector<BadGrant> cases;
  for (const char* source :
       {"/", "/proc", "/proc/self", "/sys/fs/cgroup", "/dev", "/dev/shm", "/etc", "/etc/ssl"}) {
    cases.push_back({"volumes[0].source", ErrorKind::refused,
                     [source](JailSpec& s) { s.volumes[0].source = source; }});
  }
  for (const char* source : {"/proc", "/proc/1", "/sys", "/dev/shm"}) {
    cases.push_back({"binds[0].source", ErrorKind::refused,
                     [source](JailSpec& s) { s.binds[0].source = source; }});
  }
  for (const char* source : {"", "srv", "/srv/../etc", "/srv/"}) {
    cases.push_back({"volumes[0].source", ErrorKind::invalid,
                     [source](JailSpec& s) { s.volumes[0].source = source; }});
  }
  expect_named(cases);
}

TEST(Grants, NameDevicesThatMayBeNamed) {
  std::vector<BadGrant> cases;
  for (const char* path : {"/dev/mem", "/dev/kmem", "/dev/port"}) {
    cases.push_back(
        {"devices[0].path", ErrorKind::refused, [path](JailSpec& s) { s.devices[0].path = path; }});
  }
  for (const char* path :
       {"kvm", "/dev", "/kvm", "/dev/../kvm", "/dev/null", "/dev/fd/0", "/dev/shm/x"}) {
    cases.push_back(
        {"devices[0].path", ErrorKind::invalid, [path](JailSpec& s) { s.devices[0].path = path; }});
  }
  cases.push_back({"devices[1].path", ErrorKind::invalid,
                   [](JailSpec& s) { s.devices.push_back(s.devices[0]); }});
  expect_named(cases);
}

TEST(Compile, RefusesHostRoot) {
  HostFacts facts = host();
  facts.uid = 0;
  const auto plan = compile(spec(), facts);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().kind, ErrorKind::refused);
}

TEST(Compile, AsksForEveryNamespace) {
  const auto plan = compile(spec(), host());
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_EQ(plan->clone_flags,
            std::uint64_t{CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC |
                          CLONE_NEWUTS | CLONE_NEWCGROUP});
}

TEST(Compile, LoadsTheFilterRightBeforeTheProgramStarts) {
  const auto plan = compile(spec(), host());
  ASSERT_TRUE(plan) << plan.error().message();
  const auto& texts = plan->guest.texts;
  ASSERT_GE(texts.size(), 2u);
  EXPECT_EQ(texts[texts.size() - 2].system_call, "seccomp");
  EXPECT_EQ(texts.back().system_call, "execve");
}

TEST(Compile, DropsEveryCapabilityOfTheHost) {
  const auto plan = compile(spec(), host());
  ASSERT_TRUE(plan) << plan.error().message();
  const auto dropped =
      std::count_if(plan->init.texts.begin(), plan->init.texts.end(), [](const CallText& text) {
        return text.purpose.find("from the bounding set") != std::string::npos;
      });
  EXPECT_EQ(dropped, 41);
}

TEST(DescribeCall, NamesThePurposeAndThePlace) {
  const auto plan = compile(spec(), host());
  ASSERT_TRUE(plan) << plan.error().message();
  const std::string count = std::to_string(plan->guest.texts.size());
  EXPECT_EQ(describe_call(*plan, 1, static_cast<int>(plan->guest.texts.size()) - 1),
            "start /bin/true (guest step " + count + " of " + count + ")");
  EXPECT_EQ(describe_call(*plan, 1, -1), "fork the guest");
}

}  // namespace
}  // namespace jail
