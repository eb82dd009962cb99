// Tests LivingSandbox, its processes, files and connections with real jails.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sandbox_fixture.h"

namespace kernel_ring {
namespace {

using testing::HasSubstr;

TEST_F(LivingSandboxTest, ProcessesShareItsFiles) {
  begin();
  EXPECT_EQ(run("echo one > a; echo said; echo complained >&2").out, "said\n");
  EXPECT_EQ(run("cat a").out, "one\n");
  write("/workspace/sub/b", "two\n");
  EXPECT_EQ(run("cat sub/b").out, "two\n");
  EXPECT_EQ(run("echo x >&2").err, "x\n");
}

TEST_F(LivingSandboxTest, AProgramIsFoundInPathOrFromTheWorkingDirectory) {
  begin();
  write("/workspace/bin/mine", "#!/usr/bin/bash\necho mine $0");
  ASSERT_EQ(run("chmod 755 bin/mine; echo > bin/plain").err, "");
  ProcessCommand command = shell("");
  command.argv = {"mine"};
  EXPECT_THAT(spawn(command).error().message(), HasSubstr("mine: not found"));
  command.env = {"PATH=/usr/bin:/workspace/bin"};
  EXPECT_EQ(all_of(started(command)).out, "mine /workspace/bin/mine\n");
  command.argv = {"./bin/mine"};
  EXPECT_EQ(all_of(started(command)).out, "mine /workspace/bin/mine\n");
  command.argv = {"plain"};
  EXPECT_THAT(spawn(command).error().message(), HasSubstr("not found")) << "it cannot be executed";
  command.argv = {"./bin/mine"};
  command.working_directory = "/none";
  EXPECT_THAT(spawn(command).error().message(), HasSubstr("working_directory: /none"));
}

TEST_F(LivingSandboxTest, ALongPathIsNotSearchedToItsEnd) {
  begin();
  ProcessCommand command = shell("");
  command.argv = {"none"};
  command.env = {"PATH="};
  for (int i = 0; i < 50'000; ++i) command.env[0] += "a:";
  for (int i = 0; i < 1000; ++i) command.working_directory += "/.";
  const auto began = std::chrono::steady_clock::now();
  const std::string why = spawn(command).error().message();
  EXPECT_LT(std::chrono::steady_clock::now() - began, scaled(milliseconds(200)));
  EXPECT_LT(why.size(), 500u);
}

TEST_F(LivingSandboxTest, NothingIsLostForAReaderWhomTheProcessWaitsFor) {
  begin();
  constexpr std::size_t size = 5u << 20;
  const Told told = run("head -c " + std::to_string(size) +
                        " /dev/zero | tr '\\0' x; "
                        "head -c 300000 /dev/zero | tr '\\0' y >&2");
  EXPECT_EQ(told.lost, 0u);
  EXPECT_EQ(told.out, std::string(size, 'x'));
  EXPECT_EQ(told.err, std::string(300'000, 'y'));
}

TEST_F(LivingSandboxTest, AReaderWhoComesLateIsToldWhatIsLost) {
  begin();
  const Process process = started(shell("head -c 3000000 /dev/zero | tr '\\0' x"));
  ASSERT_NE(process, nullptr);
  while (!process->state().has_ended) std::this_thread::sleep_for(milliseconds(1));
  const Told told = all_of(process, false);
  EXPECT_GT(told.out.size(), 100'000u);
  EXPECT_EQ(told.lost + told.out.size(), 3'000'000u);
}

TEST_F(LivingSandboxTest, InputComesInPiecesAndEnds) {
  begin();
  ProcessCommand command = shell("while read line; do echo \"got $line\"; done; echo over");
  command.input = "one\n";
  command.keep_input_open = true;
  const Process process = started(std::move(command));
  using Written = LivingProcess::Written;
  EXPECT_EQ(await(process->write_input("two\n", false, Cancel())), Written::whole);
  EXPECT_EQ(await(process->write_input("three\n", true, Cancel())), Written::whole);
  EXPECT_EQ(all_of(process).out, "got one\ngot two\ngot three\nover\n");
  EXPECT_EQ(await(process->write_input("four\n", false, Cancel())), Written::closed);
}

TEST_F(LivingSandboxTest, InputThatNobodyReadsWaitsUntilItIsCancelled) {
  begin();
  ProcessCommand command = shell("sleep 60");
  command.keep_input_open = true;
  const Process process = started(std::move(command));
  Cancel cancel;
  auto written = asio::co_spawn(
      context_, process->write_input(std::string(1u << 20, 'x'), false, cancel), asio::use_future);
  EXPECT_EQ(written.wait_for(milliseconds(50)), std::future_status::timeout);
  EXPECT_EQ(await(process->write_input("y", false, Cancel())), LivingProcess::Written::busy);
  cancel.request();
  EXPECT_EQ(written.get(), LivingProcess::Written::cancelled);
  process->kill();
}

TEST_F(LivingSandboxTest, InputThatAChildHoldsIsGivenUpWithItsProcess) {
  begin();
  ProcessCommand command = shell("sleep 60 <&0 >/dev/null 2>&1 & exit 0");
  command.keep_input_open = true;
  const Process process = started(std::move(command));
  const auto written = await(process->write_input(std::string(1u << 20, 'x'), false, Cancel()));
  EXPECT_NE(written, LivingProcess::Written::whole);
  EXPECT_EQ(await(process->write_input("y", false, Cancel())), LivingProcess::Written::closed);
}

TEST_F(LivingSandboxTest, ATerminalHasASizeAndSignals) {
  begin();
  ProcessCommand command = shell(
      "stty size; trap 'stty size; exit 3' WINCH; "
      "echo ready; while :; do sleep 0.05; done");
  command.terminal = {100, 30};
  const Process process = started(std::move(command));
  std::uint64_t place = 0;
  std::string shown;
  while (shown.find("ready") == shown.npos) {
    const auto output = process->output(place, 4096);
    for (const auto& piece : output.part.pieces) shown += piece.bytes;
    place = output.part.next;
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_THAT(shown, HasSubstr("30 100"));
  ASSERT_TRUE(process->resize({120, 40}));
  EXPECT_THAT(all_of(process).out, HasSubstr("40 120"));
  EXPECT_EQ(process->state().report.exit_code, 3);
}

// The end of a process must not end the readers of its children's output.
TEST_F(LivingSandboxTest, AChildInTheBackgroundGoesOnPrinting) {
  begin();
  const Process process = started(
      shell("(while [ ! -e go ]; do sleep 0.01; done; echo still here && echo yes > told) & "
            "echo started"));
  EXPECT_EQ(all_of(process).out, "started\n");
  write("/workspace/go", "");
  EXPECT_EQ(run("while [ ! -s told ]; do sleep 0.01; done; cat told").out, "yes\n");
  EXPECT_EQ(all_of(process, false).out, "started\nstill here\n");
}

TEST_F(LivingSandboxTest, AProcessIsSignalledAndKilled) {
  begin();
  const Process trapping =
      started(shell("trap 'echo told; exit 7' TERM; echo up; while :; do sleep 0.01; done"));
  while (trapping->state().output_to == 0) std::this_thread::sleep_for(milliseconds(1));
  ASSERT_TRUE(trapping->signal(SIGTERM));
  EXPECT_EQ(all_of(trapping).out, "up\ntold\n");
  EXPECT_EQ(trapping->state().report.exit_code, 7);
  const Process sleeping = started(shell("sleep 60 & sleep 60"));
  sleeping->kill();
  all_of(sleeping);
  EXPECT_EQ(sleeping->state().report.signal, SIGKILL);
}

TEST_F(LivingSandboxTest, AProcessHasADeadlineOfItsOwn) {
  begin();
  ProcessCommand command = shell("sleep 60");
  command.timeout = milliseconds(100);
  const Process process = started(std::move(command));
  all_of(process);
  EXPECT_EQ(process->state().report.ended, jail::Ended::timed_out);
  EXPECT_EQ(sandbox_->ending(), std::nullopt);
}

TEST_F(LivingSandboxTest, TheLatestThatEndedAreKept) {
  begin();
  const Process first = started(shell("echo first"));
  all_of(first);
  EXPECT_EQ(sandbox_->find(first->pid()), first);
  for (int i = 0; i < 40; ++i) all_of(started(shell("true")));
  EXPECT_EQ(sandbox_->find(first->pid()), nullptr);
  EXPECT_EQ(sandbox_->processes().size(), 32u);
  EXPECT_EQ(sandbox_->running(), 0u);
}

TEST_F(LivingSandboxTest, ItEndsWhenItsTimeIsOver) {
  begin({}, scaled(seconds(2)));
  const Process process = started(shell("sleep 60"));
  ASSERT_TRUE(ends_within(scaled(seconds(10))));
  EXPECT_EQ(sandbox_->ending()->cause, LivingSandbox::Cause::lifetime);
  all_of(process);
  EXPECT_TRUE(process->state().has_ended);
  EXPECT_EQ(spawn(shell("true")).error().kind, jail::ErrorKind::closed);
  EXPECT_EQ(sandbox_->open_file("/workspace", O_PATH, 0).error().kind, jail::ErrorKind::closed);
  EXPECT_EQ(ends_, 1);
}

TEST_F(LivingSandboxTest, ItsTimeCanBeRenewed) {
  const milliseconds first = scaled(seconds(2));
  begin({}, first);
  sandbox_->set_lifetime(scaled(seconds(60)));
  EXPECT_FALSE(ends_within(first + milliseconds(400)));
}

// Starts a server in the background. Its parent, the process that was spawned, has ended then, so
// only a connection can keep the sandbox from being idle.
constexpr const char* left_server =
    "python3 -c \"import socket, os, time\n"
    "s = socket.create_server(('127.0.0.1', 8000), backlog=128)\n"
    "if os.fork() == 0:\n"
    "    kept = []\n"
    "    while True: kept.append(s.accept())\" > /dev/null";

TEST_F(LivingSandboxTest, ItIsNotIdleWhileAConnectionIsOpen) {
  begin({}, std::nullopt, milliseconds(1000));
  all_of(started(shell(left_server)));
  std::optional<jail::Result<PortConnection>> connection = connect(8000);
  ASSERT_TRUE(*connection) << connection->error().message();
  EXPECT_FALSE(ends_within(milliseconds(2000)));
  connection.reset();
  ASSERT_TRUE(ends_within(scaled(seconds(20))));
  EXPECT_EQ(sandbox_->ending()->cause, LivingSandbox::Cause::idle);
}

TEST_F(LivingSandboxTest, ConnectionsAreBounded) {
  begin();
  all_of(started(shell(left_server)));
  std::vector<jail::Result<PortConnection>> open;
  for (std::uint32_t i = 0; i < LivingSandbox::max_port_connections; ++i) {
    open.push_back(connect(8000));
    ASSERT_TRUE(open.back()) << open.back().error().message();
  }
  const auto refused = connect(8000);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, jail::ErrorKind::exhausted);
  open.pop_back();
  EXPECT_TRUE(connect(8000));
}

TEST_F(LivingSandboxTest, WhyThereIsNoConnection) {
  begin();
  const auto none = connect(8001);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, jail::ErrorKind::refused);
  // This server never accepts: after a few connections its backlog is full, and the next one waits.
  all_of(
      started(shell("python3 -c \"import socket, os, time\n"
                    "s = socket.create_server(('127.0.0.1', 8000), backlog=0)\n"
                    "if os.fork() == 0: time.sleep(60)\" > /dev/null")));
  std::vector<jail::Result<PortConnection>> let_in;
  do {
    let_in.push_back(connect(8000, milliseconds(200)));
  } while (let_in.back() && let_in.size() < 10);
  ASSERT_FALSE(let_in.back());
  EXPECT_EQ(let_in.back().error().kind, jail::ErrorKind::timed_out);
  Cancel cancel = Cancel().child();
  cancel.request();
  const auto cancelled = connect(8000, milliseconds(200), cancel);
  ASSERT_FALSE(cancelled);
  sandbox_->end(LivingSandbox::Cause::deleted);
  ASSERT_TRUE(ends_within(scaled(seconds(10))));
  const auto ended = connect(8000);
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().kind, jail::ErrorKind::closed);
}

TEST_F(LivingSandboxTest, ItIsNotIdleWhileAProcessRunsOrSomebodyUsesIt) {
  begin({}, std::nullopt, milliseconds(1000));
  const Process process = started(shell("sleep 1.5"));
  {
    const LivingSandbox::Use use(sandbox_);
    all_of(process);
    EXPECT_FALSE(ends_within(milliseconds(1500)));
  }
  ASSERT_TRUE(ends_within(scaled(seconds(10))));
  EXPECT_EQ(sandbox_->ending()->cause, LivingSandbox::Cause::idle);
}

TEST_F(LivingSandboxTest, TooMuchMemoryEndsAllOfIt) {
  begin({.memory_limit_mb = 64});
  const Process process =
      started(shell("exec python3 -c 'import time; x = bytearray(200 << 20); time.sleep(30)'"));
  all_of(process);
  ASSERT_TRUE(ends_within(scaled(seconds(10))));
  EXPECT_EQ(sandbox_->ending()->cause, LivingSandbox::Cause::jail);
  EXPECT_EQ(sandbox_->ending()->report.ended, jail::Ended::out_of_memory);
}

TEST_F(LivingSandboxTest, AFullDiskIsSaidAndTheOldFileStays) {
  begin({.disk_limit_mb = 1});
  write("/workspace/kept", "old");
  auto file = files().create("/workspace/kept", std::nullopt);
  ASSERT_TRUE(file);
  const auto written = file->write(std::string(2u << 20, 'x'));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind, jail::ErrorKind::exhausted);
  EXPECT_EQ(run("cat kept").out, "old");
}

TEST_F(LivingSandboxTest, WhatIsNoFileIsRefusedWithoutWaiting) {
  begin();
  run("mkfifo fifo; ln -s /proc/1/environ environ; ln -s /dev/null device; ln -s loop loop");
  for (const char* path :
       {"/workspace/fifo", "/workspace/environ", "/workspace/device", "/dev/tty", "/proc/1/mem"}) {
    EXPECT_FALSE(files().open_to_read(path)) << path;
  }
  EXPECT_EQ(files().open_to_read("/workspace/loop").error().sys_errno, ELOOP);
  EXPECT_EQ(files().create("/usr/bin/new", std::nullopt).error().sys_errno, EROFS);
  EXPECT_EQ(files().remove("/usr/bin/bash", false).error().sys_errno, EROFS);
}

// A guest that exchanges a directory for a link can only change which of its own files is found.
TEST_F(LivingSandboxTest, ExchangedNamesLeadNowhereElse) {
  begin();
  const Process swapping = started(shell(
      "mkdir -p a b; echo inside > a/f; ln -s / root; "
      "exec python3 -c '\nimport os\nwhile True:\n  os.rename(\"a\", \"c\"); os.rename(\"root\", "
      "\"a\"); os.rename(\"a\", \"root\"); os.rename(\"c\", \"a\")'"));
  ASSERT_NE(swapping, nullptr);
  const std::string name = "sandbox-test-" + std::to_string(::getpid());
  for (int i = 0; i < 2000; ++i) {
    const std::string path = "/workspace/a/tmp/" + name;
    if (auto file = files().create(path, std::nullopt)) {
      EXPECT_TRUE(file->write("x"));
      (void)file->commit();
    }
    (void)files().remove("/workspace/a/tmp/" + name, true);
    (void)files().list("/workspace/a", 3);
  }
  EXPECT_NE(::access(("/tmp/" + name).c_str(), F_OK), 0) << "a file of the host";
  EXPECT_EQ(sandbox_->ending(), std::nullopt);
  swapping->kill();
}

}  // namespace
}  // namespace kernel_ring
