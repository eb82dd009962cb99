// Jails that have a user and a group of the host each: what the kernel counts for each user, who
// owns what, and that no two jails ever have the same.
#include "own_ids.h"

#include <errno.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "jail/collect.h"
#include "living_jail.h"
#include "processes.h"
#include "warm_jails.h"

namespace kernel_ring {
namespace {

using jail::Phase;
using std::chrono::seconds;
using testing::Each;
using testing::HasSubstr;

// What follows `name` in /proc/PID/status.
std::string in_status(pid_t pid, const std::string& name) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(name + ":\t")) return line.substr(name.size() + 2);
  }
  return {};
}

// Real, effective, saved, and that of files.
std::array<std::uint32_t, 4> ids_in_status(pid_t pid, const std::string& name) {
  std::array<std::uint32_t, 4> ids{};
  std::istringstream text(in_status(pid, name));
  for (std::uint32_t& id : ids) text >> id;
  return ids;
}

class OwnIds : public LivingJail {
 protected:
  void SetUp() override {
    if (own_ids() == nullptr) GTEST_SKIP() << why_no_ids();
  }

  // The user of the process, where its user and group are those of one jail; else 0.
  static std::uint32_t user_of(pid_t pid) {
    const auto users = ids_in_status(pid, "Uid");
    const auto groups = ids_in_status(pid, "Gid");
    const std::uint32_t index = users[0] - own_ids()->first_uid();
    EXPECT_LT(index, own_ids()->count()) << users[0];
    EXPECT_THAT(users, Each(users[0]));
    EXPECT_THAT(groups, Each(own_ids()->first_gid() + index));
    EXPECT_NE(users[0], ::geteuid());
    return users[0];
  }

  // The launcher's word about init may come after init's own.
  static pid_t init_of(jail::Jail& jail) {
    EXPECT_TRUE(soon([&] { return jail.advance() && jail.process_fd() >= 0; }));
    return process_of(jail.process_fd());
  }
};

TEST_F(OwnIds, AreEachJailsAndNobodyElses) {
  ASSERT_NO_FATAL_FAILURE(begin(living_spec()));
  const jail::Process sleeper = spawn(shell_process("exec sleep 30"));
  const jail::JailSpec one_program = spec_for({"/usr/bin/true"});
  auto cold = ready_jail(one_program);
  ASSERT_TRUE(cold) << cold.error().message();
  DrivenPool pool(python_template());
  ASSERT_TRUE(pool.until_ready(2)) << pool->state().trouble;
  auto warm = pool->lease();
  auto living = pool->launch_living();
  ASSERT_TRUE(warm);
  ASSERT_TRUE(living) << living.error().message();
  ASSERT_TRUE(living->wait(Phase::ready, scaled(seconds(10))));
  std::set<std::uint32_t> users;
  for (jail::Jail* jail : {&*jail_, &*cold, &*warm, &*living}) {
    const pid_t init = init_of(*jail);
    const std::uint32_t user = user_of(init);
    users.insert(user);
    // In it, its guest's processes.
    for (const pid_t pid : descendants_of(init)) EXPECT_EQ(user_of(pid), user);
  }
  EXPECT_EQ(users.size(), 4u);
}

TEST_F(OwnIds, AGuestSeesWhatItWouldSeeWithoutThem) {
  const std::string code = R"py(
import os
print(os.getresuid(), os.getresgid(), os.stat("/workspace").st_uid, os.stat("/tmp").st_gid)
print([line.split()[1] for line in open("/proc/self/status") if line.startswith(("CapEff", "CapPrm"))])
for other in (0, 1001, 65534, %u):
    try: os.setresuid(other, other, other)
    except OSError as error: print(error.errno, end=" ")
)py";
  char text[2048];
  std::snprintf(text, sizeof text, code.c_str(), ::geteuid());
  EXPECT_EQ(run_python(text).out,
            "(1000, 1000, 1000) (1000, 1000, 1000) 1000 1000\n"
            "['0000000000000000', '0000000000000000']\n1 1 1 1 ");
}

TEST_F(OwnIds, StreamsAreOpenedByTheirPaths) {
  const Outcome outcome = run_shell("echo out > /dev/stdout; echo err > /dev/stderr");
  EXPECT_EQ(outcome.out, "out\n");
  EXPECT_EQ(outcome.err, "err\n");
}

// Says its first line once it has used up something of its user's, and holds that.
class Holder {
 public:
  explicit Holder(jail::Process process)
      : process_(std::move(process)), said_(process_.take_stdout()) {}

  std::string first_line() {
    std::string line;
    pollfd readable{said_.get(), POLLIN, 0};
    for (char letter = 0; letter != '\n';) {
      if (::poll(&readable, 1, scaled_ms(20'000)) != 1) return line + " and no more";
      if (::read(said_.get(), &letter, 1) != 1) {
        if (errno == EAGAIN) continue;
        return line + " and its end";
      }
      if (letter != '\n') line += letter;
    }
    return line;
  }

 private:
  jail::Process process_;
  jail::Fd said_;
};

// A user's pipes are small once all of them together have fs.pipe-user-pages-soft pages.
TEST_F(OwnIds, PipesOfOneJailAreNotCountedInAnother) {
  const std::string size = "import fcntl, os\nsize = lambda: fcntl.fcntl(os.pipe()[1], 1032)\n";
  const std::string fill = R"py(
import sys, time
for _ in range(4):
    told, tell = os.pipe()
    if os.fork() == 0:
        pipes = [os.pipe() for _ in range(400)]
        os.write(tell, b"x")
        time.sleep(60)
    os.read(told, 1)
print(size(), flush=True)
time.sleep(60)
)py";
  ASSERT_NO_FATAL_FAILURE(begin(unhurried_spec()));
  Holder holder(spawn(python_process(size + fill)));
  EXPECT_LT(std::stoi(holder.first_line()), 65'536) << "it has not used them up";
  EXPECT_EQ(run_python(size + "print(size())").out, "65536\n");
  int own[2];
  ASSERT_EQ(::pipe(own), 0);
  EXPECT_EQ(::fcntl(own[0], F_GETPIPE_SZ), 65'536) << "this process's";
  ::close(own[0]);
  ::close(own[1]);
}

// A user's descriptors on their way are as many as one process may have open.
TEST_F(OwnIds, DescriptorsOnTheirWayInOneJailAreNotCountedInAnother) {
  const std::string send = R"py(
import errno, socket, sys, time
sender, receiver = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
def send(count):
    try: socket.send_fds(sender, [b"x"], [0] * count)
    except OSError as error: return errno.errorcode[error.errno]
    return "sent"
)py";
  const std::string fill = R"py(
sender.setblocking(False)
pairs = []
while (answer := send(250)) in ("sent", "EAGAIN"):
    if answer == "EAGAIN":
        pairs += [sender, receiver]
        sender, receiver = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
print(answer, flush=True)
time.sleep(60)
)py";
  ASSERT_NO_FATAL_FAILURE(begin(unhurried_spec()));
  Holder holder(spawn(python_process(send + fill)));
  EXPECT_EQ(holder.first_line(), "ETOOMANYREFS");
  EXPECT_EQ(run_python(send + "print(send(250))").out, "sent\n");
}

TEST_F(OwnIds, PendingSignalsOfOneJailAreNotCountedInAnother) {
  const std::string queue = R"py(
import os, signal, time
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN])
for _ in range(2000): os.kill(os.getpid(), signal.SIGRTMIN)
print([line.split()[1] for line in open("/proc/self/status") if line.startswith("SigQ")], flush=True)
)py";
  ASSERT_NO_FATAL_FAILURE(begin(unhurried_spec()));
  Holder holder(spawn(python_process(queue + "time.sleep(60)")));
  const std::string full = holder.first_line();
  EXPECT_EQ(full, "['1024/1024']");
  EXPECT_EQ(run_python(queue).out, full + "\n");
}

TEST_F(OwnIds, OwnerAndGuestShareTheFilesOfTheJail) {
  ASSERT_NO_FATAL_FAILURE(begin(unhurried_spec()));
  const auto given = jail_->open_file("/workspace/given", O_WRONLY | O_CREAT, 0600);
  ASSERT_TRUE(given) << given.error().message();
  ASSERT_EQ(::write(given->get(), "of the owner", 12), 12);
  const std::string script =
      "cat given; echo more >> given; chmod 0400 given; stat -c ' %u %g %a' given;"
      "umask 077; mkdir -p deep/er; echo result > deep/er/result";
  EXPECT_EQ(run(shell_process("cd /workspace; " + script)).out, "of the owner 1000 1000 400\n");
  const auto secret = jail_->open_file("/workspace/deep/er/result", O_RDWR);
  ASSERT_TRUE(secret) << secret.error().message();
  char text[8] = {};
  EXPECT_EQ(::read(secret->get(), text, 7), 7);
  EXPECT_STREQ(text, "result\n");
  const std::vector<std::string> all = {"**"};
  const jail::Collection left = jail::collect(jail_->working_directory_fd(), all, {});
  EXPECT_EQ(left.skipped_total, 0u);
  ASSERT_EQ(left.files.size(), 2u);
  EXPECT_EQ(left.files[0].content, "result\n");
  EXPECT_EQ(left.files[1].content, "of the ownermore\n");
}

TEST_F(OwnIds, AFileIsWrittenForTheGuestOfAnyMode) {
  const jail::JailSpec spec =
      spec_for({"/usr/bin/bash", "-c", "cat /workspace/a/b; rm -r /workspace/a"});
  auto jail = ready_jail(spec);
  ASSERT_TRUE(jail);
  const auto written = jail->write_file("a/b", "its own", 0400);
  ASSERT_TRUE(written) << written.error().message();
  ASSERT_TRUE(jail->start());
  const Outcome outcome = collect(*jail);
  EXPECT_EQ(outcome.out, "its own");
  EXPECT_EQ(outcome.err, "");
}

TEST_F(OwnIds, TheOwnerActsInADirectoryAsItsUser) {
  ASSERT_NO_FATAL_FAILURE(begin(living_spec()));
  const int workspace = jail_->working_directory_fd();
  EXPECT_NE(::mkdirat(workspace, "own", 0700), 0) << "this process's user has no number in there";
  {
    const jail::ActAsOwnerOf acting(workspace);
    EXPECT_EQ(::mkdirat(workspace, "own", 0700), 0);
  }
  EXPECT_EQ(run(shell_process("rmdir /workspace/own")).err, "");
  const std::string place = "/tmp/own-ids-" + std::to_string(::getpid());
  const jail::Fd file(::open(place.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  struct stat status {};
  ASSERT_EQ(::fstat(file.get(), &status), 0);
  EXPECT_EQ(status.st_uid, ::geteuid()) << "it is itself again";
  ::unlink(place.c_str());
}

TEST_F(OwnIds, NoTwoJailsThatLiveHaveTheSame) {
  std::vector<jail::Jail> kept;
  std::set<std::uint32_t> users;
  // More than the range has where it is this program's own. Nearly all are given up before it is
  // known that they are made.
  constexpr std::uint32_t most = 512;
  for (std::uint32_t i = 0; i < std::min(own_ids()->count(), most) + 50; ++i) {
    auto jail = launcher().launch(living_spec());
    ASSERT_TRUE(jail) << jail.error().message();
    if (i % 50 != 0) continue;
    ASSERT_TRUE(jail->wait(Phase::ready, scaled(seconds(10))));
    users.insert(user_of(init_of(*jail)));
    kept.push_back(std::move(*jail));
  }
  EXPECT_EQ(users.size(), kept.size());
}

TEST_F(OwnIds, TheLauncherHasNoMoreThanItTakes) {
  const pid_t pid = process_of(launcher().process_fd());
  EXPECT_EQ(in_status(pid, "CapEff"), "00000000000000c0") << "CAP_SETGID and CAP_SETUID";
  EXPECT_EQ(in_status(pid, "CapPrm"), "00000000000000c0");
  const std::array<std::uint32_t, 4> own = {::geteuid(), ::geteuid(), ::geteuid(), ::geteuid()};
  EXPECT_TRUE(soon([&] { return ids_in_status(pid, "Uid") == own; })) << "when it makes no jail";
  EXPECT_EQ(in_status(::getpid(), "CapAmb"), "0000000000000000") << "nobody else inherits them";
}

TEST_F(OwnIds, AVolumeIsRefused) {
  jail::JailSpec spec = living_spec();
  spec.volumes = {{.source = "/tmp", .target = "/data", .why = "the test shows it"}};
  const auto jail = launcher().launch(spec);
  ASSERT_FALSE(jail);
  EXPECT_EQ(jail.error().kind, jail::ErrorKind::unsupported);
}

TEST_F(OwnIds, WhatOnlyTheOwnerReadsIsNotReached) {
  const std::string place = "/tmp/own-ids-" + std::to_string(::getpid());
  ASSERT_EQ(::mkdir(place.c_str(), 0700), 0);
  jail::JailSpec spec = living_spec();
  ASSERT_EQ(::mkdir((place + "/inner").c_str(), 0755), 0);
  spec.binds = {{place + "/inner", "/data", jail::NodeKind::directory, "the test shows it"}};
  std::string said;
  for (const mode_t mode : {0700, 0755}) {
    EXPECT_EQ(::chmod(place.c_str(), mode), 0);
    const auto jail = ready_jail(spec);
    EXPECT_EQ(jail.has_value(), mode == 0755);
    if (!jail) said = jail.error().message();
  }
  EXPECT_THAT(said, HasSubstr("what everybody on the host may reach"));
  ::rmdir((place + "/inner").c_str());
  ::rmdir(place.c_str());
}

TEST_F(OwnIds, ThePlanSaysThatTheLauncherNamesThem) {
  const auto plan = launcher().explain(living_spec());
  ASSERT_TRUE(plan);
  EXPECT_THAT(*plan, HasSubstr("map a user of the jail's own"));
  EXPECT_THAT(*plan, HasSubstr("\"1000 ?????????? 1\""));
}

TEST_F(OwnIds, AProcessEntersOneRange) {
  const auto again = jail::IdRange::enter();
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().message(), "");
}

}  // namespace
}  // namespace kernel_ring
