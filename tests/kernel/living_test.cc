// Living jails: several processes in one jail, their streams, terminals, limits and reports.
#include <errno.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "living_jail.h"
#include "processes.h"
#include "tests/time_scale.h"

namespace kernel_ring {
namespace {

using jail::Ended;
using jail::ErrorKind;
using jail::Phase;
using jail::Process;
using jail::ProcessPhase;
using jail::ProcessSpec;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

class Living : public LivingJail {
 protected:
  void begin(const jail::JailSpec& spec = living_spec()) { LivingJail::begin(spec); }

  static void reach(Process& process, ProcessPhase phase) {
    const auto now = process.wait(phase, scaled(seconds(10)));
    ASSERT_TRUE(now) << now.error().message();
  }

  std::size_t processes_inside() { return children_of(process_of(jail_->process_fd())).size(); }
};

std::string text_of(jail::Result<jail::Fd> file) {
  if (!file) return file.error().message();
  std::string text(4096, '\0');
  const ssize_t got = ::read(file->get(), text.data(), text.size());
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

TEST_F(Living, ProcessesFollowEachOtherAndShareWhatTheyLeave) {
  begin();
  const Outcome first = run(shell_process("echo one > kept; echo out; echo err >&2; exit 3"));
  EXPECT_EQ(first.report.ended, Ended::exited);
  EXPECT_EQ(first.report.exit_code, 3);
  EXPECT_EQ(first.out, "out\n");
  EXPECT_EQ(first.err, "err\n");
  EXPECT_EQ(run(shell_process("cat kept -; pwd"), "two\n").out, "one\ntwo\n/workspace\n");
}

TEST_F(Living, EachHasItsOwnArgumentsEnvironmentAndDirectory) {
  begin();
  ProcessSpec spec =
      python_process("import os, sys; print(sys.argv[1:], sorted(os.environ), os.getcwd())");
  spec.argv.insert(spec.argv.end(), {"a b", ""});
  spec.env = {"ONE=1", "TWO="};
  spec.working_directory = "/tmp";
  const std::string out = run(spec).out;
  EXPECT_THAT(out, HasSubstr("['a b', '']"));
  EXPECT_THAT(out, HasSubstr("'ONE', 'TWO'"));
  EXPECT_THAT(out, HasSubstr("/tmp"));
}

TEST_F(Living, SeveralRunAtOnce) {
  begin();
  std::vector<Process> running;
  for (int i = 0; i < 8; ++i) running.push_back(spawn(shell_process("read line; echo $line$line")));
  for (Process& process : running) reach(process, ProcessPhase::running);
  for (std::size_t i = running.size(); i-- > 0;) {
    const std::string number = std::to_string(i);
    const auto output = running[i].communicate(number + "\n");
    ASSERT_TRUE(output) << output.error().message();
    EXPECT_EQ(output->out, number + number + "\n");
  }
}

TEST_F(Living, NoMoreThanSixtyFourAtATime) {
  begin();
  std::vector<Process> running;
  for (int i = 0; i < 64; ++i) running.push_back(spawn({.argv = {"/usr/bin/sleep", "30"}}));
  Process extra = spawn({.argv = {"/usr/bin/true"}});
  const auto refused = extra.wait(ProcessPhase::running, scaled(seconds(20)));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::exhausted);
  running.clear();
  EXPECT_TRUE(soon([&] { return processes_inside() == 0; }));
  EXPECT_EQ(run(shell_process("echo room again")).out, "room again\n");
}

TEST_F(Living, AProgramThatIsNotThereIsNamed) {
  begin();
  Process process = spawn({.argv = {"/usr/bin/nothing-of-that-name"}});
  const auto failed = process.communicate();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message(),
            "start /usr/bin/nothing-of-that-name: No such file or directory");
  ProcessSpec elsewhere = shell_process("true");
  elsewhere.working_directory = "/nowhere";
  Process nowhere = spawn(elsewhere);
  const auto lost = nowhere.communicate();
  ASSERT_FALSE(lost);
  EXPECT_THAT(lost.error().message(), HasSubstr("change to the working directory"));
  EXPECT_EQ(run(shell_process("echo well")).out, "well\n");
}

TEST_F(Living, BadSpecsAreRefusedByField) {
  begin();
  const auto message = [this](const ProcessSpec& spec) {
    const auto refused = jail_->spawn(spec);
    return refused ? std::string("spawned") : refused.error().message();
  };
  EXPECT_THAT(message({}), HasSubstr("argv: empty"));
  EXPECT_THAT(message({.argv = {"true"}}), HasSubstr("argv: \"true\""));
  EXPECT_THAT(message({.argv = {"/bin/true"}, .env = {"no"}}), HasSubstr("env: \"no\""));
  EXPECT_THAT(message({.argv = {"/bin/true"}, .working_directory = "up/.."}),
              HasSubstr("working_directory"));
  EXPECT_THAT(message({.argv = {"/bin/true"}, .terminal = jail::TerminalSize{0, 1}}),
              HasSubstr("terminal"));
  EXPECT_THAT(message({.argv = {"/bin/true"}, .wall = milliseconds(0)}), HasSubstr("wall"));
}

TEST_F(Living, OnlyALivingJailTakesProcesses) {
  auto one = kernel_ring::ready_jail(spec_for({"/usr/bin/sleep", "30"}));
  ASSERT_TRUE(one);
  ASSERT_TRUE(one->start());
  const auto refused = one->spawn(shell_process("true"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::invalid);
  EXPECT_FALSE(one->open_file("/workspace", O_RDONLY));
  jail::JailSpec spec = living_spec();
  spec.argv = {"/usr/bin/true"};
  const auto both = launcher().launch(spec);
  ASSERT_FALSE(both);
  EXPECT_THAT(both.error().message(), HasSubstr("argv"));
}

TEST_F(Living, DeadlinesAreEachProcesssOwn) {
  begin();
  ProcessSpec spec = shell_process("sleep 30 & sleep 30");
  spec.wall = scaled(milliseconds(200));
  Process brief = spawn(spec);
  Process other = spawn(shell_process("read line; echo $line"));
  reach(brief, ProcessPhase::ended);
  EXPECT_EQ(brief.report().ended, Ended::timed_out);
  // Its process group ended with it.
  EXPECT_TRUE(soon([&] { return processes_inside() == 1; }));
  const auto output = other.communicate("still here\n");
  ASSERT_TRUE(output);
  EXPECT_EQ(output->out, "still here\n");
}

TEST_F(Living, ProcessorTimeIsEachProcesssOwn) {
  begin(unhurried_spec());
  ProcessSpec spec = python_process("while True: pass");
  spec.cpu = seconds(1);
  Process process = spawn(spec);
  const auto ended = process.wait(ProcessPhase::ended, scaled(seconds(60)));
  ASSERT_TRUE(ended) << ended.error().message();
  EXPECT_EQ(process.report().ended, Ended::timed_out);
  const auto used = process.report().usage.cpu_user + process.report().usage.cpu_system;
  EXPECT_GE(used, seconds(1));
  EXPECT_LT(used, milliseconds(2900)) << "its RLIMIT_CPU is 3 s";
  EXPECT_EQ(run(shell_process("echo on")).out, "on\n");
}

TEST_F(Living, SignalsReachTheProcessOrItsGroup) {
  begin();
  Process trapped = spawn(
      shell_process("trap 'echo caught; exit 9' USR1; echo ready; while :; do sleep .01; done"));
  reach(trapped, ProcessPhase::running);
  const jail::Fd out = trapped.take_stdout();
  pollfd readable{out.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&readable, 1, scaled_ms(5000)), 1);
  ASSERT_TRUE(trapped.signal(SIGUSR1));
  reach(trapped, ProcessPhase::ended);
  EXPECT_EQ(trapped.report().exit_code, 9);
  EXPECT_TRUE(trapped.signal(SIGTERM)) << "it has ended, which is no error";
  Process group = spawn(shell_process("sleep 30 & sleep 30"));
  reach(group, ProcessPhase::running);
  EXPECT_TRUE(soon([&] { return processes_inside() == 3 || processes_inside() == 1; }));
  ASSERT_TRUE(group.signal_group(SIGKILL));
  reach(group, ProcessPhase::ended);
  EXPECT_EQ(group.report().ended, Ended::signaled);
  EXPECT_EQ(group.report().signal, SIGKILL);
  EXPECT_FALSE(group.signal(-1));
  EXPECT_FALSE(group.signal(1000));
}

TEST_F(Living, AProcessEndsWithItsHandle) {
  begin();
  {
    Process process = spawn(shell_process("sleep 30 & sleep 30"));
    reach(process, ProcessPhase::running);
  }
  EXPECT_TRUE(soon([&] { return processes_inside() == 0; }));
}

TEST_F(Living, WhatAProcessLeftBehindGoesOnAndEndsWithTheJail) {
  begin();
  const Outcome outcome =
      run(shell_process("(setsid sleep 30 > /dev/null 2>&1 < /dev/null &) ; sleep .1; echo left"));
  EXPECT_EQ(outcome.out, "left\n");
  EXPECT_EQ(processes_inside(), 1u);
  const pid_t init = process_of(jail_->process_fd());
  jail_->cancel();
  const auto ended = jail_->wait(Phase::ended, scaled(seconds(10)));
  ASSERT_TRUE(ended) << ended.error().message();
  EXPECT_EQ(jail_->report().ended, Ended::cancelled);
  EXPECT_TRUE(soon([&] { return is_gone(init); }));
}

TEST_F(Living, TheReportComesThoughOthersHoldTheOutput) {
  begin();
  const Outcome outcome = run(shell_process("setsid sleep 30 & echo first"));
  EXPECT_EQ(outcome.out, "first\n");
  EXPECT_EQ(outcome.report.exit_code, 0);
}

TEST_F(Living, TheJailsEndIsTheEndOfEach) {
  jail::JailSpec spec = living_spec();
  spec.limits.wall = scaled(seconds(2));
  begin(spec);
  Process process = spawn(shell_process("sleep 30"));
  reach(process, ProcessPhase::ended);
  EXPECT_EQ(process.report().ended, Ended::timed_out);
  ASSERT_TRUE(jail_->wait(Phase::ended, scaled(seconds(10))));
  EXPECT_EQ(jail_->report().ended, Ended::timed_out);
  const auto late = jail_->spawn(shell_process("true"));
  EXPECT_FALSE(late);
}

TEST_F(Living, MemoryIsTheJails) {
  jail::JailSpec spec = living_spec();
  spec.limits.memory_bytes = 128u << 20;
  begin(spec);
  const std::string fill = "x = bytearray(80 << 20); print('filled', flush=True); input()";
  Process first = spawn(python_process(fill));
  Process second = spawn(python_process(fill));
  reach(second, ProcessPhase::ended);
  EXPECT_EQ(second.report().ended, Ended::out_of_memory);
  ASSERT_TRUE(jail_->wait(Phase::ended, scaled(seconds(10))));
  EXPECT_EQ(jail_->report().ended, Ended::out_of_memory);
  EXPECT_GT(jail_->report().usage.memory_peak_bytes, 100u << 20);
}

TEST_F(Living, AQuickProcessHasItsPartInTheJailsPeak) {
  begin();
  const std::uint64_t peak = run({.argv = {"/usr/bin/true"}}).report.usage.memory_peak_bytes;
  EXPECT_GT(peak, 0u);
  jail_->cancel();
  ASSERT_TRUE(jail_->wait(Phase::ended, scaled(seconds(10))));
  EXPECT_GE(jail_->report().usage.memory_peak_bytes, peak);
}

TEST_F(Living, ProcessorTimeOfAllIsCounted) {
  begin();
  const std::string burn = "import time\nwhile time.process_time() < 0.3: pass";
  run(python_process(burn));
  run(python_process(burn));
  jail_->cancel();
  ASSERT_TRUE(jail_->wait(Phase::ended, scaled(seconds(10))));
  const auto usage = jail_->report().usage;
  EXPECT_GE(usage.cpu_user + usage.cpu_system, milliseconds(600));
}

// The output of a process on its terminal, read in order.
class Screen {
 public:
  explicit Screen(Process& process) : process_(process) {}

  // Returns the output since the last call, up to and including `expected`; all of it where that
  // does not come in time.
  std::string until(const std::string& expected) {
    const auto deadline = std::chrono::steady_clock::now() + scaled(seconds(10));
    std::size_t found = shown_.find(expected);
    while (found == shown_.npos && std::chrono::steady_clock::now() < deadline) {
      pollfd readable{process_.terminal_fd(), POLLIN, 0};
      if (::poll(&readable, 1, 100) <= 0) continue;
      std::array<char, 4096> room;
      const ssize_t got = ::read(process_.terminal_fd(), room.data(), room.size());
      if (got <= 0) break;
      shown_.append(room.data(), static_cast<std::size_t>(got));
      found = shown_.find(expected);
    }
    const std::size_t size = found == shown_.npos ? shown_.size() : found + expected.size();
    std::string text = shown_.substr(0, size);
    shown_.erase(0, size);
    return text;
  }

 private:
  Process& process_;
  std::string shown_;
};

void type(Process& process, const std::string& text) {
  EXPECT_EQ(::write(process.terminal_fd(), text.data(), text.size()),
            static_cast<ssize_t>(text.size()));
}

TEST_F(Living, ATerminalIsTheProcesssOwn) {
  begin();
  ProcessSpec spec = shell_process(
      "trap 'stty size; echo resized' WINCH; tty; stty size; while :; do sleep .05; done");
  spec.terminal = jail::TerminalSize{100, 30};
  Process process = spawn(spec);
  reach(process, ProcessPhase::running);
  Screen screen(process);
  EXPECT_THAT(screen.until("30 100"), HasSubstr("/dev/pts/0"));
  ASSERT_TRUE(process.resize({90, 20}));
  EXPECT_THAT(screen.until("resized"), HasSubstr("20 90"));
  EXPECT_FALSE(process.take_stdout().valid());
  type(process, "\x03");
  reach(process, ProcessPhase::ended);
  EXPECT_EQ(process.report().ended, Ended::signaled);
  EXPECT_EQ(process.report().signal, SIGINT);
}

TEST_F(Living, AShellControlsItsJobs) {
  begin(with_terminals(living_spec()));
  Process process = spawn(interactive_shell());
  reach(process, ProcessPhase::running);
  Screen screen(process);
  EXPECT_THAT(screen.until("$ "), testing::Not(HasSubstr("job control")));
  type(process, "(echo be\"\"gun; exec sleep 30)\n");
  screen.until("begun");
  type(process, "\x1a");
  EXPECT_THAT(screen.until("Stopped"), HasSubstr("Stopped"));
  screen.until("$ ");
  type(process, "exit 5\n");
  EXPECT_THAT(screen.until("$ "), HasSubstr("stopped jobs"));
  type(process, "exit 5\n");
  reach(process, ProcessPhase::ended);
  EXPECT_EQ(process.report().exit_code, 5);
}

TEST_F(Living, ATerminalCanBeHadAgain) {
  begin(unhurried_spec());
  for (int i = 0; i < 70; ++i) {
    ProcessSpec spec = shell_process("tty");
    spec.terminal = jail::TerminalSize{};
    Process process = spawn(spec);
    reach(process, ProcessPhase::running);
    ASSERT_THAT(Screen(process).until("\n"), HasSubstr("/dev/pts/")) << i;
    reach(process, ProcessPhase::ended);
  }
}

TEST_F(Living, FilesAreReadAndWrittenBeneathItsRoot) {
  begin();
  {
    const auto file = jail_->open_file("/workspace/in", O_WRONLY | O_CREAT | O_EXCL);
    ASSERT_TRUE(file) << file.error().message();
    ASSERT_EQ(::write(file->get(), "given", 5), 5);
  }
  EXPECT_EQ(
      run(shell_process("cat in; mkdir -p a/b; echo made > a/b/out; ln -s /workspace/a/b link; "
                        "ln -s ../../../../../../etc/hostname up; ln -s /proc/self/root/etc magic"))
          .out,
      "given");
  EXPECT_EQ(text_of(jail_->open_file("/workspace/link/out", O_RDONLY)), "made\n");
  EXPECT_EQ(text_of(jail_->open_file("/../../workspace/in", O_RDONLY)), "given");
  const auto kind = [this](const char* path, int flags = O_RDONLY) {
    const auto file = jail_->open_file(path, flags);
    return file ? std::string("opened") : file.error().message();
  };
  EXPECT_THAT(kind("/workspace/up"), HasSubstr("No such file")) << "the jail has no such file";
  EXPECT_THAT(kind("/dev/null"), HasSubstr("neither a file nor a directory"));
  EXPECT_THAT(kind("/proc/self/status"), testing::Not(HasSubstr("opened")));
  EXPECT_THAT(kind("/workspace/magic"), testing::Not(HasSubstr("opened")));
  EXPECT_THAT(kind("/usr/new", O_WRONLY | O_CREAT), HasSubstr("Read-only file system"));
  EXPECT_THAT(kind("workspace/in"), HasSubstr("absolute"));
  EXPECT_THAT(kind("/workspace/in", O_WRONLY | O_CREAT | O_EXCL), HasSubstr("File exists"));
  EXPECT_THAT(kind("/workspace/up", O_WRONLY | O_CREAT), HasSubstr("File exists"));
  EXPECT_THAT(kind("/workspace/link", O_RDONLY | O_NOFOLLOW), HasSubstr("symbolic links"));
  EXPECT_THAT(kind("/workspace", O_RDONLY | O_CREAT), HasSubstr("Is a directory"));
  EXPECT_EQ(kind("/workspace/in", O_RDWR | O_CREAT | O_TRUNC), "opened");
  EXPECT_EQ(kind("/workspace", O_RDONLY | O_DIRECTORY), "opened");
}

TEST_F(Living, ProcFilesOfAGuestAreNotOpened) {
  begin();
  Process process = spawn(shell_process("sleep 30"));
  reach(process, ProcessPhase::running);
  const std::string path = "/proc/" + std::to_string(process.pid()) + "/status";
  const auto file = jail_->open_file(path, O_RDONLY);
  ASSERT_FALSE(file);
  // Where its guests are another user to the owner, it does not even see them there.
  const bool is_hidden = ids_of_jails() != nullptr && file.error().sys_errno == ENOENT;
  EXPECT_TRUE(is_hidden || file.error().kind == ErrorKind::refused) << file.error().message();
}

// All descriptors of the owner are closed again.
TEST_F(Living, NothingIsLeftOpen) {
  begin();
  run(shell_process("true"));
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 20; ++i) run(shell_process("true"));
  EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
}  // namespace kernel_ring
