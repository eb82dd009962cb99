// The second fence: what Landlock's rules allow a guest to do with files, processes and sockets, in
// jails whose first fence has a hole. Each hole is open where the domain is left out, which proves
// that the domain closes it.
#include "child/landlock.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <linux/sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "faults.h"
#include "jail/policy.h"

namespace kernel_ring {
namespace {

using jail::Phase;
using testing::HasSubstr;
using testing::StartsWith;

enum class Kind : std::uint8_t { cold, warm };

constexpr char domain[] = "enter a Landlock domain";

jail::FilterProgram filter_where_init_is_signalled() {
  jail::Policy policy = jail::default_policy();
  std::erase_if(policy.rules, [](const jail::Rule& rule) { return rule.syscall == "kill"; });
  policy.rules.push_back({"kill", {jail::Verdict::allow}, {}, "to see what stops it"});
  auto filter = jail::compile_policy(policy);
  EXPECT_TRUE(filter) << filter.error().message();
  return std::move(*filter);
}

void leave_out(jail::Plan& plan, const std::string& beginning) {
  const auto fits = [&](const std::string& purpose) { return purpose.starts_with(beginning); };
  EXPECT_GE(edited::leave_out(plan, fits), 1u) << beginning;
}

std::string name_of(const testing::TestParamInfo<Kind>& kind) {
  return kind.param == Kind::cold ? "Cold" : "Warm";
}

class Landlock : public FaultsTest {
 protected:
  void SetUp() override {
    version_ = jail::Launcher::State::of(launcher_)->host.landlock;
    if (version_ == 0) GTEST_SKIP() << "this kernel has no Landlock";
  }

  // Returns the output of `program`, in Python, in a jail with the edited plan.
  std::string says(Kind kind, const std::string& program, const Change& change = {},
                   const edited::Edit& edit = {}) const {
    jail::TemplateSpec spec = python_template();
    if (change) change(spec.jail);
    if (kind == Kind::cold) {
      auto plan = jail::compile(spec.jail, jail::Launcher::State::of(launcher_)->host);
      if (!plan) return plan.error().message();
      if (edit) edit(*plan);
      return run_in(edited::launch(launcher_, std::move(*plan), spec.jail.limits), program);
    }
    auto warm = edited::Template::start(launcher_, spec, {}, edit);
    if (!warm) return warm.error().message();
    if (auto ready = warm->wait_until_ready(patience); !ready) return ready.error().message();
    return run_in(warm->order(), program);
  }

  int version_ = 0;

 private:
  static std::string run_in(jail::Result<jail::Jail> jail, const std::string& program) {
    if (!jail) return jail.error().message();
    if (auto ready = jail->wait(Phase::ready, patience); !ready) return ready.error().message();
    EXPECT_TRUE(jail->write_file("main.py", program, 0644));
    EXPECT_TRUE(jail->start());
    const Outcome outcome = collect(*jail);
    EXPECT_EQ(outcome.report.exit_code, 0) << outcome.err;
    return outcome.out;
  }
};

class LandlockOf : public Landlock, public testing::WithParamInterface<Kind> {};
INSTANTIATE_TEST_SUITE_P(Jail, LandlockOf, testing::Values(Kind::cold, Kind::warm), name_of);

TEST_F(Landlock, WhereTheKernelHasNoneJailsDoWithout) {
  EXPECT_EQ(launcher_.landlock_version(),
            ::syscall(SYS_landlock_create_ruleset, nullptr, 0, jail::landlock::ask_for_version));
  EXPECT_THAT(*launcher_.explain(spec_for({"/usr/bin/true"})), HasSubstr(domain));
  const pid_t pid = ::fork();
  if (pid == 0) {
    auto started = refuse_call(SYS_landlock_create_ruleset, EOPNOTSUPP)
                       ? start_launcher()
                       : jail::Error{jail::ErrorKind::kernel, "load a filter", 0, {}};
    if (!started || started->landlock_version() != 0) ::_exit(1);
    const auto spec = spec_for({"/usr/bin/true"});
    const auto plan = started->explain(spec);
    if (!plan || plan->find("Landlock") != plan->npos) ::_exit(2);
    auto jail = started->launch(spec);
    ::_exit(jail && run_to_end(*jail) && jail->report().exit_code == 0 ? 0 : 3);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
}

// A directory of this user with a secret in it.
class HostDirectory {
 public:
  HostDirectory() {
    char name[] = "/tmp/landlock.XXXXXX";
    path_ = std::filesystem::canonical(::mkdtemp(name)).string();
    std::ofstream(path_ + "/secret") << "the secret of the host";
  }
  HostDirectory(const HostDirectory&) = delete;
  ~HostDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A mount without a rule is one that nobody intended.
TEST_P(LandlockOf, AMountByMistakeIsNotReadable) {
  const HostDirectory directory;
  const Change with_mount = [&](jail::JailSpec& spec) {
    spec.binds = {
        {directory.path(), "/mistake", jail::NodeKind::directory, "the test looks at it"}};
  };
  const auto without = [](std::vector<std::string> steps) {
    return [steps](jail::Plan& plan) {
      for (const std::string& step : steps) leave_out(plan, step);
    };
  };
  constexpr char program[] = R"py(
try: print(open('/mistake/secret').read(), end='')
except OSError as error: print(type(error).__name__, end='')
)py";
  const std::string rule = "let /mistake be read";
  EXPECT_EQ(says(GetParam(), program, with_mount, without({rule})), "PermissionError");
  EXPECT_EQ(says(GetParam(), program, with_mount, without({rule, domain})),
            "the secret of the host");
  EXPECT_EQ(says(GetParam(), program, with_mount), "the secret of the host");
}

TEST_P(LandlockOf, AWritableMountByMistakeTakesNothing) {
  const HostDirectory directory;
  const Change with_mount = [&](jail::JailSpec& spec) {
    spec.volumes = {{directory.path(), "/mistake", "the test looks at it"}};
  };
  constexpr char program[] = R"py(
import os
for attempt in (lambda: open('/mistake/new', 'w'), lambda: os.mkdir('/mistake/directory'),
                lambda: os.unlink('/mistake/secret'),
                lambda: os.rename('/mistake/secret', '/mistake/renamed'), lambda: os.symlink('x', '/mistake/link')):
    try: attempt(); print('done', end=' ')
    except OSError as error: print(type(error).__name__, end=' ')
)py";
  const auto mistake = [](jail::Plan& plan) { leave_out(plan, "let /mistake be changed"); };
  std::string refusals;
  for (int i = 0; i < 5; ++i) refusals += "PermissionError ";
  EXPECT_EQ(says(GetParam(), program, with_mount, mistake), refusals);
  EXPECT_TRUE(std::filesystem::exists(directory.path() + "/secret"));
  const auto open = [](jail::Plan& plan) { leave_out(plan, domain); };
  EXPECT_THAT(says(GetParam(), program, with_mount, open), StartsWith("done done done "));
}

// The root of the host, opened before the jail had a root of its own.
TEST_F(Landlock, ADescriptorByMistakeLeadsNowhere) {
  const HostDirectory directory;
  const auto with_descriptor = [](jail::Plan& plan) {
    const auto texts = [&](const std::string& purpose) {
      return std::find_if(plan.init.texts.begin(), plan.init.texts.end(),
                          [&](const auto& text) { return text.purpose == purpose; }) -
             plan.init.texts.begin();
    };
    const jail::wire::Call root =
        plan.init.calls.at(static_cast<std::size_t>(texts("change to /")));
    jail::wire::Call& opens =
        plan.init.calls.at(static_cast<std::size_t>(texts("reset the personality")));
    opens.number = SYS_openat;
    opens.kind[1] = root.kind[0];
    opens.argument[0] = AT_FDCWD;
    opens.argument[1] = root.argument[0];
    opens.argument[2] = O_RDONLY | O_DIRECTORY;
    leave_out(plan, "close every other descriptor at execve");
  };
  const std::string program = R"py(
import os
for fd in range(3, 64):
    try: os.fstat(fd)
    except OSError: continue
    try: print(open(os.open(')py" +
                              directory.path().substr(1) +
                              R"py(/secret', os.O_RDONLY, dir_fd=fd)).read(), end='')
    except NotADirectoryError: continue
    except FileNotFoundError: continue
    except OSError as error: print(type(error).__name__, end='')
)py";
  EXPECT_EQ(says(Kind::cold, program, {}, with_descriptor), "PermissionError");
  EXPECT_EQ(says(Kind::cold, program, {},
                 [&](jail::Plan& plan) {
                   with_descriptor(plan);
                   leave_out(plan, domain);
                 }),
            "the secret of the host");
}

TEST_P(LandlockOf, InitIsNotSignalled) {
  if (version_ < 6) GTEST_SKIP() << "this kernel's Landlock knows no signals";
  const Change with_kill = [](jail::JailSpec& spec) {
    spec.filter = filter_where_init_is_signalled();
  };
  constexpr char program[] = R"py(
import os, signal, subprocess
child = subprocess.Popen(['/usr/bin/sleep', '60'])
child.terminate()
print(child.wait(), end=' ')
try: os.kill(1, 0); print('init', end='')
except OSError as error: print(type(error).__name__, end='')
)py";
  EXPECT_EQ(says(GetParam(), program, with_kill), "-15 PermissionError");
  EXPECT_EQ(says(GetParam(), program, with_kill, [](jail::Plan& plan) { leave_out(plan, domain); }),
            "-15 init");
}

// Abstract names belong to a network namespace, here that of the host.
TEST_F(Landlock, NoAbstractSocketOfTheHost) {
  if (version_ < 6) GTEST_SKIP() << "this kernel's Landlock knows no abstract sockets";
  const std::string name = "agent-sandbox-test-" + std::to_string(::getpid());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(name.begin(), name.end(), address.sun_path + 1);
  const jail::Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listener.get(), 4), 0);
  const auto in_network_of_host = [](jail::Plan& plan) {
    plan.clone_flags &= ~std::uint64_t{CLONE_NEWNET};
    for (const char* step :
         {"open a routing socket", "ask for the loopback interface", "read the kernel's answer",
          "bring the loopback interface up", "close the routing socket"}) {
      leave_out(plan, step);
    }
  };
  const std::string program = R"py(
import socket
own = socket.socket(socket.AF_UNIX); own.bind('\0own'); own.listen()
for name in ('own', ')py" + name +
                              R"py('):
    try: socket.socket(socket.AF_UNIX).connect('\0' + name); print('connected', end=' ')
    except OSError as error: print(type(error).__name__, end=' ')
)py";
  EXPECT_EQ(says(Kind::cold, program, {}, in_network_of_host), "connected PermissionError ");
  EXPECT_EQ(says(Kind::cold, program, {},
                 [&](jail::Plan& plan) {
                   in_network_of_host(plan);
                   leave_out(plan, domain);
                 }),
            "connected connected ");
}

// What programs do every day, with the same errors as without a domain.
TEST_P(LandlockOf, NothingElseChanges) {
  constexpr char program[] = R"py(
import os, socket, subprocess, termios
def attempt(what, *arguments):
    try: result = what(*arguments)
    except OSError as error: print(what.__name__, arguments[:1], error.errno)
    except termios.error as error: print(what.__name__, error.args[0])
    else: print(what.__name__, type(result).__name__)
def program(path, *arguments):
    return subprocess.run([path, *arguments], check=True, capture_output=True).stdout
for place in ('/tmp', '/workspace'):
    for name in ('a', 'b'): attempt(os.mkdir, f'{place}/{name}')
    open(f'{place}/a/file', 'w').write('#!/bin/sh\necho hello\n')
    attempt(os.rename, f'{place}/a/file', f'{place}/b/file')
    attempt(os.link, f'{place}/b/file', f'{place}/a/link')
    os.chmod(f'{place}/a/link', 0o755)
    print(program(f'{place}/a/link'))
    attempt(os.truncate, f'{place}/a/link', 3)
    attempt(os.symlink, 'link', f'{place}/a/symlink')
    attempt(os.mkfifo, f'{place}/a/fifo')
    attempt(socket.socket(socket.AF_UNIX).bind, f'{place}/a/socket')
    attempt(os.unlink, f'{place}/b/file'); attempt(os.rmdir, f'{place}/b')
attempt(os.rename, '/tmp/a/link', '/workspace/link')
for path in ('/', '/etc', '/usr', '/dev', '/proc', '/tmp'): attempt(os.listdir, path)
for path in ('/new', '/etc/passwd', '/usr/new', '/dev/new', '/proc/self/comm', '/proc/1/mem'): attempt(open, path, 'w')
print(program('/proc/self/exe', '-c', 'print(1)'), program('python3', '-c', 'print(2)'), len(open('/proc/self/exe', 'rb').read(8)))
for name in ('null', 'zero', 'full', 'random', 'urandom'):
    attempt(termios.tcgetattr, os.open(f'/dev/{name}', os.O_RDONLY))
attempt(open, '/dev/null', 'w'); attempt(open, '/dev/stdout', 'w')
listener = socket.create_server(('127.0.0.1', 0))
attempt(socket.create_connection, listener.getsockname())
attempt(os.kill, os.getpid(), 0); attempt(os.kill, 1, 0); attempt(os.kill, -1, 0)
)py";
  const std::string expected =
      says(GetParam(), program, {}, [](jail::Plan& plan) { leave_out(plan, domain); });
  EXPECT_THAT(expected, HasSubstr("hello"));
  EXPECT_EQ(says(GetParam(), program), expected);
}

}  // namespace
}  // namespace kernel_ring
