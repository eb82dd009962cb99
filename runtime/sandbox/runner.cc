#include "runtime/sandbox/runner.h"

#include <atomic>
#include <boost/asio/async_result.hpp>
#include <boost/asio/dispatch.hpp>
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

class JailRunner final : public Runner {
 public:
  JailRunner(asio::any_io_executor executor, const RunnerOptions& options, Launcher launcher,
             jail::FilterProgram filter)
      : executor_(std::move(executor)),
        options_(options),
        admission_(std::make_shared<Admission>(options.max_running, options.max_queued)),
        launcher_(std::make_shared<Launcher>(std::move(launcher))),
        filter_(std::move(filter)),
        root_(jail::host_root()) {}

  asio::awaitable<Result<RunResult>> run(RunRequest request, RunOptions options) override {
    co_return co_await asio::async_initiate<const asio::use_awaitable_t<>, void(Result<RunResult>)>(
        [this](auto handler, RunRequest what, RunOptions how) {
          begin(std::move(handler), std::move(what), std::move(how));
        },
        asio::use_awaitable, std::move(request), std::move(options));
  }

  void use_root(jail::Root root) override { root_ = std::move(root); }

  Result<std::string> explain(const RunRequest& request) override {
    return launcher()->explain(spec_of(request));
  }

  RunnerState state() const override {
    RunnerState state;
    state.running = admission_->running();
    state.queued = admission_->queued();
    state.total = total_.load();
    state.enforcement = {jail::Enforcer::watchdog, jail::Enforcer::rlimit,
                         jail::Enforcer::watchdog};
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
        [shared](Result<RunResult> result) {
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
    // One core's worth: a program that keeps several busy uses up its time as much sooner.
    spec.limits.cpu = request.timeout;
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
      Result<Launcher> started = Launcher::start();
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
  jail::Root root_;
  std::atomic<std::uint64_t> total_{0};
};

}  // namespace

Result<std::unique_ptr<Runner>> Runner::create(asio::any_io_executor executor,
                                               RunnerOptions options) {
  Result<jail::FilterProgram> filter = jail::compile_policy(jail::default_policy());
  if (!filter) return filter.error();
  Result<Launcher> launcher = Launcher::start();
  if (!launcher) return launcher.error();
  return std::unique_ptr<Runner>(std::make_unique<JailRunner>(
      std::move(executor), options, std::move(*launcher), std::move(*filter)));
}

}  // namespace runtime
