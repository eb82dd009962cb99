// The content of jail files, and the fields that errors name.
#include "runtime/jail_file/jail_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace runtime {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

class JailFileTest : public testing::Test {
 protected:
  JailFileTest() {
    char name[] = "/tmp/jail-file.XXXXXX";
    directory_ = std::filesystem::canonical(::mkdtemp(name)).string();
  }
  ~JailFileTest() override { std::filesystem::remove_all(directory_); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_ + "/" + name) << text;
  }
  jail::Result<JailFile> read(const std::string& text) const {
    write("jail.json", text);
    return read_jail_file(directory_ + "/jail.json");
  }
  JailFile good(const std::string& text) const {
    auto file = read(text);
    EXPECT_TRUE(file) << file.error().message();
    return file ? std::move(*file) : JailFile();
  }

  std::string directory_;
};

bool has_rule(const jail::Policy& policy, const std::string& syscall, jail::Verdict verdict) {
  return std::any_of(policy.rules.begin(), policy.rules.end(), [&](const jail::Rule& rule) {
    return rule.syscall == syscall && rule.decision.verdict == verdict;
  });
}

TEST_F(JailFileTest, AnEmptyObjectLoosensNothing) {
  const JailFile file = good("{}");
  EXPECT_EQ(file.policy, jail::default_policy());
  EXPECT_TRUE(file.binds.empty() && file.volumes.empty() && file.devices.empty());
  EXPECT_EQ(file.network.kind, jail::Network::Kind::loopback);
}

TEST_F(JailFileTest, PathsAreMeantFromTheFilesDirectory) {
  std::filesystem::create_directory(directory_ + "/models");
  write("key", "");
  std::filesystem::create_directory(directory_ + "/sub");
  write("sub/jail.json", R"({
    "binds": [{"source": "../models/", "target": "/models", "why": "weights"},
              {"source": "../key", "target": "/key", "why": "signs"}],
    "volumes": [{"source": "./out", "target": "/data", "why": "results", "programs": "allowed"},
                {"source": "/srv/x", "target": "/x", "why": "more"}]})");
  std::filesystem::create_symlink("sub/jail.json", directory_ + "/link");
  const auto file = read_jail_file(directory_ + "/link");
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(file->binds.at(0).source, directory_ + "/models");
  EXPECT_EQ(file->binds.at(0).kind, jail::NodeKind::directory);
  EXPECT_EQ(file->binds.at(1).source, directory_ + "/key");
  EXPECT_EQ(file->binds.at(1).kind, jail::NodeKind::file);
  EXPECT_EQ(file->volumes.at(0).source, directory_ + "/sub/out");
  EXPECT_EQ(file->volumes.at(0).programs, jail::Programs::allowed);
  EXPECT_EQ(file->volumes.at(1).source, "/srv/x");
  EXPECT_EQ(file->volumes.at(1).programs, jail::Programs::refused);
}

TEST_F(JailFileTest, RulesTakeThePlaceOfTheirCallOrJoinIt) {
  const JailFile file = good(R"({"add_rules": [
    {"syscalls": ["memfd_create"], "decision": "allow", "why": "numba"},
    {"syscalls": ["ioctl"], "when": [{"argument": 1, "equal": "0xae00"}], "decision": "allow", "why": "kvm"}]})");
  EXPECT_TRUE(has_rule(file.policy, "memfd_create", jail::Verdict::allow));
  EXPECT_FALSE(has_rule(file.policy, "memfd_create", jail::Verdict::error));
  EXPECT_TRUE(has_rule(file.policy, "ioctl", jail::Verdict::error));
  const auto filter = jail::compile_policy(file.policy);
  ASSERT_TRUE(filter) << filter.error().message();
  ASSERT_EQ(filter->looser.size(), 2u);
  EXPECT_EQ(filter->looser[0].syscall + " " + filter->looser[0].what, "memfd_create allow");
  EXPECT_EQ(filter->looser[0].why, "numba");
  EXPECT_EQ(filter->looser[1].what, "allow where argument 1 is 0xae00");
}

TEST_F(JailFileTest, APolicyIsAFileOrStandsInIt) {
  const std::string policy =
      R"({"name": "mine", "otherwise": "ENOSYS", "rules": [{"syscalls": ["read"], "decision": "allow", "why": "reads"}]})";
  write("mine.json", policy);
  const JailFile by_path = good(R"({"policy": "mine.json"})");
  EXPECT_EQ(by_path.policy.name, "mine");
  EXPECT_EQ(good(R"({"policy": )" + policy + "}").policy, by_path.policy);
  const JailFile more = good(R"({"policy": "mine.json", "add_rules": [
    {"syscalls": ["write"], "decision": "allow", "why": "writes"}]})");
  EXPECT_EQ(more.policy.rules.size(), 2u);
  const auto filter = jail::compile_policy(by_path.policy);
  ASSERT_TRUE(filter) << filter.error().message();
  EXPECT_TRUE(filter->looser.empty());
}

TEST_F(JailFileTest, NetworkDevicesNameAndVariables) {
  const JailFile file = good(R"({
    "network": {"allow": [{"to": "pypi.org:443", "why": "pip"}, {"to": "[2001:db8::/32]:443", "why": "six"}]},
    "devices": [{"path": "/dev/kvm", "access": "read_write", "why": "machines"}],
    "hostname": "box", "env": {"A": "1", "B": ""}})");
  EXPECT_EQ(file.network.kind, jail::Network::Kind::egress);
  ASSERT_EQ(file.network.rules.size(), 2u);
  EXPECT_EQ(file.network.rules[0], "pypi.org:443");
  EXPECT_EQ(file.network.why[1], "six");
  EXPECT_EQ(file.devices.at(0).access, jail::DeviceAccess::read_write);
  EXPECT_EQ(file.hostname, "box");
  EXPECT_THAT(file.env, testing::ElementsAre(testing::Pair("A", "1"), testing::Pair("B", "")));
  EXPECT_EQ(good(R"({"network": "none"})").network.kind, jail::Network::Kind::none);
}

TEST_F(JailFileTest, ErrorsNameThePlace) {
  const struct {
    const char* text;
    const char* complaint;
  } cases[] = {
      {"[]", "jail.json: must be an object"},
      {R"({"volume": []})", "volume: unknown field; allowed are policy, add_rules, binds"},
      {R"({"volumes": []})", "volumes: must be a list that is not empty"},
      {R"({"volumes": [{"source": "a", "target": "/a"}]})", "volumes[0].why: missing"},
      {R"({"volumes": [{"source": "a", "target": "/a", "why": " "}]})",
       "volumes[0].why: must be a string that is not empty"},
      {R"({"volumes": [{"target": "/a", "why": "w"}]})", "volumes[0].source: missing"},
      {R"({"volumes": [{"source": "a", "target": "/a", "why": "w", "mode": 1}]})",
       "volumes[0].mode: unknown field"},
      {R"({"volumes": [{"source": "a", "target": "/a", "why": "w", "programs": true}]})",
       "volumes[0].programs: must be refused or allowed"},
      {R"({"binds": [{"source": "a\u0000b", "target": "/a", "why": "w"}]})",
       "binds[0].source: has a NUL in it"},
      {R"({"devices": [{"path": "/dev/kvm", "why": "w"}]})", "devices[0].access: missing"},
      {R"({"devices": [{"path": "/dev/kvm", "access": "write", "why": "w"}]})",
       "devices[0].access: must be read or read_write"},
      {R"({"network": "host"})", "network: must be none, loopback or an object"},
      {R"({"network": {"allow": []}})", "network.allow: must be a list that is not empty"},
      {R"({"network": {"allow": [{"to": "pypi.org", "why": "w"}]}})",
       "network.allow[0].to: egress rule \"pypi.org\": a port is missing"},
      {R"({"network": {"allow": [{"to": "pypi.org:0", "why": "w"}]}})",
       "network.allow[0].to: egress rule \"pypi.org:0\": a port is a number from 1"},
      {R"({"network": {"allow": [{"to": "pypi.org:443"}]}})", "network.allow[0].why: missing"},
      {R"({"add_rules": [{"syscalls": ["read"], "decision": "allow"}]})",
       "add_rules[0].why: missing"},
      {R"({"policy": {"name": "x"}})", "policy.otherwise: missing"},
      {R"({"policy": "missing.json"})", "policy: open"},
      {R"({"policy": 1})", "policy: must be a string"},
      {R"({"env": {"A=B": "x"}})", "not the name of a variable"},
      {R"({"env": {"A": 1}})", "env.A: must be a string"},
      {R"({"hostname": ""})", "hostname: must be a string that is not empty"},
  };
  for (const auto& one : cases) {
    const auto file = read(one.text);
    ASSERT_FALSE(file) << one.text;
    EXPECT_THAT(file.error().message(), HasSubstr(one.complaint));
    EXPECT_THAT(file.error().message(), HasSubstr("jail.json: "));
  }
}

TEST_F(JailFileTest, AFileThatIsNotThereIsNamed) {
  const auto file = read_jail_file(directory_ + "/none.json");
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message(), HasSubstr("none.json"));
  EXPECT_THAT(file.error().message(), EndsWith("No such file or directory"));
}

}  // namespace
}  // namespace runtime
