// The plan of a fixed spec, call by call, against a recorded listing: a change in what a jail is
// made of shows up as a changed line here. To accept one: UPDATE_GOLDEN=1 ctest -L golden, then
// read the difference.
#include "plan/plan.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/resource.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

namespace jail {
namespace {

HostFacts fixed_host() {
  HostFacts host;
  host.uid = 4242;
  host.gid = 4343;
  host.last_capability = 40;
  host.landlock = 7;
  host.hard_limits.assign(RLIM_NLIMITS, RLIM_INFINITY);
  return host;
}

FilterProgram refuse_everything() {
  const sock_filter instruction{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS};
  FilterProgram program;
  program.instructions.resize(1);
  std::memcpy(program.instructions.data(), &instruction, sizeof instruction);
  return program;
}

JailSpec fixed_spec() {
  JailSpec spec;
  spec.argv = {"/usr/bin/python3", "/workspace/main.py", "first argument"};
  spec.env = {"HOME=/workspace", "PATH=/usr/bin:/bin"};
  spec.filter = refuse_everything();
  spec.root.binds = {{"/usr", "/usr", NodeKind::directory},
                     {"/etc/ssl/certs", "/etc/ssl/certs", NodeKind::directory},
                     {"/etc/ld.so.cache", "/etc/ld.so.cache", NodeKind::file}};
  spec.root.hidden = {"/usr/local"};
  spec.root.links = {{"/bin", "usr/bin"}, {"/lib64", "usr/lib64"}};
  spec.root.files = {{"/etc/hosts", "127.0.0.1 localhost\n"}};
  return spec;
}

void expect_golden(const std::string& name, const std::string& actual) {
  const std::string path = std::string(GOLDEN_DIRECTORY) + "/" + name + ".txt";
  if (std::getenv("UPDATE_GOLDEN") != nullptr) std::ofstream(path) << actual;
  std::ifstream file(path);
  ASSERT_TRUE(file) << path << " is missing";
  std::stringstream expected;
  expected << file.rdbuf();
  EXPECT_EQ(actual, expected.str());
}

TEST(GoldenPlan, PythonOnTheHostRoot) {
  const auto plan = compile(fixed_spec(), fixed_host());
  ASSERT_TRUE(plan) << plan.error().message();
  expect_golden("python", to_text(*plan));
}

TEST(GoldenPlan, OfALivingJail) {
  JailSpec spec = fixed_spec();
  spec.life = Life::until_ended;
  spec.argv = {};
  spec.env = {};
  spec.root = {};
  const auto plan = compile(spec, fixed_host());
  ASSERT_TRUE(plan) << plan.error().message();
  expect_golden("living", to_text(*plan));
}

TEST(GoldenPlan, WithAWayOut) {
  JailSpec spec = fixed_spec();
  spec.root = {};
  spec.network = Network::allow({"example.org:443"});
  const auto plan = compile(spec, fixed_host());
  ASSERT_TRUE(plan) << plan.error().message();
  expect_golden("egress", to_text(*plan));
}

TEST(GoldenPlan, OwnHardLimitsAreNeverRaised) {
  HostFacts host = fixed_host();
  host.hard_limits[RLIMIT_NOFILE] = 512;
  host.hard_limits[RLIMIT_NPROC] = 20;
  const auto plan = compile(fixed_spec(), host);
  ASSERT_TRUE(plan) << plan.error().message();
  expect_golden("low_hard_limits", to_text(*plan));
}

TEST(GoldenPlan, SmallAndOffTheDefaults) {
  JailSpec spec = fixed_spec();
  spec.root = {};
  spec.argv = {"/bin/true"};
  spec.env = {};
  spec.hostname = "h";
  spec.working_directory = "/tmp";
  spec.limits.memory_bytes = 32u << 20;
  spec.limits.processes = 1;
  spec.limits.workspace_bytes = 1u << 20;
  spec.limits.tmp_inodes = 8;
  const auto plan = compile(spec, fixed_host());
  ASSERT_TRUE(plan) << plan.error().message();
  expect_golden("small", to_text(*plan));
}

JailSpec forked_spec() {
  JailSpec spec = fixed_spec();
  spec.argv.resize(2);
  return spec;
}

TEST(GoldenPlan, HostOfATemplate) {
  const auto plan = compile_host(forked_spec(), fixed_host());
  ASSERT_TRUE(plan) << plan.error().message();
  expect_golden("host", to_text(*plan));
}

TEST(GoldenPlan, JailThatAHostMakes) {
  const auto plan = compile_forked(forked_spec(), fixed_host(), Optimization::on);
  ASSERT_TRUE(plan) << plan.error().message();
  expect_golden("forked", to_text(*plan));
}

TEST(GoldenPlan, LivingJailThatAHostMakes) {
  const auto plan = compile_living_in_host(forked_spec(), fixed_host());
  ASSERT_TRUE(plan) << plan.error().message();
  expect_golden("living_in_host", to_text(*plan));
  HostFacts before = fixed_host();
  before.landlock = 5;
  const auto refused = compile_living_in_host(forked_spec(), before);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::unsupported);
}

// All grants that a jail can have beside its root, on a root with little else.
JailSpec granted_spec() {
  JailSpec spec = forked_spec();
  spec.root = {};
  spec.root.binds = {{"/usr", "/usr", NodeKind::directory}};
  spec.binds = {{"/srv/models", "/models", NodeKind::directory, "the weights that it loads"},
                {"/srv/key.pem", "/keys/key.pem", NodeKind::file, "it signs what it makes"}};
  spec.volumes = {
      {"/srv/results", "/data/results", "results are kept between runs"},
      {"/srv/tools", "/data/tools", "it builds tools and runs them", Programs::allowed}};
  spec.devices = {{"/dev/kvm", DeviceAccess::read_write, "it starts machines"},
                  {"/dev/input/event0", DeviceAccess::read, "it counts keys"}};
  spec.filter.policy = "default with rules added";
  spec.filter.looser = {{"memfd_create", "allow", "numba\ncompiles into it"}};
  return spec;
}

TEST(GoldenPlan, WithGrants) {
  const auto plan = compile(granted_spec(), fixed_host());
  ASSERT_TRUE(plan) << plan.error().message();
  expect_golden("granted", loosened_text(granted_spec()) + to_text(*plan));
}

TEST(GoldenPlan, HostOfATemplateWithGrants) {
  const auto plan = compile_host(granted_spec(), fixed_host());
  ASSERT_TRUE(plan) << plan.error().message();
  expect_golden("granted_host", to_text(*plan));
}

TEST(GoldenPlan, JailWithGrantsThatAHostMakes) {
  const auto plan = compile_forked(granted_spec(), fixed_host(), Optimization::on);
  ASSERT_TRUE(plan) << plan.error().message();
  expect_golden("granted_forked", to_text(*plan));
}

TEST(GoldenLoosened, IsNothingByItself) {
  JailSpec spec = fixed_spec();
  spec.filter.policy = "default";
  EXPECT_EQ(loosened_text(spec), "Loosened: nothing\n");
}

TEST(GoldenLoosened, IsAFilterOfNobodyKnowsWhom) {
  EXPECT_EQ(
      loosened_text(fixed_spec()),
      "Loosened:\n  policy  a filter that compile_policy() did not make, of 1 instructions\n");
}

TEST(GoldenLoosened, IsAPartOfARootThatHasAReason) {
  JailSpec spec = fixed_spec();
  spec.filter.policy = "default";
  spec.root.binds.push_back(
      {"/opt/sdk", "/opt/sdk", NodeKind::directory, "it is compiled with it"});
  EXPECT_EQ(loosened_text(spec),
            "Loosened:\n  bind    /opt/sdk shows /opt/sdk, read-only: it is compiled with it\n");
}

}  // namespace
}  // namespace jail
