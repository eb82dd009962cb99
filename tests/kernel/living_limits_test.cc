// The limits of a living jail are changed while programs run in it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "living_jail.h"
#include "processes.h"
#include "tests/time_scale.h"

namespace kernel_ring {
namespace {

using jail::Ended;
using jail::ErrorKind;
using jail::LimitChange;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::uint64_t mebibyte = 1u << 20;

jail::JailSpec changeable_spec() {
  jail::JailSpec spec = unhurried_spec();
  spec.limits.memory_bytes = 128 * mebibyte;
  spec.limits.processes = 16;
  spec.limits.file_bytes = 32 * mebibyte;
  spec.limits.workspace_bytes = 32 * mebibyte;
  spec.limits.tmp_bytes = 32 * mebibyte;
  spec.max_limits = spec.limits;
  spec.max_limits->memory_bytes = 512 * mebibyte;
  spec.max_limits->processes = 64;
  spec.max_limits->file_bytes = 128 * mebibyte;
  spec.max_limits->workspace_bytes = 128 * mebibyte;
  spec.max_limits->tmp_bytes = 128 * mebibyte;
  return spec;
}

// Fills `variable` mebibytes of memory, says so, and waits for a line before it goes on.
std::string filling(const std::string& before, const std::string& after) {
  return "import sys\n"
         "def fill(mb): return [b'x' * (1 << 20) for _ in range(mb)]\n"
         "a = fill(" +
         before + ")\nprint('filled', flush=True)\nsys.stdin.readline()\nb = fill(" + after +
         ")\nprint('more', flush=True)\n";
}

// Starts children until the kernel refuses, and prints how many there were.
constexpr const char* count_children =
    "import os, time\n"
    "n = 0\n"
    "pids = []\n"
    "try:\n"
    "    while n < 200:\n"
    "        pid = os.fork()\n"
    "        if pid == 0: time.sleep(60); os._exit(0)\n"
    "        pids.append(pid); n += 1\n"
    "except BlockingIOError: pass\n"
    "for pid in pids: os.kill(pid, 9)\n"
    "for pid in pids: os.waitpid(pid, 0)\n"
    "print(n, flush=True)\n";

class ChangingLimits : public LivingJail {
 protected:
  void begin(const jail::JailSpec& spec = changeable_spec()) { LivingJail::begin(spec); }

  void change(const LimitChange& wanted) {
    const auto changed = jail_->change_limits(wanted);
    ASSERT_TRUE(changed) << changed.error().message();
    ASSERT_TRUE(soon([this] { return jail_->advance() && jail_->limits_hold(); }));
  }

  std::string refusal(const LimitChange& wanted, ErrorKind kind) {
    const auto changed = jail_->change_limits(wanted);
    if (changed) return "it was changed";
    EXPECT_EQ(changed.error().kind, kind) << changed.error().message();
    return changed.error().message();
  }

  static void expect_success(jail::Process& process) {
    const auto ended = process.wait(jail::ProcessPhase::ended, scaled(std::chrono::seconds(20)));
    ASSERT_TRUE(ended) << ended.error().message();
    EXPECT_EQ(process.report().exit_code, 0);
  }

  // Begins a jail that may use much memory, and fills some of it, which it holds until init has
  // looked.
  jail::Process fill_a_large_jail(const std::string& before, const std::string& after) {
    auto spec = changeable_spec();
    spec.limits.memory_bytes = 400 * mebibyte;
    begin(spec);
    return attacker(python_process(filling(before, after) + "import time\ntime.sleep(30)\n"));
  }

  void expect_out_of_memory() {
    const auto ended = jail_->wait(jail::Phase::ended, scaled(std::chrono::seconds(10)));
    ASSERT_TRUE(ended) << ended.error().message();
    EXPECT_EQ(jail_->report().ended, Ended::out_of_memory);
  }

  // Has a process that waits for a line go on.
  static void go_on(jail::Process& process) {
    const jail::Fd input = process.take_stdin();
    EXPECT_EQ(::write(input.get(), "\n", 1), 1);
  }
};

TEST_F(ChangingLimits, MoreMemoryIsThereForAProgramThatRuns) {
  begin();
  jail::Process process = attacker(python_process(filling("80", "150")));
  change({.memory_bytes = 400 * mebibyte});
  go_on(process);
  expect_success(process);
  EXPECT_EQ(jail_->phase(), jail::Phase::running);
}

TEST_F(ChangingLimits, ALowerMemoryLimitHoldsForAProgramThatRuns) {
  jail::Process process = fill_a_large_jail("40", "150");
  change({.memory_bytes = 100 * mebibyte});
  go_on(process);
  expect_out_of_memory();
}

TEST_F(ChangingLimits, AJailThatUsesMoreThanALowerLimitEndsAtOnce) {
  const jail::Process process = fill_a_large_jail("200", "1");
  const auto changed = jail_->change_limits({.memory_bytes = 64 * mebibyte});
  ASSERT_TRUE(changed) << changed.error().message();
  expect_out_of_memory();
}

TEST_F(ChangingLimits, MoreProcessesAreThereForTheNextProgram) {
  begin();
  EXPECT_EQ(run(python_process(count_children)).out, "15\n");
  change({.processes = 40});
  EXPECT_EQ(run(python_process(count_children)).out, "39\n");
}

TEST_F(ChangingLimits, FewerProcessesHoldForAProgramThatRuns) {
  begin();
  change({.processes = 60});
  const std::string waits = "print('ready', flush=True)\ninput()\n";
  jail::Process process = attacker(python_process(waits + count_children));
  change({.processes = 8});
  go_on(process);
  std::string said;
  char text[64];
  for (ssize_t got = 0; said.find("7\n") == said.npos;) {
    if (!soon([&] { return (got = ::read(said_.get(), text, sizeof text)) >= 0; })) break;
    if (got == 0) break;
    said.append(text, static_cast<std::size_t>(got));
  }
  EXPECT_THAT(said, HasSubstr("7\n"));
}

TEST_F(ChangingLimits, ALowerSoftLimitOfAProgramsOwnStays) {
  begin();
  jail::Process process = attacker(
      python_process("import resource\n"
                     "resource.setrlimit(resource.RLIMIT_NPROC, (5, 17))\n"
                     "print('ready', flush=True)\n"
                     "input()\n"
                     "raise SystemExit(resource.getrlimit(resource.RLIMIT_NPROC) != (5, 9))\n"));
  change({.processes = 8});
  go_on(process);
  expect_success(process);
}

// A program that raises a limit of its own, or that forks without end to stay ahead of init.
TEST_F(ChangingLimits, NoProgramKeepsTheEarlierLimit) {
  begin();
  change({.processes = 60});
  jail::Process chain =
      attacker(python_process("import os, resource, time\n"
                              "print('ready', flush=True)\n"
                              "end = time.monotonic() + 60\n"
                              "while time.monotonic() < end:\n"
                              "    if os.fork() != 0: os._exit(0)\n"));
  change({.processes = 8});
  const auto highest = [this] {
    return run(python_process(
                   "import glob, re\n"
                   "found = []\n"
                   "for name in glob.glob('/proc/[0-9]*/limits'):\n"
                   "    try: text = open(name).read()\n"
                   "    except OSError: continue\n"
                   "    found.append(int(re.search(r'Max processes +(\\d+)', text).group(1)))\n"
                   "print(max(found))\n"))
        .out;
  };
  EXPECT_EQ(highest(), "9\n");
  EXPECT_EQ(run(python_process("import resource\n"
                               "try: resource.setrlimit(resource.RLIMIT_NPROC, (60, 60))\n"
                               "except ValueError as e: print(e)\n"))
                .out,
            "not allowed to raise maximum limit\n");
}

// A fork copies the limits first and then the page tables, for long where there are many.
TEST_F(ChangingLimits, NoSlowForkKeepsTheEarlierLimit) {
  auto spec = changeable_spec();
  spec.limits.memory_bytes = spec.max_limits->memory_bytes;
  begin(spec);
  change({.processes = 60});
  jail::Process slow =
      attacker(python_process("import ctypes, mmap, os, resource, time\n"
                              "libc = ctypes.CDLL(None)\n"
                              "libc.mmap.restype = ctypes.c_void_p\n"
                              "libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] +"
                              " [ctypes.c_int] * 3 + [ctypes.c_long]\n"
                              "size = 4 << 30\n"
                              "at = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_PRIVATE |"
                              " mmap.MAP_ANONYMOUS | 0x4000, -1, 0)\n"  // MAP_NORESERVE
                              "whole = ctypes.c_void_p(at), ctypes.c_size_t(size)\n"
                              "page = ctypes.c_void_p(at), ctypes.c_size_t(4096)\n"
                              "libc.madvise(*whole, 15)\n"  // MADV_NOHUGEPAGE
                              "libc.mprotect(*page, mmap.PROT_READ | mmap.PROT_WRITE)\n"
                              "ctypes.memset(at, 1, 1)\n"
                              "libc.mprotect(*page, mmap.PROT_READ)\n"
                              "libc.madvise(*whole, 22)\n"  // MADV_POPULATE_READ
                              "print('ready', flush=True)\n"
                              "end = time.monotonic() + 60\n"
                              "while time.monotonic() < end:\n"
                              "    pid = os.fork()\n"
                              "    if pid == 0:\n"
                              "        if os.path.exists('/workspace/held'):\n"
                              "            limit = resource.getrlimit(resource.RLIMIT_NPROC)[1]\n"
                              "            name = 'kept' if limit > 9 else 'lower'\n"
                              "            open('/workspace/' + name, 'w')\n"
                              "        os._exit(0)\n"
                              "    os.waitpid(pid, 0)\n"));
  change({.processes = 8});
  EXPECT_EQ(run(shell_process("touch /workspace/held; cd /workspace;"
                              " until [ -e lower ]; do sleep 0.05; done; ls"))
                .out,
            "held\nlower\n");
}

// The owner looks first whether there is room, and a program fills the file system after that.
TEST_F(ChangingLimits, ASizeCanBeChangedAfterTheKernelHasRefusedOne) {
  begin();
  jail::Process racing =
      attacker(python_process("import os\n"
                              "fd = os.open('/workspace/file', os.O_RDWR | os.O_CREAT)\n"
                              "block = b'x' * (1 << 20)\n"
                              "print('ready', flush=True)\n"
                              "while True:\n"
                              "    try:\n"
                              "        for i in range(4): os.pwrite(fd, block, i << 20)\n"
                              "    except OSError: pass\n"
                              "    os.ftruncate(fd, 0)\n"));
  bool was_refused = false;
  const bool is_met = soon([&] {
    EXPECT_TRUE(jail_->advance());
    const auto changed = jail_->change_limits({.workspace_bytes = 3 * mebibyte});
    if (!changed) {
      was_refused = changed.error().message().find("meanwhile") != std::string::npos;
      return was_refused;
    }
    const auto back = jail_->change_limits({.workspace_bytes = 32 * mebibyte});
    EXPECT_TRUE(back) << back.error().message();
    return !back;
  });
  if (!is_met) GTEST_SKIP() << "the program never filled the room at that moment";
  EXPECT_TRUE(jail_->change_limits({.workspace_bytes = 64 * mebibyte}));
  EXPECT_EQ(run(shell_process("df -B1M --output=size /workspace | tail -1 | xargs")).out, "64\n");
}

TEST_F(ChangingLimits, FileSystemsGrowUnderAProgramThatRuns) {
  begin();
  jail::Process process = attacker(shell_process(
      "echo ready; read line; for i in 1 2 3; do head -c 30M /dev/zero > /workspace/$i || exit 1;"
      " done; for i in 1 2 3; do head -c 10M /dev/zero > /tmp/$i || exit 2; done"));
  change({.memory_bytes = 400 * mebibyte,
          .file_bytes = 100 * mebibyte,
          .workspace_bytes = 100 * mebibyte,
          .tmp_bytes = 100 * mebibyte});
  go_on(process);
  expect_success(process);
  EXPECT_EQ(run(shell_process("rm /workspace/*; head -c 90M /dev/zero > /workspace/large;"
                              " stat -c %s /workspace/large"))
                .out,
            std::to_string(90 * mebibyte) + "\n")
      << "a single file of a later program may be as large";
}

TEST_F(ChangingLimits, AFileSystemIsNotMadeSmallerThanWhatIsInIt) {
  begin();
  EXPECT_EQ(run(shell_process("head -c 20M /dev/zero > /tmp/file")).report.exit_code, 0);
  const LimitChange less = {
      .processes = 8, .workspace_bytes = 10 * mebibyte, .tmp_bytes = 10 * mebibyte};
  EXPECT_THAT(refusal(less, ErrorKind::refused), StartsWith("limits.tmp_bytes: 20971520 bytes"));
  const std::string sizes = "df -B1M --output=size /workspace /tmp | tail -2 | xargs";
  EXPECT_EQ(run(shell_process(sizes)).out, "32 32\n") << "neither of them was changed";
  EXPECT_EQ(run(python_process(count_children)).out, "15\n");
  EXPECT_EQ(run(shell_process("rm /tmp/file")).report.exit_code, 0);
  change(less);
  EXPECT_EQ(run(shell_process(sizes)).out, "10 10\n");
  EXPECT_EQ(run(shell_process("head -c 20M /dev/zero > /tmp/file")).report.exit_code, 1);
}

TEST_F(ChangingLimits, APausedJailStaysPaused) {
  begin();
  jail::Process process = attacker(python_process(filling("80", "150")));
  ASSERT_TRUE(jail_->pause());
  const auto is_paused = [this] {
    return jail_->advance() && jail_->activity() == jail::Activity::paused;
  };
  ASSERT_TRUE(soon(is_paused));
  change({.memory_bytes = 400 * mebibyte});
  EXPECT_TRUE(is_paused());
  ASSERT_TRUE(jail_->resume());
  go_on(process);
  expect_success(process);
}

TEST_F(ChangingLimits, WhatCannotBeIsRefused) {
  begin();
  EXPECT_THAT(refusal({.memory_bytes = 513 * mebibyte}, ErrorKind::invalid),
              HasSubstr("limits.memory_bytes: 537919488, above max_limits, 536870912"));
  EXPECT_THAT(refusal({.processes = 65}, ErrorKind::invalid), HasSubstr("limits.processes: 65"));
  EXPECT_THAT(refusal({.processes = 0}, ErrorKind::invalid), HasSubstr("limits.processes: 0"));
  EXPECT_THAT(refusal({.tmp_bytes = 129 * mebibyte}, ErrorKind::invalid), HasSubstr("tmp_bytes"));
  EXPECT_THAT(refusal({.cpu_percent = 50}, ErrorKind::unsupported),
              HasSubstr("limits.cpu_percent: the jail has no cgroup"));
  EXPECT_TRUE(jail_->limits_hold());
  jail_->cancel();
  ASSERT_TRUE(jail_->wait(jail::Phase::ended, scaled(std::chrono::seconds(10))));
  refusal({.processes = 8}, ErrorKind::closed);
}

TEST_F(ChangingLimits, WithoutABoundLimitsCanOnlyBeLowered) {
  LivingJail::begin(unhurried_spec());
  EXPECT_THAT(refusal({.processes = 200}, ErrorKind::invalid), HasSubstr("above max_limits"));
  EXPECT_THAT(refusal({.workspace_bytes = mebibyte}, ErrorKind::unsupported),
              HasSubstr("made without max_limits"));
  change({.processes = 10});
  EXPECT_EQ(run(python_process(count_children)).out, "9\n");
}

TEST_F(ChangingLimits, OnlyALivingJailHasThem) {
  jail::JailSpec spec = spec_for({"/usr/bin/true"});
  spec.max_limits = spec.limits;
  const auto made = launcher().launch(spec);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message(), HasSubstr("max_limits: only the limits of a living jail"));
}

}  // namespace
}  // namespace kernel_ring
