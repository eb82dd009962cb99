// One run from its place in the queue to its result: drives one Jail.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "runtime/sandbox/admission.h"
#include "runtime/sandbox/jail_handle.h"
#include "runtime/sandbox/process_io.h"
#include "runtime/sandbox/runner.h"
#include "runtime/sandbox/warm_pool.h"

namespace runtime {

class Run : public std::enable_shared_from_this<Run> {
 public:
  using Finished = std::function<void(jail::Result<RunResult>)>;
  enum class Way : std::uint8_t { any, cold };
  // Whose jail came to nothing: it is dead, or about to be, though it may still take orders.
  using Failed = JailMaker;
  // A jail for the request; nothing where the ticket is to be called with one later. Errors that
  // come later ask for a cold one.
  using Launch = std::function<std::optional<jail::Result<Leased>>(
      const RunRequest&, Way, const Failed&, const WarmPool::Ticket&)>;

  // What `launch` uses must outlive the run, unless the run's executor is stopped before: an
  // executor that is destroyed drops its runs. `finished` is called once, on an executor of the
  // run's, which does one thing after the other: `executor` itself where that is an io_context,
  // which has one thread here, else a strand over it. Not from within start(). `collectors` is
  // where artifacts are read, for a request that wants any; its work ends before `executor` is
  // destroyed.
  Run(boost::asio::any_io_executor executor, boost::asio::any_io_executor collectors,
      const RunnerOptions& runner, std::shared_ptr<Admission> admission, Launch launch,
      RunRequest request, RunOptions options, Finished finished);

  // Does what can be done at once before it returns, where it is called on `executor`.
  void start();

 private:
  using Clock = std::chrono::steady_clock;
  using Descriptor = boost::asio::posix::stream_descriptor;

  void ask_for_place();
  void give_up_at_deadline();
  void launch(Way way, const Failed& failed = nullptr);
  WarmPool::Ticket make_ticket();
  void take(jail::Result<Leased> leased);
  void expect_ready();
  bool may_launch_again(const jail::Error& error) const;
  void launch_again();
  void watch_control();
  void on_control();
  void begin();
  jail::RunLimits limits_of_request() const;
  void end_at(std::chrono::milliseconds from_now, jail::Ended why);
  void cancel();
  void on_end();
  void collect_when_dead();
  void collect();
  void complete(jail::Collection artifacts);
  void drop_jail();
  void finish(jail::Result<RunResult> result);
  void tell(jail::Result<RunResult> result);
  RunResult result_of(const jail::ExitReport& report);

  const boost::asio::any_io_executor executor_;
  const boost::asio::any_io_executor collectors_;
  const std::uint32_t cpu_percent_;
  const Ceilings ceilings_;
  const std::shared_ptr<Admission> admission_;
  Launch launch_;
  RunRequest request_;
  RunOptions options_;
  Finished finished_;

  std::optional<Cancel::Listener> on_cancel_;
  Admission::Ticket ticket_;
  Admission::Place place_;
  WarmPool::Ticket lease_;  // while it waits for a jail
  std::unique_ptr<JailHandle> jail_;
  JailMaker maker_;  // of the jail
  bool pooled_ = false;
  bool warm_ = false;
  bool collecting_ = false;
  std::string template_name_;
  const std::shared_ptr<ProcessIo> io_;
  Descriptor control_;
  Descriptor process_;  // the jail's pidfd
  boost::asio::steady_timer timer_;
  Clock::time_point asked_at_;
  Clock::time_point placed_at_;
  Clock::time_point started_at_;
  bool starting_ = true;
  bool launched_again_ = false;
  bool ending_ = false;  // the program is over, its result is being put together
  bool over_ = false;
};

}  // namespace runtime
