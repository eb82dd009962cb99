// What a jail is given beside its root: volumes, binds, devices and calls, and no more than that.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <utility>

#include "guest.h"
#include "living_jail.h"
#include "tests/driven_pool.h"
#include "tests/time_scale.h"

namespace kernel_ring {
namespace {

using jail::Device;
using jail::DeviceAccess;
using jail::ErrorKind;
using jail::NodeKind;
using jail::Phase;
using jail::Programs;
using jail::Volume;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr char reason[] = "the test looks at it";

void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A directory of this user, with the files to be shown in `shared` and a secret beside it.
class Grants : public testing::Test {
 protected:
  Grants() {
    char name[] = "/tmp/grants.XXXXXX";
    place_ = std::filesystem::canonical(::mkdtemp(name)).string();
    std::filesystem::create_directory(shared());
    write(secret(), "the secret of the host");
  }
  ~Grants() override {
    std::error_code ignored;
    std::filesystem::remove_all(place_, ignored);
  }

  std::string shared() const { return place_ + "/shared"; }
  std::string secret() const { return place_ + "/secret"; }

  Change with_volume(Programs programs = Programs::refused, jail::VolumeAccess access = {}) const {
    return [volume = Volume{shared(), "/data", reason, programs, access}](jail::JailSpec& spec) {
      spec.volumes = {volume};
    };
  }

  std::string place_;
};

TEST_F(Grants, AVolumeIsOneDirectoryForGuestAndHost) {
  write(shared() + "/in", "from the host");
  const Outcome outcome = run_shell(
      "cat /data/in; mkdir -p /data/a/b && echo from the guest > /data/a/b/out", with_volume());
  EXPECT_EQ(outcome.out, "from the host") << outcome.err;
  EXPECT_EQ(outcome.report.exit_code, 0) << outcome.err;
  const std::string made = shared() + "/a/b/out";
  EXPECT_EQ(text_of(made), "from the guest\n");
  struct stat status {};
  ASSERT_EQ(::stat(made.c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, ::geteuid());
}

TEST_F(Grants, ProgramsOfAVolumeRunOnlyWhereItSaysSo) {
  write(shared() + "/program", "#!/usr/bin/bash\necho it runs\n");
  ASSERT_EQ(::chmod((shared() + "/program").c_str(), 0755), 0);
  const Outcome refused = run_shell("/data/program", with_volume());
  EXPECT_EQ(refused.report.exit_code, 126);
  EXPECT_EQ(refused.out, "");
  EXPECT_EQ(run_shell("/data/program", with_volume(Programs::allowed)).out, "it runs\n");
}

TEST_F(Grants, EveryMountOfAVolumeIsRestricted) {
  for (const Programs programs : {Programs::refused, Programs::allowed}) {
    const Outcome outcome = run_shell("grep ' /data ' /proc/self/mountinfo", with_volume(programs));
    for (const char* flag : {"rw", "nosuid", "nodev"}) EXPECT_THAT(outcome.out, HasSubstr(flag));
    EXPECT_EQ(outcome.out.find("noexec") == std::string::npos, programs == Programs::allowed);
  }
}

TEST_F(Grants, AReadOnlyVolumeCanBeReadAlone) {
  write(shared() + "/in", "from the host");
  const Outcome outcome = run_shell(
      "cat /data/in; grep ' /data ' /proc/self/mountinfo; rm -f /data/in; echo x > /data/in",
      with_volume(Programs::refused, jail::VolumeAccess::read_only));
  EXPECT_THAT(outcome.out, testing::ContainsRegex("from the host.* ro,nosuid,nodev,noexec"));
  EXPECT_EQ(text_of(shared() + "/in"), "from the host");
}

TEST_F(Grants, LinksOfAVolumeResolveInTheJail) {
  std::filesystem::create_symlink(secret(), shared() + "/absolute");
  std::filesystem::create_symlink("../secret", shared() + "/relative");
  std::filesystem::create_symlink("/etc/shadow", shared() + "/shadow");
  std::filesystem::create_symlink("/", shared() + "/root");
  ASSERT_EQ(text_of(shared() + "/relative"), "the secret of the host");
  const Outcome outcome =
      run_shell("cd /data; for f in absolute relative shadow ../secret root" + secret() +
                    "; do cat $f; done; ls root; ls /data/..; ls -d /data/../data",
                with_volume());
  EXPECT_THAT(outcome.out, Not(HasSubstr("secret of the host")));
  EXPECT_THAT(outcome.out, Not(HasSubstr("home")));
  EXPECT_THAT(outcome.out, HasSubstr("workspace\n"));
  EXPECT_THAT(outcome.out, HasSubstr("/data/../data\n"));
  EXPECT_THAT(outcome.err, HasSubstr("shadow: No such file"));
}

TEST_F(Grants, LinksThatAGuestMakesLeadTheHostNowhereByThemselves) {
  const Outcome outcome = run_python(R"(
import os
for target, name in (('/etc/passwd', 'hard'), ('/usr/bin/bash', 'program'), ('/dev/null', 'node')):
    try:
        os.link(target, '/data/' + name)
        print('linked', name)
    except OSError as error:
        print(error.errno)
for kind in (0o020666, 0o060666, 0o010666):
    try:
        os.mknod('/data/made', kind, os.makedev(1, 3))
        print('made', kind)
    except OSError as error:
        print(error.errno)
os.symlink('/etc/shadow', '/data/link')
)",
                                     with_volume());
  const std::string cross = std::to_string(EXDEV) + "\n";
  const std::string denied = std::to_string(EPERM) + "\n";
  EXPECT_EQ(outcome.out, cross + cross + cross + denied + denied + denied) << outcome.err;
  EXPECT_TRUE(std::filesystem::is_symlink(shared() + "/link"));
}

TEST_F(Grants, AFileInAVolumeGrowsNoLargerThanTheLimit) {
  const Outcome outcome =
      run_python("open('/data/large', 'wb').write(bytes(8 << 20))", [this](jail::JailSpec& spec) {
        with_volume()(spec);
        spec.limits.file_bytes = 1u << 20;
      });
  EXPECT_THAT(outcome.err, HasSubstr("File too large"));
  EXPECT_EQ(std::filesystem::file_size(shared() + "/large"), 1u << 20);
}

TEST_F(Grants, AGuestCanWriteNowhereElse) {
  const Outcome outcome = run_shell(
      "for f in /x /etc/x /usr/x /data/../x; do echo x > $f; done; id -G; ls /proc/self/fd | wc -l",
      with_volume());
  EXPECT_EQ(outcome.out, "1000\n4\n");
  EXPECT_FALSE(std::filesystem::exists(place_ + "/x"));
}

TEST_F(Grants, AnExtraBindIsReadOnly) {
  write(shared() + "/in", "from the host");
  const Change binds = [this](jail::JailSpec& spec) {
    spec.binds = {{shared(), "/models", NodeKind::directory, reason},
                  {secret(), "/srv/one/file", NodeKind::file, reason}};
  };
  const Outcome outcome =
      run_shell("cat /models/in /srv/one/file; echo x > /models/in; echo x > /srv/one/file", binds);
  EXPECT_EQ(outcome.out, "from the hostthe secret of the host");
  EXPECT_EQ(text_of(shared() + "/in"), "from the host");
  EXPECT_EQ(text_of(secret()), "the secret of the host");
}

TEST_F(Grants, ADeviceIsThereWhereItIsNamed) {
  // The driver answers ENXIO when the terminal of a session that has none is opened.
  const std::string look = R"(
import os
try:
    print(os.major(os.stat('/dev/tty').st_rdev))
    os.open('/dev/tty', os.O_RDWR)
except OSError as error:
    print(error.errno)
)";
  EXPECT_EQ(run_python(look).out, std::to_string(ENOENT) + "\n");
  const Change named = [](jail::JailSpec& spec) {
    spec.devices = {{"/dev/tty", DeviceAccess::read_write, reason}};
  };
  EXPECT_EQ(run_python(look, named).out, "5\n" + std::to_string(ENXIO) + "\n");
}

// A terminal of this user, used as a device that is given to a guest.
TEST_F(Grants, AGuestUsesADeviceAsItsModeSays) {
  const jail::Fd terminal(::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  ASSERT_EQ(::grantpt(terminal.get()), 0);
  ASSERT_EQ(::unlockpt(terminal.get()), 0);
  char path[64] = {};
  ASSERT_EQ(::ptsname_r(terminal.get(), path, sizeof path), 0);
  const auto with = [&](DeviceAccess access) {
    return [&path, access](jail::JailSpec& spec) { spec.devices = {{path, access, reason}}; };
  };
  const std::string code = std::string(R"(
import os
def attempt(action):
    try:
        print(action())
    except OSError as error:
        print(error.errno)
path = ')") + path + R"('
attempt(lambda: os.write(os.open(path, os.O_WRONLY | os.O_NOCTTY), b'four'))
attempt(lambda: os.open(path, os.O_RDONLY | os.O_NOCTTY) > 0)
attempt(lambda: os.chmod(path, 0o666))
)";
  const std::string read_only = std::to_string(EROFS) + "\n";
  EXPECT_EQ(run_python(code, with(DeviceAccess::read_write)).out, "4\nTrue\n" + read_only);
  char text[8] = {};
  EXPECT_EQ(::read(terminal.get(), text, sizeof text), 4);
  EXPECT_STREQ(text, "four");
  ASSERT_EQ(::chmod(path, 0400), 0);
  EXPECT_EQ(run_python(code, with(DeviceAccess::read)).out,
            std::to_string(EACCES) + "\nTrue\n" + read_only);
}

TEST_F(Grants, OneMoreCallPassesWhereItIsNamed) {
  const std::string code = "import os; print(os.write(os.memfd_create('x'), b'four'))";
  EXPECT_THAT(run_python(code).err, HasSubstr("Function not implemented"));
  const jail::Policy policy = jail::with_rules(
      jail::default_policy(), {{"memfd_create", {jail::Verdict::allow, 0}, {}, "numba needs it"}});
  const auto filter = jail::compile_policy(policy);
  ASSERT_TRUE(filter) << filter.error().message();
  const Change loosen = [&](jail::JailSpec& spec) { spec.filter = *filter; };
  EXPECT_EQ(run_python(code, loosen).out, "4\n");
  jail::JailSpec spec = spec_for({"/usr/bin/true"});
  loosen(spec);
  const auto text = launcher().explain(spec);
  ASSERT_TRUE(text) << text.error().message();
  EXPECT_THAT(*text, HasSubstr("call    memfd_create allow: numba needs it\n"));
}

TEST_F(Grants, ExplainSaysNothingOfADefaultJail) {
  const auto text = launcher().explain(spec_for({"/usr/bin/true"}));
  ASSERT_TRUE(text) << text.error().message();
  EXPECT_THAT(*text, StartsWith("Loosened: nothing\nclone3 "));
}

TEST_F(Grants, AForkedJailHasThemToo) {
  jail::TemplateSpec spec;
  spec.name = "python";
  spec.jail = spec_for({"/usr/bin/python3", "/workspace/main.py"});
  write(shared() + "/program", "#!/usr/bin/bash\necho it runs\n");
  ASSERT_EQ(::chmod((shared() + "/program").c_str(), 0755), 0);
  std::filesystem::create_directory(place_ + "/models");
  write(place_ + "/models/one", "a model");
  with_volume()(spec.jail);
  spec.jail.binds = {{place_ + "/models", "/models", NodeKind::directory, reason}};
  spec.jail.devices = {{"/dev/tty", DeviceAccess::read_write, reason}};
  DrivenPool pool(launcher(), spec, {.usual = 2});
  for (int run = 0; run < 2; ++run) {
    ASSERT_TRUE(pool.until_ready()) << pool->state().trouble;
    auto jail = pool->lease();
    ASSERT_TRUE(jail) << jail.error().message();
    ASSERT_TRUE(jail->wait(Phase::ready, scaled(seconds(20))));
    ASSERT_TRUE(jail->write_file("main.py", R"(
import os, subprocess
open('/data/log', 'a').write('x')
print(len(open('/data/log').read()), open('/models/one').read(), os.major(os.stat('/dev/tty').st_rdev))
for attempt in (lambda: subprocess.run('/data/program'), lambda: open('/models/x', 'w'), lambda: open('/x', 'w')):
    try:
        attempt()
    except OSError as error:
        print(error.errno)
print(sorted(os.listdir('/proc/self/fd')), os.path.exists('/run'))
)",
                                 0644));
    ASSERT_TRUE(jail->start());
    const Outcome outcome = collect(*jail);
    EXPECT_EQ(outcome.out, std::to_string(run + 1) + " a model 5\n" + std::to_string(EACCES) +
                               "\n" + std::to_string(EROFS) + "\n" + std::to_string(EROFS) +
                               "\n['0', '1', '2', '3'] False\n")
        << outcome.err;
  }
  EXPECT_EQ(text_of(shared() + "/log"), "xx");
}

// Files that an interpreter or a tool would take for code or settings where it finds them.
TEST_F(Grants, WhatAVolumeHoldsIsNoCodeOfAForkedJail) {
  for (const char* name : {"sitecustomize.py", "usercustomize.py", "conftest.py", "left.pth",
                           "json.py", "encodings.py", "main.py", ".pythonrc"}) {
    write(shared() + "/" + name, "import sys; print('left by another')");
  }
  jail::TemplateSpec spec;
  spec.name = "python";
  spec.jail = spec_for({"/usr/bin/python3", "/workspace/main.py"});
  with_volume()(spec.jail);
  DrivenPool pool(launcher(), spec, {.usual = 2});
  for (int run = 0; run < 2; ++run) {
    ASSERT_TRUE(pool.until_ready()) << pool->state().trouble;
    auto jail = pool->lease();
    ASSERT_TRUE(jail) << jail.error().message();
    ASSERT_TRUE(jail->wait(Phase::ready, scaled(seconds(20))));
    ASSERT_TRUE(jail->write_file("main.py", R"(
import sys
import json, site
print([path for path in sys.path if path.startswith('/data')], json.__file__.startswith('/usr'))
site.addsitedir('/data')
)",
                                 0644));
    ASSERT_TRUE(jail->start());
    // The last line is the control: it is taken where it is requested.
    EXPECT_EQ(collect(*jail).out, "[] True\nleft by another\n");
  }
}

// Returns the output of `program`, in Python, in a cold jail and in a fork of a zygote that has run
// `warm_up` before.
std::pair<std::string, std::string> cold_and_forked(const std::string& program,
                                                    const std::string& warm_up,
                                                    const Change& change) {
  jail::TemplateSpec spec;
  spec.name = "python";
  spec.jail = spec_for({"/usr/bin/python3", "/workspace/main.py"});
  change(spec.jail);
  spec.warm_up = warm_up;
  DrivenPool pool(launcher(), spec, {.least = 1, .usual = 1});
  EXPECT_TRUE(pool.until_ready()) << pool->state().trouble;
  const auto said_by = [&](jail::Result<jail::Jail> jail) {
    if (!jail) return jail.error().message();
    if (auto ready = jail->wait(Phase::ready, scaled(seconds(20))); !ready) {
      return ready.error().message();
    }
    EXPECT_TRUE(jail->write_file("main.py", program, 0644));
    EXPECT_TRUE(jail->start());
    const Outcome outcome = collect(*jail);
    return outcome.out + outcome.err;
  };
  return {said_by(launcher().launch(spec.jail)), said_by(pool->lease())};
}

TEST_F(Grants, WhatARootHidesIsEmpty) {
  std::filesystem::create_directories(shared() + "/shown/hidden/deeper");
  write(shared() + "/hidden", "no directory is in the place of one");
  write(shared() + "/shown/file", "shown");
  write(shared() + "/shown/hidden/file", "hidden");
  write(shared() + "/shown/hidden/deeper/file", "hidden");
  const Change hiding = [&](jail::JailSpec& spec) {
    spec.root.binds.push_back({shared(), "/part"});
    spec.root.hidden = {"/part/shown/hidden"};
  };
  constexpr char program[] = R"py(
import os
print(sorted(os.listdir('/part')), sorted(os.listdir('/part/shown')), os.listdir('/part/shown/hidden'))
for attempt in (lambda: open('/part/shown/hidden/file'), lambda: open('/part/shown/hidden/deeper/file'),
                lambda: open('/part/shown/hidden/new', 'w')):
    try: attempt()
    except OSError as error: print(type(error).__name__, error.errno)
print(open('/part/shown/file').read(), os.listdir('/tmp'), os.listdir('/workspace'))
)py";
  // A zygote sees no more than its forks.
  const auto [cold, forked] =
      cold_and_forked(program, "import os; assert os.listdir('/part/shown/hidden') == []", hiding);
  EXPECT_EQ(cold,
            "['hidden', 'shown'] ['file', 'hidden'] []\nFileNotFoundError 2\nFileNotFoundError 2\n"
            "OSError 30\nshown [] ['main.py']\n");
  EXPECT_EQ(forked, cold);
}

TEST_F(Grants, WhatNoPackageBroughtIsShownWhereItIsNamed) {
  const auto in_root = jail::host_root().hidden;
  if (in_root.empty()) GTEST_SKIP() << "this host has no /usr/local";
  EXPECT_EQ(in_root.front(), "/usr/local");
  ASSERT_FALSE(std::filesystem::is_empty("/usr/local"));
  constexpr char program[] = R"py(
import os, sys
print(len(os.listdir('/usr/local')) > 0, [path for path in sys.path if path.startswith('/usr/local')])
)py";
  constexpr char seen_by_zygote[] = "import os; seen = len(os.listdir('/usr/local')) > 0";
  const auto [cold, forked] = cold_and_forked(
      program, std::string(seen_by_zygote) + "; assert not seen", [](jail::JailSpec&) {});
  EXPECT_EQ(cold, "False []\n");
  EXPECT_EQ(forked, cold);
  const Change named = [](jail::JailSpec& spec) {
    spec.binds = {{"/usr/local", "/usr/local", NodeKind::directory, reason}};
  };
  const auto [shown, shown_forked] =
      cold_and_forked(program, std::string(seen_by_zygote) + "; assert seen", named);
  EXPECT_THAT(shown, StartsWith("True ["));
  EXPECT_EQ(shown_forked, shown);
  jail::JailSpec spec = spec_for({"/usr/bin/true"});
  named(spec);
  const auto plan = launcher().explain(spec);
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_THAT(*plan,
              HasSubstr(std::string("bind    /usr/local shows /usr/local, read-only: ") + reason));
}

struct Spoilt {
  ErrorKind kind;
  std::string field;
  std::function<void(jail::JailSpec&)> spoil;
};

void expect_refused(const std::vector<Spoilt>& cases) {
  for (const Spoilt& one : cases) {
    jail::JailSpec spec = spec_for({"/usr/bin/true"});
    one.spoil(spec);
    const auto made = launcher().launch(spec);
    ASSERT_FALSE(made) << one.field;
    EXPECT_THAT(made.error().message(), StartsWith(one.field + ": "));
    EXPECT_EQ(made.error().kind, one.kind) << made.error().message();
    EXPECT_FALSE(launcher().explain(spec));
  }
}

TEST_F(Grants, VolumesThatAreNone) {
  std::filesystem::create_symlink("shared", place_ + "/link");
  std::filesystem::create_directory(shared() + "/below");
  const auto from = [](const std::string& source) {
    return [source](jail::JailSpec& spec) { spec.volumes = {{source, "/data", reason}}; };
  };
  expect_refused({{ErrorKind::refused, "volumes[0].source", from("/usr")},
                  {ErrorKind::refused, "volumes[0].source", from("/tmp")},
                  {ErrorKind::refused, "volumes[0].source", from(place_ + "/link")},
                  {ErrorKind::refused, "volumes[0].source", from(place_ + "/link/below")},
                  {ErrorKind::invalid, "volumes[0].source", from(place_ + "/missing")},
                  {ErrorKind::invalid, "volumes[0].source", from(secret())}});
  ASSERT_EQ(::chmod(shared().c_str(), 0500), 0);
  expect_refused({{ErrorKind::refused, "volumes[0].source", from(shared())}});
  ASSERT_EQ(::chmod(shared().c_str(), 0700), 0);
}

TEST_F(Grants, BindsThatAreNone) {
  std::filesystem::create_symlink("/proc", place_ + "/link");
  ASSERT_EQ(::mkfifo((place_ + "/pipe").c_str(), 0600), 0);
  const auto from = [](const std::string& source, NodeKind kind) {
    return [source, kind](jail::JailSpec& spec) { spec.binds = {{source, "/b", kind, reason}}; };
  };
  expect_refused(
      {{ErrorKind::refused, "binds[0].source", from(place_ + "/link", NodeKind::directory)},
       {ErrorKind::invalid, "binds[0].source", from(place_ + "/pipe", NodeKind::file)},
       {ErrorKind::invalid, "binds[0].source", from(shared(), NodeKind::file)},
       {ErrorKind::invalid, "binds[0].source", from(secret(), NodeKind::directory)},
       {ErrorKind::invalid, "binds[0].source", from(place_ + "/missing", NodeKind::directory)},
       {ErrorKind::refused, "binds[0].target", [&](jail::JailSpec& spec) {
          spec.root.hidden = {"/usr/share"};
          spec.binds = {{shared(), "/usr/share", NodeKind::directory, reason}};
        }}});
}

TEST_F(Grants, DevicesThatAreNone) {
  const auto device = [](const std::string& path, DeviceAccess access) {
    return [=](jail::JailSpec& spec) { spec.devices = {{path, access, reason}}; };
  };
  expect_refused(
      {{ErrorKind::invalid, "devices[0].path", device("/dev/missing", DeviceAccess::read_write)},
       {ErrorKind::refused, "devices[0].path", device("/dev/net", DeviceAccess::read_write)},
       {ErrorKind::refused, "devices[0].access", device("/dev/tty", DeviceAccess::read)}});
  for (const char* path : {"/dev/kmsg", "/dev/loop0", "/dev/console"}) {
    if (::access(path, F_OK) != 0) continue;
    expect_refused(
        {{ErrorKind::refused, "devices[0].path", device(path, DeviceAccess::read_write)}});
  }
}

class LivingGrants : public LivingJail {};

TEST_F(LivingGrants, AVolumeAtWorkspaceIsNoMemory) {
  std::string disk = "/tmp/living-disk.XXXXXX";
  ASSERT_NE(::mkdtemp(disk.data()), nullptr);
  jail::JailSpec spec = living_spec();
  spec.limits.memory_bytes = 64u << 20;
  spec.limits.file_bytes = 256u << 20;
  spec.volumes = {{.source = disk,
                   .target = "/workspace",
                   .why = "work that is larger than memory",
                   .programs = jail::Programs::allowed}};
  begin(spec);
  const Outcome wrote = run(shell_process(
      "head -c 150000000 /dev/zero > large && stat -c %s large && cp /usr/bin/true t && ./t && "
      "grep ' /workspace ' /proc/self/mountinfo"));
  EXPECT_THAT(wrote.out, HasSubstr("150000000\n")) << wrote.err;
  for (const char* flag : {"rw", "nosuid", "nodev"}) EXPECT_THAT(wrote.out, HasSubstr(flag));
  EXPECT_EQ(wrote.report.exit_code, 0) << wrote.err;
  EXPECT_EQ(run(shell_process("mknod null c 1 3; echo $?")).out, "1\n");
  const auto file = jail_->open_file("/workspace/from_outside", O_WRONLY | O_CREAT, 0644);
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(::access((disk + "/from_outside").c_str(), F_OK), 0);
  EXPECT_EQ(run(shell_process("echo x >> from_outside; cat from_outside")).out, "x\n");
  std::filesystem::remove_all(disk);
}

}  // namespace
}  // namespace kernel_ring
