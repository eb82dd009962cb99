#include "runtime/sandbox/jail_handle.h"

#include <poll.h>

#include <utility>

namespace runtime {
namespace {

using jail::Result;

class OneJail final : public JailHandle {
 public:
  explicit OneJail(jail::Jail jail) noexcept : jail_(std::move(jail)) {}

  jail::Phase phase() const noexcept override { return jail_.phase(); }
  int control_fd() const noexcept override { return jail_.control_fd(); }
  Result<jail::Phase> advance() override { return jail_.advance(); }
  Result<void> write_file(std::string_view path, std::string_view content) override {
    return jail_.write_file(path, content, 0644);
  }
  Result<void> start(const std::optional<jail::RunLimits>& limits) override {
    return limits ? jail_.start(*limits) : jail_.start();
  }
  int working_directory_fd() const noexcept override { return jail_.working_directory_fd(); }
  int process_fd() const noexcept override { return jail_.process_fd(); }
  Result<void> signal(int number) override { return jail_.signal(number); }
  void cancel() noexcept override { jail_.cancel(); }
  void kill(jail::Ended why) noexcept override { jail_.kill(why); }
  jail::Fd take_stdin() noexcept override { return jail_.take_stdin(); }
  jail::Fd take_stdout() noexcept override { return jail_.take_stdout(); }
  jail::Fd take_stderr() noexcept override { return jail_.take_stderr(); }
  int terminal_fd() const noexcept override { return jail_.terminal_fd(); }
  const jail::ExitReport& report() const noexcept override { return jail_.report(); }

 private:
  jail::Jail jail_;
};

Result<std::unique_ptr<JailHandle>> made(Result<jail::Jail> jail) {
  if (!jail) return std::move(jail).error();
  return handle_of(std::move(*jail));
}

class OnePool final : public PoolHandle {
 public:
  OnePool(std::shared_ptr<const jail::Launcher> launcher, jail::Pool pool) noexcept
      : launcher_(std::move(launcher)), pool_(std::move(pool)) {}

  int event_fd() const noexcept override { return pool_.event_fd(); }
  void advance() override { pool_.advance(); }
  Result<std::unique_ptr<JailHandle>> lease() override { return made(pool_.lease()); }
  Result<std::unique_ptr<JailHandle>> launch(const jail::Invocation& invocation) override {
    return made(pool_.launch(invocation));
  }
  Result<LaunchedLiving> launch_living(const jail::Limits& limits,
                                       const jail::Limits& max_limits) override {
    auto jail = pool_.launch_living(limits, max_limits);
    if (!jail) return std::move(jail).error();
    return LaunchedLiving{.jail = std::move(*jail), .launcher = launcher_};
  }
  bool give_up_one() override { return pool_.give_up_one(); }
  jail::PoolState state() const override { return pool_.state(); }
  JailMaker maker() const override { return launcher_; }
  bool maker_has_ended() const noexcept override { return has_ended(*launcher_); }

 private:
  const std::shared_ptr<const jail::Launcher> launcher_;  // outlives the pool
  jail::Pool pool_;
};

}  // namespace

std::unique_ptr<JailHandle> handle_of(jail::Jail jail) {
  return std::make_unique<OneJail>(std::move(jail));
}

Result<std::shared_ptr<PoolHandle>> open_pool(std::shared_ptr<const jail::Launcher> launcher,
                                              const jail::TemplateSpec& spec,
                                              const jail::PoolOptions& options) {
  auto pool = jail::Pool::open(*launcher, spec, options);
  if (!pool) return std::move(pool).error();
  return std::shared_ptr<PoolHandle>(
      std::make_shared<OnePool>(std::move(launcher), std::move(*pool)));
}

bool is_shortage(const jail::Error& error) noexcept {
  return error.kind == jail::ErrorKind::exhausted && error.sys_errno != 0;
}

bool has_ended(const jail::Launcher& launcher) noexcept {
  pollfd ended{.fd = launcher.process_fd(), .events = POLLIN, .revents = 0};
  return ::poll(&ended, 1, 0) == 1;
}

}  // namespace runtime
