// One run from its place in the queue to its result: drives one jail.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "jail/result.h"
#include "runtime/config/config.h"
#include "runtime/sandbox/acquisition.h"
#include "runtime/sandbox/alarm.h"
#include "runtime/sandbox/process_io.h"
#include "runtime/sandbox/runner.h"

namespace runtime {

// To be used on its executor, which does one thing after the other.
class Run {
 public:
  // What runs have in common.
  struct Setting {
    std::size_t output_cap_bytes = 0;  // kept of each output
    std::uint32_t cpu_percent = 100;   // of one core
    Ceilings ceilings{};
    std::shared_ptr<const TimeSource> clock;
    std::shared_ptr<Admission> admission;
    Acquisition::Launch launch;
    Acquisition::MakeRoom make_room;
    // Where artifacts are read. What it does for a run is over before the run's executor is
    // destroyed.
    std::function<boost::asio::any_io_executor()> collectors;
  };

  // `setting` must outlive the run, unless the run's executor is stopped before: an executor that
  // is destroyed drops its runs.
  Run(boost::asio::any_io_executor executor, const Setting& setting, RunRequest request,
      RunOptions options);
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run();

  // To be awaited once. The jail and its place are given up when the Run goes.
  boost::asio::awaitable<jail::Result<RunResult>> result();

 private:
  jail::Result<void> start(Leased& leased);
  std::chrono::milliseconds cpu_of_request() const;
  jail::RunLimits limits_of_request() const;
  jail::Result<void> begin_terminal(JailHandle& jail);
  void hear_signals();
  void pass_signals_on(JailHandle& jail);
  boost::asio::awaitable<jail::Result<void>> until_ended(JailHandle& jail);
  boost::asio::awaitable<jail::Result<jail::Collection>> collect(const JailHandle& jail);
  bool wants_artifacts(const JailHandle& jail) const;
  RunResult result_of(const Leased& leased);
  RunResult cancelled_result() const;

  const Setting& setting_;
  RunRequest request_;
  RunOptions options_;
  const std::shared_ptr<Alarm> alarm_;
  const std::shared_ptr<ProcessIo> io_;
  Acquisition acquisition_;
  TimeSource::Time started_at_{};  // nothing else: the program has not started
  bool has_terminal_ = false;
};

}  // namespace runtime
