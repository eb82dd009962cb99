// Hostile guests and clients of living sandboxes, on as many threads as a server has.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_future.hpp>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/living/living_sandbox.h"
#include "runtime/living/sandbox_files.h"
#include "runtime/sandbox/runner.h"
#include "tests/time_scale.h"

namespace {

using namespace runtime;
namespace asio = boost::asio;
using std::chrono::milliseconds;
using std::chrono::seconds;

using Found = std::shared_ptr<LivingSandbox>;
using Process = std::shared_ptr<LivingProcess>;
using Written = LivingProcess::Written;

constexpr int threads = 4;

ProcessCommand command_of(std::string script) {
  return {.argv = {"bash", "-c", std::move(script)},
          .env = {"PATH=/usr/bin:/bin", "LANG=C.UTF-8"},
          .working_directory = "/workspace"};
}

class LivingSandboxAttack : public testing::Test {
 protected:
  LivingSandboxAttack() {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { context_.run(); });
    auto created = Runner::create(asio::make_strand(context_), {});
    EXPECT_TRUE(created) << created.error().message();
    runner_ = std::move(*created);
  }

  ~LivingSandboxAttack() override {
    work_.reset();
    context_.stop();
    for (std::thread& thread : threads_) thread.join();
  }

  // Starts each on a strand of its own, as connections are.
  template <class T>
  std::future<T> begun(asio::awaitable<T> what) {
    return asio::co_spawn(asio::make_strand(context_), std::move(what), asio::use_future);
  }

  template <class T>
  T await(asio::awaitable<T> what) {
    return begun(std::move(what)).get();
  }

  asio::awaitable<void> begin_now(LivingRequest request, Found& found) {
    auto jail = runner_->launch_living(request);
    EXPECT_TRUE(jail) << jail.error().message();
    if (!jail) co_return;
    const LivingSandbox::Times times{.lifetime = scaled(seconds(60))};
    LivingSandbox::News news{.on_end = [](const LivingSandbox::Ending&) {}};
    const LivingSandbox::Pausing pausing;
    auto living = co_await LivingSandbox::start(std::move(*jail), times, pausing, std::move(news));
    EXPECT_TRUE(living) << living.error().message();
    if (living) found = std::move(*living);
  }

  Found begin(LivingRequest request = {}) {
    Found found;
    await(begin_now(std::move(request), found));
    return found;
  }

  static asio::awaitable<void> pause(Found sandbox) { (void)co_await sandbox->pause(); }

  static asio::awaitable<void> spawn_now(Found sandbox, ProcessCommand command, Process& process) {
    auto resolved = sandbox->resolved(std::move(command));
    if (!resolved) co_return;
    ProcessNews nobody;
    auto spawned = co_await sandbox->spawn(std::move(*resolved), Cancel(), std::move(nobody));
    if (spawned) process = std::move(*spawned);
  }

  Process started(const Found& sandbox, ProcessCommand command) {
    Process process;
    await(spawn_now(sandbox, std::move(command), process));
    return process;
  }

  static asio::awaitable<void> read_to_the_end(Process process, bool is_paced) {
    std::optional<LivingProcess::Pace> pace;
    if (is_paced) pace.emplace(process);
    for (std::uint64_t place = 0;;) {
      const auto output = co_await process->next_output(
          place, 16u << 10, std::chrono::steady_clock::now() + milliseconds(20), Cancel());
      place = output.part.next;
      if (pace) pace->set(place);
      if (output.is_over) co_return;
    }
  }

  static SandboxFiles files(const Found& sandbox) {
    return SandboxFiles([sandbox](std::string_view path, int flags, mode_t mode) {
      return sandbox->open_file(path, flags, mode);
    });
  }

  void end(const Found& sandbox) {
    sandbox->end(LivingSandbox::Cause::deleted);
    await(sandbox->wait_for_end(std::chrono::steady_clock::now() + scaled(seconds(10))));
    EXPECT_TRUE(sandbox->ending());
  }

  asio::io_context context_{threads};
  asio::executor_work_guard<asio::io_context::executor_type> work_ =
      asio::make_work_guard(context_);
  std::vector<std::thread> threads_;
  std::unique_ptr<Runner> runner_;
};

// Nobody cancelled the call, so it must not be reported as cancelled.
TEST_F(LivingSandboxAttack, InputOfAProcessThatEndsMeanwhileIsClosed) {
  const Found sandbox = begin();
  for (const bool is_terminal : {false, true}) {
    ProcessCommand command = command_of(is_terminal ? "stty raw -echo; sleep 0.3"
                                                    : "sleep 0.3 <&0; sleep 60 <&0 & exit 0");
    command.keep_input_open = true;
    if (is_terminal) command.terminal = jail::TerminalSize{80, 24};
    const Process process = started(sandbox, std::move(command));
    ASSERT_NE(process, nullptr);
    EXPECT_EQ(await(process->write_input(std::string(1u << 20, 'x'), false, Cancel())),
              Written::closed);
  }
  end(sandbox);
}

// Files that are written from outside count as the sandbox's memory too, whether or not a process
// runs in it.
TEST_F(LivingSandboxAttack, FilesThatAreWrittenFromOutsideAreWithinItsMemory) {
  const Found sandbox = begin({.memory_limit_mb = 32, .disk_limit_mb = 128});
  auto file = files(sandbox).create("/workspace/large", std::nullopt);
  ASSERT_TRUE(file);
  const std::string piece(1u << 20, 'x');
  int written = 0;
  while (written < 100 && file->write(piece)) ++written;
  EXPECT_LT(written, 40);
  end(sandbox);
}

// The jail's mounts go before its owner hears of its end, and beneath is an empty directory: a
// caller that asks afterwards whether it is whole must not see that directory.
TEST_F(LivingSandboxAttack, AtItsEndNoFileIsSaidToBeGone) {
  for (int i = 0; i < 20; ++i) {
    const Found sandbox = begin();
    auto file = files(sandbox).create("/workspace/kept", std::nullopt);
    ASSERT_TRUE(file && file->commit());
    std::thread looker([&] {
      for (;;) {
        const auto list = files(sandbox).list("/workspace", 1);
        if (!sandbox->is_whole()) return;  // then no caller gets the list
        if (list && list->entries.size() == 1) continue;
        ADD_FAILURE() << "a list without the file";
        return;
      }
    });
    end(sandbox);
    looker.join();
  }
}

// This test is for the sanitizers.
TEST_F(LivingSandboxAttack, EverythingAtOnceAndTheEndInTheMiddle) {
  for (int round = 0; round < 12; ++round) {
    const Found sandbox = begin({.memory_limit_mb = 64});
    std::vector<std::future<void>> readers;
    std::vector<Process> processes;
    for (const char* script : {"yes", "cat", "yes >&2 & exit 0", "sleep 60 <&0 & exit 0",
                               "while :; do echo a; echo b >&2; done", "exit 3"}) {
      ProcessCommand command = command_of(script);
      command.keep_input_open = true;
      if (round % 3 == 2) command.terminal = jail::TerminalSize{80, 24};
      const Process process = started(sandbox, std::move(command));
      ASSERT_NE(process, nullptr);
      processes.push_back(process);
      readers.push_back(begun(read_to_the_end(process, round % 2 == 0)));
      readers.push_back(begun(read_to_the_end(process, false)));
    }
    std::vector<std::thread> clients;
    clients.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        auto file = files(sandbox).create("/workspace/a/b", std::nullopt);
        if (file && file->write(std::string(10000, 'x'))) (void)file->commit();
        (void)files(sandbox).list("/workspace", 3);
        (void)files(sandbox).remove("/workspace/a", true);
      }
    });
    clients.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        for (const Process& process : processes) {
          (void)process->signal(i % 2 == 0 ? SIGSTOP : SIGCONT);
          (void)process->resize({81, 25});
          (void)process->state();
          (void)process->output(0, 1000);
        }
        (void)sandbox->running();
        for (const Process& process : sandbox->processes()) sandbox->forget(process->pid());
      }
    });
    clients.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        await(pause(sandbox));
        if (i % 2 == 0) (void)sandbox->resume();
        (void)sandbox->paused_since();
      }
    });
    clients.emplace_back([&] {
      std::vector<std::future<Written>> written;
      for (const Process& process : processes) {
        written.push_back(
            begun(process->write_input(std::string(100000, 'x'), round % 2 == 0, Cancel())));
      }
      for (int i = 0; i < 5; ++i) {
        (void)started(sandbox, command_of("echo hello; exec sleep 0.01"));
        sandbox->set_lifetime(scaled(seconds(60)));
        sandbox->set_idle(scaled(seconds(i + 30)));
        const LivingSandbox::Use use(sandbox);
      }
      for (const Process& process : processes) process->cancel();
      sandbox->end(LivingSandbox::Cause::deleted);
      for (auto& each : written) (void)each.get();
    });
    for (std::thread& client : clients) client.join();
    end(sandbox);
    for (auto& reader : readers) {
      ASSERT_EQ(reader.wait_for(scaled(seconds(20))), std::future_status::ready);
    }
  }
}

}  // namespace
