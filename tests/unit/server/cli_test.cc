#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "runtime/json/reader.h"
#include "server/cli/doctor.h"
#include "server/cli/drop_privileges.h"
#include "server/cli/exit_codes.h"
#include "server/cli/host_checks.h"

namespace server {
namespace {

using runtime::Status;
using ::testing::HasSubstr;

int code_of(Status status, std::optional<int> exit_code, std::optional<std::string> signal = {}) {
  runtime::RunResult result;
  result.status = status;
  result.exit_code = exit_code;
  result.signal = std::move(signal);
  return exit_code_of(result);
}

TEST(ExitCodes, AreThoseOfTheInterface) {
  EXPECT_EQ(code_of(Status::success, 0), 0);
  EXPECT_EQ(code_of(Status::error, 7), 7);
  EXPECT_EQ(code_of(Status::error, 255), 255);
  EXPECT_EQ(code_of(Status::timeout, {}, "SIGKILL"), 124);
  EXPECT_EQ(code_of(Status::out_of_memory, {}, "SIGKILL"), 137);
  EXPECT_EQ(code_of(Status::killed, {}, "SIGSEGV"), 139);
  EXPECT_EQ(code_of(Status::killed, {}, "SIGRTMIN+1"), 128 + SIGRTMIN + 1);
  EXPECT_EQ(code_of(Status::violation, {}, "SIGSYS"), 159);
  EXPECT_EQ(code_of(Status::cancelled, {}), 143);
}

TEST(ExitCodes, SignalsByName) {
  EXPECT_EQ(signal_number("SIGKILL"), SIGKILL);
  EXPECT_EQ(signal_number("SIGTERM"), SIGTERM);
  EXPECT_EQ(signal_number("SIGRTMIN+0"), SIGRTMIN);
  for (const char* name :
       {"", "SIG", "KILL", "SIGNOPE", "SIGRTMIN+999", "SIGRTMIN+-1", "SIGRTMIN+"}) {
    EXPECT_EQ(signal_number(name), 0) << name;
  }
}

TEST(HostChecks, KernelsFrom61OnAreGood) {
  for (const char* release : {"6.1.0", "6.1.0-13-amd64", "6.18.44-x", "7.0", "10.2.3"}) {
    EXPECT_EQ(check_kernel(release).state, Check::State::good) << release;
  }
  for (const char* release : {"6.0.19", "5.15.0-91-generic", "4.19", "6", "unknown", ""}) {
    const Check check = check_kernel(release);
    EXPECT_EQ(check.state, Check::State::missing) << release;
    EXPECT_THAT(check.advice, HasSubstr("6.1")) << release;
  }
}

TEST(HostChecks, TheBoundThatIsMetFirstIsNamed) {
  PoolBounds bounds;
  EXPECT_EQ(check_pool_bounds(bounds).found, "no bound on how many jails there can be");
  bounds.descriptors = 1'048'576;
  bounds.pipe_pages = 16'384;
  bounds.keys = 200;
  bounds.user_namespaces = 96'365;
  bounds.other_namespaces = 96'365;
  Check check = check_pool_bounds(bounds);
  EXPECT_EQ(check.state, Check::State::good);
  EXPECT_EQ(check.found, "room for 341 jails at once, by pipe pages");
  EXPECT_EQ(check.advice, "");
  bounds.descriptors = 1024;
  check = check_pool_bounds(bounds);
  EXPECT_EQ(check.state, Check::State::notice);
  EXPECT_EQ(check.found, "room for 35 jails at once, by open files");
  EXPECT_THAT(check.advice, HasSubstr("LimitNOFILE"));
  bounds.other_namespaces = 20;
  EXPECT_THAT(check_pool_bounds(bounds).found, HasSubstr("12 jails at once, by other namespaces"));
  bounds = {};
  bounds.keys = 10;
  check = check_pool_bounds(bounds);
  EXPECT_EQ(check.state, Check::State::notice);
  EXPECT_THAT(check.advice, HasSubstr("kernel.keys.maxkeys"));
}

TEST(Doctor, OneMissingPieceMeansNoJails) {
  Diagnosis diagnosis;
  diagnosis.checks = {{"kernel", Check::State::good, "6.18", ""},
                      {"cgroup v2", Check::State::notice, "none", "delegate one"}};
  diagnosis.limits = jail::Enforcement{.memory = jail::Enforcer::watchdog};
  EXPECT_TRUE(diagnosis.jails_run());
  EXPECT_EQ(describe(diagnosis, "1"),
            "agent-sandbox 1\n"
            "ok       kernel            6.18\n"
            "note     cgroup v2         none\n"
            "                           delegate one\n"
            "limits   memory: watchdog, pids: none, cpu: none\n"
            "Jails can run here.\n");
  diagnosis.checks.push_back({"self test", Check::State::missing, "mount: EPERM", ""});
  EXPECT_FALSE(diagnosis.jails_run());
  EXPECT_THAT(describe(diagnosis, "1"), HasSubstr("missing  self test         mount: EPERM\n"));
  EXPECT_THAT(describe(diagnosis, "1"), HasSubstr("Jails cannot run here."));
  EXPECT_THAT(describe(diagnosis, "1", Colours::ansi),
              HasSubstr("\x1b[31mmissing  \x1b[0mself test         mount: EPERM\n"));
}

TEST(Doctor, JsonIsForMachines) {
  Diagnosis diagnosis;
  diagnosis.checks = {{"kernel", Check::State::missing, "5.0", "newer"}};
  const auto value = runtime::json::parse(describe_json(diagnosis, "1"), "doctor");
  ASSERT_TRUE(value.has_value()) << value.error().message();
  const auto& root = *value->as_object();
  EXPECT_FALSE(*root.at("jails_run").as_bool());
  EXPECT_TRUE(root.at("limits").is_null());
  EXPECT_TRUE(root.at("host_speed").is_null());
  const auto& check = *root.at("checks").as_array()->at(0).as_object();
  EXPECT_EQ(*check.at("state").as_string(), "missing");
  EXPECT_EQ(*check.at("advice").as_string(), "newer");
}

TEST(Doctor, JsonHasTheSpeedThatWasMeasured) {
  Diagnosis diagnosis;
  diagnosis.host = {.processor = "x", .processors = 1, .kernel = "6.1"};
  diagnosis.speed = reference_speed;
  EXPECT_THAT(describe_json(diagnosis, "1"),
              HasSubstr("\"host_speed\":" + describe_json(diagnosis.host, reference_speed) + ","));
}

TEST(DropPrivileges, RootIsNoIdentityToDropTo) {
  for (const char* user : {"root", "0", "-1", "4294967295", "no such user", "", "12x"}) {
    EXPECT_FALSE(find_identity(user).has_value()) << user;
  }
  ASSERT_TRUE(find_identity("60800").has_value());
  EXPECT_EQ(find_identity("60800")->uid, 60800u);
  EXPECT_EQ(find_identity("60800")->gid, 60800u);
}

// Returns what a child process reports after dropping: 0, or the number of the first check that
// fails.
int after_drop(const std::optional<std::string>& user) {
  const pid_t child = ::fork();
  if (child == 0) {
    const bool was_root = ::geteuid() == 0;
    const uid_t before = ::geteuid();
    if (!drop_privileges(user)) ::_exit(1);
    if (!was_root) ::_exit(::geteuid() == before ? 0 : 2);
    if (::getuid() == 0 || ::geteuid() == 0 || ::getgid() == 0 || ::getegid() == 0) ::_exit(3);
    if (::setuid(0) == 0 || ::seteuid(0) == 0 || ::setgid(0) == 0) ::_exit(4);
    if (::getgroups(0, nullptr) != 0) ::_exit(5);
    if (::access("/proc/self/uid_map", W_OK) != 0) ::_exit(6);
    if (user && ::getuid() != 60801) ::_exit(7);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(DropPrivileges, NothingOfRootIsLeft) {
  EXPECT_EQ(after_drop(std::nullopt), 0);
  EXPECT_EQ(after_drop("root"), 1);
  // Only root can become somebody else, and this number is somebody else for everybody.
  EXPECT_EQ(after_drop(std::to_string(::geteuid() + 60801)), ::geteuid() == 0 ? 0 : 1);
}

}  // namespace
}  // namespace server
