#include "runtime/sandbox/runner.h"

#include <atomic>
#include <boost/asio/async_result.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <mutex>

#include "jail/launcher.h"
#include "runtime/sandbox/admission.h"
#include "runtime/sandbox/language.h"
#include "runtime/sandbox/run.h"

namespace runtime {
namespace {

namespace asio = boost::asio;
using jail::Launcher;
using jail::Result;

// Removes the leaves whose last process was still ending when their jail was reported: an idle
// server would keep them until its next run.
class LeafSweeper : public std::enable_shared_from_this<LeafSweeper> {
 public:
  LeafSweeper(const asio::any_io_executor& executor, jail::CgroupTree tree)
      : tree_(std::move(tree)), timer_(asio::make_strand(executor)) {}

  void sweep_soon() {
    if (waiting_.exchange(true)) return;
    asio::post(timer_.get_executor(), [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->wait();
    });
  }

 private:
  void wait() {
    timer_.expires_after(std::chrono::milliseconds(20));
    timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
      const auto self = weak.lock();
      if (error || self == nullptr) return;
      self->waiting_ = false;
      if (self->tree_.remove_ended() > 0) self->sweep_soon();
    });
  }

  const jail::CgroupTree tree_;
  asio::steady_timer timer_;
  std::atomic<bool> waiting_{false};
};

class JailRunner final : public Runner {
 public:
  JailRunner(asio::any_io_executor executor, RunnerOptions options, Launcher launcher,
             jail::FilterProgram filter)
      : executor_(std::move(executor)),
        options_(std::move(options)),
        admission_(std::make_shared<Admission>(options_.max_running, options_.max_queued)),
        launcher_(std::make_shared<Launcher>(std::move(launcher))),
        filter_(std::move(filter)),
        root_(options_.root ? *options_.root : jail::host_root()) {
    if (options_.cgroups) sweeper_ = std::make_shared<LeafSweeper>(executor_, *options_.cgroups);
  }

  asio::awaitable<Result<RunResult>> run(RunRequest request, RunOptions options) override {
    co_return co_await asio::async_initiate<const asio::use_awaitable_t<>, void(Result<RunResult>)>(
        [this](auto handler, RunRequest what, RunOptions how) {
          begin(std::move(handler), std::move(what), std::move(how));
        },
        asio::use_awaitable, std::move(request), std::move(options));
  }

  Result<std::string> explain(const RunRequest& request) override {
    return launcher()->explain(spec_of(request));
  }

  RunnerState state() const override {
    RunnerState state;
    state.running = admission_->running();
    state.queued = admission_->queued();
    state.total = total_.load();
    state.enforcement = launcher()->enforcement();
    return state;
  }

 private:
  template <class Handler>
  void begin(Handler handler, RunRequest request, RunOptions options) {
    ++total_;
    const auto shared = std::make_shared<Handler>(std::move(handler));
    const auto run = std::make_shared<Run>(
        executor_, options_, admission_, [this](const RunRequest& what) { return launch(what); },
        std::move(request), std::move(options),
        [shared, sweeper = sweeper_](Result<RunResult> result) {
          if (sweeper != nullptr) sweeper->sweep_soon();
          const auto executor = asio::get_associated_executor(*shared);
          asio::dispatch(executor, [shared, result = std::move(result)]() mutable {
            std::move (*shared)(std::move(result));
          });
        });
    run->start();
  }

  jail::JailSpec spec_of(const RunRequest& request) const {
    jail::JailSpec spec;
    spec.argv = arguments_of(request);
    spec.env = environment_of(request);
    spec.root = root_;
    spec.filter = filter_;
    spec.limits.wall = request.timeout;
    // The share of the deadline that it may use: a program that keeps more cores busy than it is
    // given uses up its time as much sooner, where nothing slows it down.
    spec.limits.cpu = request.timeout * options_.cpu_percent / 100;
    spec.limits.cpu_percent = options_.cpu_percent;
    spec.limits.memory_bytes = std::uint64_t{request.memory_limit_mb} << 20;
    return spec;
  }

  Result<jail::Jail> launch(const RunRequest& request) {
    const jail::JailSpec spec = spec_of(request);
    const std::shared_ptr<Launcher> current = launcher();
    Result<jail::Jail> jail = current->launch(spec);
    if (jail || jail.error().kind != jail::ErrorKind::closed) return jail;
    const auto replaced = replace(current);
    if (!replaced) return replaced.error();
    return (*replaced)->launch(spec);
  }

  std::shared_ptr<Launcher> launcher() const {
    const std::lock_guard lock(mutex_);
    return launcher_;
  }

  // The launcher died: somebody killed it. Jails that run are not its concern any more.
  Result<std::shared_ptr<Launcher>> replace(const std::shared_ptr<Launcher>& dead) {
    const std::lock_guard lock(mutex_);
    if (launcher_ == dead) {
      Result<Launcher> started = Launcher::start({.cgroups = options_.cgroups});
      if (!started) return started.error();
      launcher_ = std::make_shared<Launcher>(std::move(*started));
    }
    return launcher_;
  }

  const asio::any_io_executor executor_;
  const RunnerOptions options_;
  const std::shared_ptr<Admission> admission_;
  mutable std::mutex mutex_;
  std::shared_ptr<Launcher> launcher_;
  const jail::FilterProgram filter_;
  const jail::Root root_;
  std::shared_ptr<LeafSweeper> sweeper_;  // null without cgroups
  std::atomic<std::uint64_t> total_{0};
};

}  // namespace

Result<std::unique_ptr<Runner>> Runner::create(asio::any_io_executor executor,
                                               RunnerOptions options) {
  Result<jail::FilterProgram> filter = jail::compile_policy(jail::default_policy());
  if (!filter) return filter.error();
  Result<Launcher> launcher = Launcher::start({.cgroups = options.cgroups});
  if (!launcher) return launcher.error();
  return std::unique_ptr<Runner>(std::make_unique<JailRunner>(
      std::move(executor), std::move(options), std::move(*launcher), std::move(*filter)));
}

}  // namespace runtime
