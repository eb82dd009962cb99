// A living sandbox for a test, and the operations on it.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/living/living_sandbox.h"
#include "runtime/living/port_connection.h"
#include "runtime/living/sandbox_files.h"
#include "runtime/sandbox/runner.h"
#include "tests/time_scale.h"

namespace kernel_ring {

using namespace runtime;
namespace asio = boost::asio;
using std::chrono::milliseconds;
using std::chrono::seconds;

using Found = std::shared_ptr<LivingSandbox>;
using Process = std::shared_ptr<LivingProcess>;

inline ProcessCommand shell(std::string script) {
  return {.argv = {"bash", "-c", std::move(script)},
          .env = {"PATH=/usr/bin:/bin", "LANG=C.UTF-8"},
          .working_directory = "/workspace"};
}

class LivingSandboxTest : public testing::Test {
 protected:
  LivingSandboxTest() : thread_([this] { context_.run(); }) {
    auto created = Runner::create(context_.get_executor(), {});
    EXPECT_TRUE(created) << created.error().message();
    runner_ = std::move(*created);
  }

  ~LivingSandboxTest() override {
    if (sandbox_ != nullptr) {
      sandbox_->end(LivingSandbox::Cause::deleted);
      await(sandbox_->wait_for_end(std::chrono::steady_clock::now() + scaled(seconds(10))));
    }
    work_.reset();
    context_.stop();
    thread_.join();
  }

  template <class T>
  T await(asio::awaitable<T> what) {
    return asio::co_spawn(context_, std::move(what), asio::use_future).get();
  }

  void begin(LivingRequest request = {}, std::optional<milliseconds> lifetime = std::nullopt,
             std::optional<milliseconds> idle = std::nullopt) {
    await(begin_now(std::move(request), lifetime.value_or(scaled(seconds(60))), idle));
    ASSERT_NE(sandbox_, nullptr);
  }

  asio::awaitable<void> begin_now(LivingRequest request, milliseconds lifetime,
                                  std::optional<milliseconds> idle) {
    auto jail = runner_->launch_living(request);
    EXPECT_TRUE(jail) << jail.error().message();
    if (!jail) co_return;
    const LivingSandbox::Times times{
        .lifetime = lifetime, .idle = idle, .max_lifetime = max_lifetime_};
    LivingSandbox::News news{.on_end = [this](const LivingSandbox::Ending&) { ++ends_; },
                             .on_paused = [this](auto why) { pauses_.push_back(why); },
                             .on_resumed = [this] { ++resumptions_; }};
    auto living = co_await LivingSandbox::start(std::move(*jail), times, pausing_, std::move(news));
    EXPECT_TRUE(living) << living.error().message();
    if (living) sandbox_ = std::move(*living);
  }

  asio::awaitable<void> spawn_now(ProcessCommand command, jail::Result<Process>& process) {
    auto resolved = sandbox_->resolved(std::move(command));
    if (!resolved) {
      process = resolved.error();
      co_return;
    }
    ProcessNews nobody;
    process = co_await sandbox_->spawn(std::move(*resolved), Cancel(), std::move(nobody));
  }

  jail::Result<Process> spawn(ProcessCommand command) {
    jail::Result<Process> process{Process()};
    await(spawn_now(std::move(command), process));
    return process;
  }

  asio::awaitable<void> connect_now(std::uint16_t port, milliseconds patience, Cancel cancel,
                                    jail::Result<PortConnection>& connection) {
    connection = co_await connect_to_port(sandbox_, port, LivingSandbox::Attendance::none, patience,
                                          std::move(cancel));
  }

  jail::Result<PortConnection> connect(std::uint16_t port,
                                       milliseconds patience = scaled(seconds(10)),
                                       Cancel cancel = Cancel()) {
    jail::Result<PortConnection> connection{PortConnection()};
    await(connect_now(port, patience, std::move(cancel), connection));
    return connection;
  }

  Process started(ProcessCommand command) {
    auto process = spawn(std::move(command));
    EXPECT_TRUE(process) << process.error().message();
    return process ? *process : nullptr;
  }

  struct Told {
    std::string out;
    std::string err;
    std::uint64_t lost = 0;
  };

  asio::awaitable<void> read_all(Process process, bool is_paced, Told& told) {
    std::optional<LivingProcess::Pace> pace;
    if (is_paced) pace.emplace(process);
    for (std::uint64_t place = 0;;) {
      const auto output =
          co_await process->next_output(place, 16u << 10, Bell::Time::max(), Cancel());
      for (const auto& piece : output.part.pieces) {
        (piece.stream == Stream::standard_output ? told.out : told.err) += piece.bytes;
      }
      told.lost += output.part.lost;
      place = output.part.next;
      if (pace) pace->set(place);
      if (output.is_over) co_return;
    }
  }

  Told all_of(const Process& process, bool is_paced = true) {
    Told told;
    await(read_all(process, is_paced, told));
    return told;
  }

  Told run(std::string script) { return all_of(started(shell(std::move(script)))); }

  SandboxFiles files() const {
    return SandboxFiles([sandbox = sandbox_](std::string_view path, int flags, mode_t mode) {
      return sandbox->open_file(path, flags, mode);
    });
  }

  void write(const std::string& path, std::string_view content) const {
    auto file = files().create(path, std::nullopt);
    ASSERT_TRUE(file) << file.error().message();
    ASSERT_TRUE(file->write(content));
    ASSERT_TRUE(file->commit());
  }

  asio::awaitable<void> pause_now(std::optional<jail::ErrorKind>& why_not) {
    const auto paused = co_await sandbox_->pause();
    if (!paused) why_not = paused.error().kind;
  }

  // Returns std::nullopt where it is paused.
  std::optional<jail::ErrorKind> pause() {
    std::optional<jail::ErrorKind> why_not;
    await(pause_now(why_not));
    return why_not;
  }

  static bool prints_more(const Process& process, milliseconds within) {
    // The content of the pipe is read first.
    std::this_thread::sleep_for(milliseconds(300));
    const std::uint64_t before = process->state().output_to;
    const auto until = std::chrono::steady_clock::now() + within;
    while (std::chrono::steady_clock::now() < until) {
      if (process->state().output_to > before) return true;
      std::this_thread::sleep_for(milliseconds(1));
    }
    return false;
  }

  bool ends_within(milliseconds time) {
    await(sandbox_->wait_for_end(std::chrono::steady_clock::now() + time));
    return sandbox_->ending().has_value();
  }

  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_ =
      asio::make_work_guard(context_);
  std::thread thread_;
  std::unique_ptr<Runner> runner_;
  Found sandbox_;
  int ends_ = 0;
  milliseconds max_lifetime_{std::chrono::hours(24)};
  LivingSandbox::Pausing pausing_;
  std::vector<std::optional<LivingSandbox::Cause>> pauses_;
  std::atomic<int> resumptions_ = 0;
};

}  // namespace kernel_ring
