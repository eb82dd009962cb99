// The environment that a guest finds.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest.h"
#include "tests/time_scale.h"

namespace kernel_ring {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

TEST(Isolation, GuestIsAnOrdinaryUserOfItsOwnNamespace) {
  EXPECT_EQ(run_shell("id").out, "uid=1000(sandbox) gid=1000(sandbox) groups=1000(sandbox)\n");
}

TEST(Isolation, EveryCapabilitySetIsEmpty) {
  const Outcome outcome = run_shell("grep ^Cap /proc/self/status");
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}) {
    EXPECT_THAT(outcome.out, HasSubstr(std::string(set) + ":\t0000000000000000\n"));
  }
}

TEST(Isolation, NoNewPrivilegesAndAFilterAreSet) {
  const Outcome outcome = run_shell("grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status");
  EXPECT_EQ(outcome.out, "NoNewPrivs:\t1\nSeccomp:\t2\n");
}

TEST(Isolation, EveryNamespaceDiffersFromTheHosts) {
  const Outcome outcome =
      run_shell("for n in user pid mnt net ipc uts cgroup; do readlink /proc/self/ns/$n; done");
  for (const char* name : {"user", "pid", "mnt", "net", "ipc", "uts", "cgroup"}) {
    char link[64] = {};
    ASSERT_GT(::readlink((std::string("/proc/self/ns/") + name).c_str(), link, sizeof link - 1), 0);
    EXPECT_THAT(outcome.out, HasSubstr(std::string(name) + ":["));
    EXPECT_THAT(outcome.out, Not(HasSubstr(link)));
  }
}

TEST(Isolation, RootAndEtcCannotBeWritten) {
  for (const char* path : {"/x", "/etc/x", "/etc/passwd", "/usr/x", "/dev/x", "/proc/self/comm"}) {
    const Outcome outcome = run_shell(std::string("echo x > ") + path);
    EXPECT_EQ(outcome.report.exit_code, 1) << path;
    EXPECT_THAT(outcome.err, HasSubstr("Read-only file system")) << path;
  }
}

TEST(Isolation, TheTreeHoldsNothingElse) {
  const Outcome outcome = run_shell("ls /");
  EXPECT_THAT(outcome.out, Not(ContainsRegex("sys|home|root|mnt|boot|var")));
  EXPECT_EQ(run_shell("ls /dev").out,
            "fd\nfull\nnull\nrandom\nshm\nstderr\nstdin\nstdout\nurandom\nzero\n");
}

TEST(Isolation, MountsAreRestricted) {
  const Outcome outcome = run_python(R"(
for line in open('/proc/self/mountinfo'):
    where, flags = line.split()[4], line.split()[5].split(',')
    assert 'nosuid' in flags, line
    assert 'nodev' in flags or where.startswith('/dev/'), line
    assert ('rw' in flags) == (where in ('/workspace', '/tmp')), line
    print(where)
)");
  EXPECT_EQ(outcome.report.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("/workspace\n"));
}

TEST(Isolation, ProcShowsOnlyTheJail) {
  const Outcome outcome =
      run_shell("ls /proc; cat /proc/cpuinfo /proc/1/status /proc/sys/kernel/ostype");
  EXPECT_THAT(outcome.out, HasSubstr("self"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("meminfo")));
  EXPECT_THAT(outcome.err, ContainsRegex("/proc/cpuinfo: No such file"));
  EXPECT_THAT(outcome.err, ContainsRegex("/proc/1/status: No such file"));
  EXPECT_THAT(outcome.err, ContainsRegex("/proc/sys/kernel/ostype: No such file"));
}

TEST(Isolation, OnlyThreeDescriptorsAreOpen) {
  // Three streams, and the descriptor that lists them.
  EXPECT_EQ(run_python("import os; print(sorted(map(int, os.listdir('/proc/self/fd'))))").out,
            "[0, 1, 2, 3]\n");
}

TEST(Isolation, InheritedDescriptorsOfTheEmbedderStayOutside) {
  const int leak = ::open("/etc/hostname", O_RDONLY);  // on purpose without O_CLOEXEC
  ASSERT_GE(leak, 0);
  const auto started = start_launcher();
  ASSERT_TRUE(started) << started.error().message();
  auto jail = started->launch(spec_for({"/usr/bin/bash", "-c", "ls /proc/self/fd | wc -l"}));
  ASSERT_TRUE(jail) << jail.error().message();
  ASSERT_TRUE(jail->wait(jail::Phase::ready, scaled(std::chrono::seconds(10))));
  const jail::Fd out = jail->take_stdout();
  ASSERT_TRUE(jail->start());
  ASSERT_TRUE(jail->wait(jail::Phase::ended, scaled(std::chrono::seconds(10))));
  char text[16] = {};
  EXPECT_GT(::read(out.get(), text, sizeof text - 1), 0);
  EXPECT_STREQ(text, "4\n");
  ::close(leak);
}

TEST(Isolation, EnvironmentIsTheSpecs) {
  EXPECT_EQ(run_python("import os; print(sorted(os.environ))",
                       [](jail::JailSpec& spec) { spec.env = {"ONLY=this"}; })
                .out,
            "['LC_CTYPE', 'ONLY']\n");  // LC_CTYPE is set by CPython itself, by PEP 538
}

TEST(Isolation, UmaskDirectoryAndSessionAreFresh) {
  const Outcome outcome = run_python(R"(
import os, signal
print(oct(os.umask(0)), os.getcwd(), os.getsid(0) == os.getpid() == os.getpgrp())
print(signal.pthread_sigmask(signal.SIG_BLOCK, []))
print([s.name for s in signal.Signals if s not in (9, 19) and signal.getsignal(s) == signal.SIG_IGN])
)");
  EXPECT_EQ(outcome.out, "0o22 /workspace True\nset()\n['SIGPIPE', 'SIGXFSZ']\n");  // CPython's own
}

TEST(Isolation, HostNameIsTheSpecs) {
  EXPECT_EQ(run_shell("hostname", [](jail::JailSpec& spec) { spec.hostname = "elsewhere"; }).out,
            "elsewhere\n");
}

TEST(Isolation, LoopbackIsUpAndAlone) {
  const Outcome outcome = run_python(R"(
import socket
server = socket.create_server(('127.0.0.1', 0))
client = socket.create_connection(server.getsockname())
client.sendall(b'x')
print(server.accept()[0].recv(1))
try:
    socket.create_connection(('192.0.2.1', 80), timeout=2)
except OSError as error:
    print(error.strerror)
)");
  EXPECT_EQ(outcome.out, "b'x'\nNetwork is unreachable\n");
}

TEST(Isolation, InitCannotBeTouched) {
  const Outcome outcome = run_python(R"(
import os, resource, signal
for attempt in (lambda: os.kill(1, signal.SIGKILL), lambda: os.kill(1, signal.SIGSTOP), lambda: os.kill(1, 0),
                lambda: os.pidfd_open(1), lambda: open('/proc/1/mem', 'r+b'), lambda: open('/proc/1/environ'),
                lambda: resource.prlimit(1, resource.RLIMIT_NOFILE, (0, 0)),
                lambda: os.sched_setaffinity(1, {0}), lambda: os.setpriority(os.PRIO_PROCESS, 1, 19),
                lambda: os.setpriority(os.PRIO_USER, 0, 19), lambda: os.setpriority(os.PRIO_PGRP, 1, 19)):
    try:
        attempt()
        print('touched')
    except OSError as error:
        pass
print('done')
)");
  EXPECT_EQ(outcome.out, "done\n") << outcome.err;
  EXPECT_EQ(outcome.report.ended, jail::Ended::exited);
}

TEST(Isolation, JailsDoNotSeeEachOther) {
  auto other = launcher().launch(spec_for({"/usr/bin/sleep", "5"}));
  ASSERT_TRUE(other) << other.error().message();
  ASSERT_TRUE(other->wait(jail::Phase::ready, scaled(std::chrono::seconds(10))));
  ASSERT_TRUE(other->start());
  EXPECT_EQ(run_python("import os; print([p for p in os.listdir('/proc') if p.isdigit()] == "
                       "[str(os.getpid())])")
                .out,
            "True\n");
}

TEST(Isolation, SharedMemoryWorksAndIsBounded) {
  const Outcome outcome = run_python(R"(
from multiprocessing import shared_memory
block = shared_memory.SharedMemory(create=True, size=1 << 20)
block.buf[0] = 7
other = shared_memory.SharedMemory(block.name)
print(other.buf[0])
block.unlink()
)");
  EXPECT_EQ(outcome.out, "7\n") << outcome.err;
}

}  // namespace
}  // namespace kernel_ring
