// What the proxy and the process that looks up names for it can no longer do once they are
// confined, tried by a confined process; and that a proxy that cannot be confined does not start.
#include "egress/confine.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <system_error>
#include <thread>

#include "egress/look_up.h"
#include "egress/policy.h"
#include "jail/egress.h"
#include "jail/fd.h"

namespace jail::egress {
namespace {

// Returns what `work` says in a process of its own.
std::string in_child(const std::function<std::string()>& work) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return "no pipe";
  const Fd reads(ends[0]);
  Fd writes(ends[1]);
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  if (pid == 0) {
    const std::string said = work();
    const bool told = ::write(writes.get(), said.data(), said.size()) >= 0;
    ::_exit(told ? 0 : 1);
  }
  writes.reset();
  std::string said;
  char bytes[512];
  for (ssize_t got; (got = ::read(reads.get(), bytes, sizeof bytes)) > 0;) {
    said.append(bytes, static_cast<std::size_t>(got));
  }
  int status = 0;
  if (pid < 0 || ::waitpid(pid, &status, 0) != pid || status != 0) said += "(died)";
  return said;
}

std::string filter_bytes(const Policy& policy) {
  const auto filter = compile_policy(policy);
  EXPECT_TRUE(filter) << filter.error().message();
  const auto& code = filter->instructions;
  return {reinterpret_cast<const char*>(code.data()), code.size() * sizeof(code[0])};
}

using Work = std::function<std::string()>;

std::string confined(const Policy& policy, Files files, const Work& work) {
  return in_child([filter = filter_bytes(policy), files, &work] {
    const Confinement confinement = confine(filter, files);
    return confinement.error == 0 ? work() : confinement.doing;
  });
}

std::string proxy_says(const Work& work) { return confined(egress_policy(), Files::none, work); }
std::string look_ups_say(const Work& work) {
  return confined(lookup_policy(), Files::readable, work);
}

// Returns the answer of both, which must be the same.
std::string both_say(const Work& work) {
  const std::string proxy = proxy_says(work);
  const std::string look_ups = look_ups_say(work);
  return proxy == look_ups ? proxy : "proxy: " + proxy + ", look-ups: " + look_ups;
}

std::string outcome(long result) {
  return result < 0 ? ::strerrorname_np(errno) : std::string("done");
}

std::string opened(const std::string& path, int flags = O_RDONLY) {
  return outcome(Fd(::open(path.c_str(), flags | O_CLOEXEC, 0600)).get());
}

long landlock_version() { return ::syscall(SYS_landlock_create_ruleset, nullptr, 0, 1); }

TEST(Confine, NoProgramAndNoProcess) {
  EXPECT_EQ(both_say([] {
              char program[] = "/bin/true";
              char* arguments[] = {program, nullptr};
              return outcome(::execve(program, arguments, nullptr));
            }),
            "EPERM");
  EXPECT_EQ(both_say([] {
              const pid_t pid = ::fork();
              if (pid == 0) ::_exit(0);
              return outcome(pid);
            }),
            "EPERM");
  EXPECT_EQ(both_say([] { return outcome(::kill(::getppid(), 0)); }), "EPERM");
  EXPECT_EQ(both_say([] { return outcome(::ptrace(PTRACE_ATTACH, ::getppid(), 0, 0)); }), "EPERM");
}

// The abort works without a signal to itself, by an instruction that no program may execute.
TEST(Confine, AnAbortStillEndsIt) {
  EXPECT_EQ(both_say([]() -> std::string { std::abort(); }), "(died)");
}

TEST(Confine, NothingIsWritten) {
  std::string path = "/tmp/libjail-confine.XXXXXX";
  const Fd file(::mkstemp(path.data()));
  ASSERT_TRUE(file.valid());
  EXPECT_EQ(in_child([&] { return opened(path, O_RDWR); }), "done");
  EXPECT_EQ(look_ups_say([&] { return opened(path); }), "done");
  EXPECT_EQ(proxy_says([&] { return opened(path); }), "EACCES");
  for (const int flags : {O_RDWR, O_WRONLY, O_TRUNC, O_CREAT}) {
    EXPECT_EQ(both_say([&] { return opened(path, flags); }), "EACCES") << flags;
  }
  EXPECT_EQ(both_say([&] { return opened(path + "new", O_CREAT | O_WRONLY); }), "EACCES");
  EXPECT_EQ(both_say([&] { return outcome(::unlink(path.c_str())); }), "ENOSYS");
  EXPECT_EQ(both_say([&] { return outcome(::write(file.get(), "a", 1)); }), "(died)");  // SIGXFSZ
  EXPECT_EQ(::unlink(path.c_str()), 0);
}

TEST(Confine, NoCodeOutOfMemory) {
  const auto mapped = [](int protection) {
    return [=] {
      void* place = ::mmap(nullptr, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (place == MAP_FAILED) return outcome(-1);
      return outcome(::mprotect(place, 4096, PROT_READ | PROT_EXEC));
    };
  };
  EXPECT_EQ(in_child(mapped(PROT_READ | PROT_WRITE | PROT_EXEC)), "done");
  EXPECT_EQ(both_say(mapped(PROT_READ | PROT_WRITE | PROT_EXEC)), "EACCES");
  EXPECT_EQ(both_say(mapped(PROT_READ | PROT_WRITE)), "EACCES");
}

TEST(Confine, NoOtherSockets) {
  EXPECT_EQ(both_say([] { return outcome(::socket(AF_PACKET, SOCK_RAW, 0)); }), "EAFNOSUPPORT");
  EXPECT_EQ(both_say([] { return outcome(::socket(AF_INET, SOCK_RAW, IPPROTO_ICMP)); }),
            "EAFNOSUPPORT");
  const auto served = [] {
    const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in any{};
    any.sin_family = AF_INET;
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0) {
      return "bind " + outcome(-1);
    }
    return outcome(::listen(socket.get(), 1));
  };
  EXPECT_EQ(in_child(served), "done");
  EXPECT_EQ(both_say(served), "bind EPERM");
  // Without bind() the kernel would choose a port by itself.
  EXPECT_EQ(both_say([] {
              const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
              return outcome(::listen(socket.get(), 1));
            }),
            "EPERM");
}

// Services of the host trust the user of a local socket, and a question to a name server carries
// bytes out.
TEST(Confine, TheProxyHasTcpAlone) {
  const auto made = [](int domain, int type, int protocol) {
    return [=] { return outcome(Fd(::socket(domain, type | SOCK_CLOEXEC, protocol)).get()); };
  };
  EXPECT_EQ(both_say(made(AF_INET, SOCK_STREAM, IPPROTO_TCP)), "done");
  EXPECT_EQ(look_ups_say(made(AF_UNIX, SOCK_STREAM, 0)), "done");
  EXPECT_EQ(proxy_says(made(AF_UNIX, SOCK_STREAM, 0)), "EAFNOSUPPORT");
  EXPECT_EQ(look_ups_say(made(AF_INET, SOCK_DGRAM, 0)), "done");
  EXPECT_EQ(proxy_says(made(AF_INET, SOCK_DGRAM, 0)), "EAFNOSUPPORT");
  EXPECT_EQ(proxy_says(made(AF_NETLINK, SOCK_RAW, 0)), "EAFNOSUPPORT");
}

TEST(Confine, TheProxyReadsNoFile) {
  for (const char* path : {"/etc/passwd", "/etc/hosts", "/", "/tmp"}) {
    EXPECT_EQ(look_ups_say([=] { return opened(path); }), "done") << path;
    EXPECT_EQ(proxy_says([=] { return opened(path); }), "EACCES") << path;
    EXPECT_EQ(proxy_says([=] { return opened(path, O_PATH); }), "EACCES") << path;
    // This would work by descriptors of directories, if it had any.
    EXPECT_EQ(proxy_says([=] { return outcome(::openat(0, path, O_RDONLY)); }), "EACCES") << path;
  }
  EXPECT_EQ(proxy_says([] {
              struct stat found {};
              return outcome(::stat("/etc/passwd", &found));
            }),
            "ENOSYS");
  EXPECT_EQ(proxy_says([] {
              char bytes[64];
              return outcome(::readlink("/proc/self/exe", bytes, sizeof bytes));
            }),
            "ENOSYS");
}

// Landlock catches what a filter of numbers misses.
TEST(Confine, TheProxyReadsNoFileThoughTheFilterLetsIt) {
  if (landlock_version() < 1) GTEST_SKIP() << "this kernel has no Landlock";
  EXPECT_EQ(confined(lookup_policy(), Files::none, [] { return opened("/etc/passwd"); }), "EACCES");
}

TEST(Confine, TheProxyStaysOneThread) {
  const auto threaded = [] {
    try {
      std::thread([] {}).join();
    } catch (const std::system_error&) {
      return "none";
    }
    return "made";
  };
  EXPECT_EQ(look_ups_say(threaded), "made");
  EXPECT_EQ(proxy_says(threaded), "none");
}

// The environment of its parent may hold keys, and it runs as the same user.
TEST(Confine, OtherProcessesAreOutOfSight) {
  if (landlock_version() < 1) GTEST_SKIP() << "this kernel has no Landlock";
  // The process is dumpable, as any program of a user is; one that was root before is not.
  ASSERT_EQ(::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), 0);
  for (const std::string file : {"mem", "environ", "maps"}) {
    const std::string path = "/proc/" + std::to_string(::getpid()) + "/" + file;
    EXPECT_EQ(in_child([&] { return opened(path); }), "done") << file;
    EXPECT_EQ(look_ups_say([&] { return opened(path); }), "EACCES") << file;
  }
}

TEST(Confine, AbstractSocketsOfTheHostAreOutOfReach) {
  if (landlock_version() < 6) GTEST_SKIP() << "this kernel's Landlock knows no abstract sockets";
  const Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  socklen_t size = sizeof(sa_family_t);  // the kernel chooses an abstract name
  auto* place = reinterpret_cast<sockaddr*>(&name);
  ASSERT_EQ(::bind(listener.get(), place, size), 0);
  ASSERT_EQ(::listen(listener.get(), 8), 0);
  size = sizeof name;
  ASSERT_EQ(::getsockname(listener.get(), place, &size), 0);
  const auto connected = [&] {
    const Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    return outcome(::connect(socket.get(), place, size));
  };
  EXPECT_EQ(in_child(connected), "done");
  EXPECT_EQ(look_ups_say(connected), "EPERM");
}

TEST(Confine, NamesAreLookedUpInThreads) {
  EXPECT_EQ(look_ups_say([] {
              std::string said;
              std::thread([&] {
                said = look_up("localhost").addresses.empty() ? "none" : "found";
              }).join();
              return said;
            }),
            "found");
  // Look-ups load modules in this way.
  EXPECT_EQ(look_ups_say([] {
              return std::string(::dlopen("libresolv.so.2", RTLD_NOW) == nullptr ? ::dlerror()
                                                                                 : "loaded");
            }),
            "loaded");
}

TEST(Confine, AProgramThatIsNone) {
  EXPECT_EQ(in_child([] { return confine("", Files::none).doing; }), "load its system call filter");
  EXPECT_EQ(in_child([] { return confine("123", Files::none).doing; }),
            "load its system call filter");
  EXPECT_EQ(in_child([] { return confine(std::string(80, 'x'), Files::none).doing; }),
            "load its system call filter");
}

bool load(std::vector<sock_filter> code) {
  const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

std::string started() {
  const auto proxy = EgressProxy::start();
  return proxy ? "started" : proxy.error().message();
}

// Simulates a host whose own filter answers one call by `action`.
std::string started_where(long number, std::uint32_t action) {
  return in_child([=] {
    const bool loaded =
        load({BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
              BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(number), 0, 1),
              BPF_STMT(BPF_RET | BPF_K, action), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)});
    return loaded ? started() : "no filter";
  });
}

TEST(Confine, AKernelWithoutLandlockHasTheFilter) {
  EXPECT_EQ(started_where(SYS_landlock_create_ruleset, SECCOMP_RET_ERRNO | ENOSYS), "started");
  EXPECT_EQ(started_where(SYS_landlock_create_ruleset, SECCOMP_RET_ERRNO | EOPNOTSUPP), "started");
}

TEST(Confine, AProxyThatCannotBeConfinedIsNone) {
  EXPECT_EQ(started_where(SYS_landlock_create_ruleset, SECCOMP_RET_ERRNO | EPERM),
            "confine jail-lookup: restrict it by Landlock: Operation not permitted");
  if (landlock_version() >= 1) {
    EXPECT_EQ(started_where(SYS_landlock_restrict_self, SECCOMP_RET_ERRNO | E2BIG),
              "confine jail-lookup: restrict it by Landlock: Argument list too long");
  }
  EXPECT_EQ(started_where(SYS_landlock_create_ruleset, SECCOMP_RET_KILL_PROCESS),
            "confine jail-lookup: it has ended");
}

// The kernel bounds the total size of a process's filters.
TEST(Confine, WithoutRoomForItsFilterAProxyIsNone) {
  EXPECT_EQ(in_child([] {
              for (const std::size_t size : {4096, 256, 16}) {
                while (load(
                    std::vector<sock_filter>(size, BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)))) {
                }
              }
              return started();
            }),
            "confine jail-lookup: load its system call filter: Cannot allocate memory");
}

}  // namespace
}  // namespace jail::egress
