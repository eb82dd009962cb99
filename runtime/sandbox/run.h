// One run, from its place in the queue to its result: drives one jail.
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

// Must be used on its executor, which must run one handler at a time.
class Run {
 public:
  // The settings that all runs share.
  struct Setting {
    std::size_t output_cap_bytes = 0;  // bytes that are kept of each output
    std::uint32_t cpu_percent = 100;   // percent of one core
    Ceilings ceilings{};
    std::shared_ptr<const TimeSource> clock;
    std::shared_ptr<Admission> admission;
    Acquisition::Launch launch;
    Acquisition::MakeRoom make_room;
    // The executor on which artifacts are read. Its work for a run ends before the run's executor
    // is destroyed.
    std::function<boost::asio::any_io_executor()> collectors;
  };

  // `setting` must outlive the run, unless the run's executor is stopped before: an executor that
  // is destroyed drops its runs.
  Run(boost::asio::any_io_executor executor, const Setting& setting, RunRequest request,
      RunOptions options);
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run();

  // Must be awaited once. The destructor of the Run gives up the jail and its place.
  boost::asio::awaitable<jail::Result<RunResult>> result();

  // Gives up the place before the jail, hears of no signal and no cancellation any more, and tells
  // of no output. For a Run that is destroyed some time after result() has returned.
  void finish();

 private:
  jail::Result<void> start(Leased& leased);
  std::chrono::milliseconds cpu_of_request() const;
  jail::RunLimits limits_of_request() const;
  jail::Result<void> begin_terminal(JailHandle& jail);
  void hear_signals();
  void stop_listening();
  void pass_signals_on(JailHandle& jail);
  boost::asio::awaitable<jail::Result<void>> until_ended(JailHandle& jail);
  boost::asio::awaitable<jail::Result<jail::Collection>> collect(const JailHandle& jail);
  bool wants_artifacts(const JailHandle& jail) const;
  bool begin_reading();
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
  bool reads_later_ = false;  // the outputs are still to be watched
};

}  // namespace runtime
