// Jails and pools of them that are only pipes: a test decides what happens to them.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/sandbox/jail_handle.h"
#include "tests/unit/sandbox/pipe.h"

namespace runtime {

// A test's view of a jail, also after its owner has given it up.
struct FakeJail {
  // The actions of the owner.
  std::vector<std::pair<std::string, std::string>> files;
  std::optional<jail::RunLimits> limits;
  int starts = 0;
  int cancels = 0;
  std::vector<int> signals;
  bool given_up = false;
  bool is_announced = true;  // by its launcher: only then its process is known

  // The events that the test decides.
  jail::Phase phase = jail::Phase::launching;
  std::optional<jail::Error> error;        // the result of advance()
  std::optional<jail::Error> start_error;  // the result of start()
  jail::ExitReport report;
  int working_directory = -1;
  int terminal = -1;

  Pipe control;
  Pipe in;
  Pipe out;
  Pipe err;
  Pipe process;  // the reading end is at its end when all processes are dead

  // Makes the owner look at the jail.
  void tell() const { control.write("!"); }
  void become(jail::Phase next) {
    phase_to_come = next;
    tell();
  }
  void fail(jail::Error why) {
    error = std::move(why);
    tell();
  }
  void end(jail::Ended ended, int exit_code = 0) {
    report.ended = ended;
    report.exit_code = exit_code;
    process.writing.reset();
    become(jail::Phase::ended);
  }

  std::optional<jail::Phase> phase_to_come;
};

class FakeJailHandle final : public JailHandle {
 public:
  explicit FakeJailHandle(std::shared_ptr<FakeJail> jail) : jail_(std::move(jail)) {}
  ~FakeJailHandle() override { jail_->given_up = true; }

  jail::Phase phase() const noexcept override { return jail_->phase; }
  int control_fd() const noexcept override { return jail_->control.reading.get(); }
  jail::Result<jail::Phase> advance() override {
    jail_->control.read();
    if (jail_->error) return *jail_->error;
    if (jail_->phase_to_come) jail_->phase = *std::exchange(jail_->phase_to_come, std::nullopt);
    return jail_->phase;
  }
  jail::Result<void> write_file(std::string_view path, std::string_view content) override {
    EXPECT_EQ(jail_->phase, jail::Phase::ready);
    jail_->files.emplace_back(path, content);
    return {};
  }
  jail::Result<void> start(const std::optional<jail::RunLimits>& limits) override {
    EXPECT_EQ(jail_->phase, jail::Phase::ready);
    if (jail_->start_error) return *jail_->start_error;
    ++jail_->starts;
    jail_->limits = limits;
    jail_->phase = jail::Phase::running;
    return {};
  }
  int working_directory_fd() const noexcept override { return jail_->working_directory; }
  int process_fd() const noexcept override {
    return jail_->is_announced ? jail_->process.reading.get() : -1;
  }
  jail::Result<void> signal(int number) override {
    EXPECT_EQ(jail_->phase, jail::Phase::running);
    jail_->signals.push_back(number);
    return {};
  }
  void cancel() noexcept override { ++jail_->cancels; }
  void kill(jail::Ended why) noexcept override {
    jail_->report.ended = why;
    jail_->phase = jail::Phase::ended;
    jail_->process.writing.reset();
  }
  jail::Fd take_stdin() noexcept override { return std::move(jail_->in.writing); }
  jail::Fd take_stdout() noexcept override { return std::move(jail_->out.reading); }
  jail::Fd take_stderr() noexcept override { return std::move(jail_->err.reading); }
  int terminal_fd() const noexcept override { return jail_->terminal; }
  const jail::ExitReport& report() const noexcept override { return jail_->report; }

 private:
  const std::shared_ptr<FakeJail> jail_;
};

// A test's view of a pool, also after its owner has closed it.
struct FakePool {
  std::deque<std::shared_ptr<FakeJail>> ready;
  std::vector<jail::Invocation> invocations;  // those of the jails that were launched
  std::string trouble;                        // why no jail can be made; empty: some are being made
  std::uint64_t leases = 0;
  std::optional<jail::Error> lease_error;
  int advances = 0;
  bool maker_ended = false;
  bool closed = false;
  JailMaker maker = std::make_shared<const int>(0);
  Pipe event;

  // Makes the owner look at the pool.
  void tell() const { event.write("!"); }
  std::shared_ptr<FakeJail> add(jail::Phase phase = jail::Phase::ready) {
    ready.push_back(std::make_shared<FakeJail>());
    ready.back()->phase = phase;
    return ready.back();
  }
};

class FakePoolHandle final : public PoolHandle {
 public:
  explicit FakePoolHandle(std::shared_ptr<FakePool> pool) : pool_(std::move(pool)) {}
  ~FakePoolHandle() override { pool_->closed = true; }

  int event_fd() const noexcept override { return pool_->event.reading.get(); }
  void advance() override {
    pool_->event.read();
    ++pool_->advances;
  }
  jail::Result<std::unique_ptr<JailHandle>> lease() override {
    if (pool_->lease_error) return *pool_->lease_error;
    if (pool_->ready.empty()) {
      const auto kind =
          pool_->trouble.empty() ? jail::ErrorKind::exhausted : jail::ErrorKind::closed;
      return jail::Error{kind, "lease a jail", 0, {}};
    }
    ++pool_->leases;
    auto jail = std::move(pool_->ready.front());
    pool_->ready.pop_front();
    return std::unique_ptr<JailHandle>(std::make_unique<FakeJailHandle>(std::move(jail)));
  }
  jail::Result<std::unique_ptr<JailHandle>> launch(const jail::Invocation& invocation) override {
    pool_->invocations.push_back(invocation);
    return lease();
  }
  jail::Result<LaunchedLiving> launch_living(const jail::Limits&, const jail::Limits&) override {
    return jail::Error{jail::ErrorKind::unsupported, "launch a living jail", 0, {}};
  }
  bool give_up_one() override {
    if (pool_->ready.empty()) return false;
    pool_->ready.pop_front();
    return true;
  }
  jail::PoolState state() const override {
    jail::PoolState state;
    state.ready = static_cast<std::uint32_t>(pool_->ready.size());
    state.leases = pool_->leases;
    state.trouble = pool_->trouble;
    return state;
  }
  JailMaker maker() const override { return pool_->maker; }
  bool maker_has_ended() const noexcept override { return pool_->maker_ended; }

 private:
  const std::shared_ptr<FakePool> pool_;
};

}  // namespace runtime
