// One process of a living sandbox: drives it, keeps its output and passes on its input.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "jail/process.h"
#include "jail/result.h"
#include "runtime/living/bell.h"
#include "runtime/living/output_log.h"
#include "runtime/sandbox/alarm.h"
#include "runtime/sandbox/cancel.h"

namespace runtime {

struct ProcessCommand {
  std::vector<std::string> argv;  // argv[0] is a path inside the jail
  std::vector<std::string> env;   // "NAME=value"
  std::string working_directory;
  std::optional<jail::TerminalSize> terminal = std::nullopt;        // in place of three pipes
  std::optional<std::chrono::milliseconds> timeout = std::nullopt;  // nullopt: at the sandbox's end
  std::string input = {};                                           // its first input
  bool keep_input_open = false;  // more input may follow; a terminal's input stays open in any case
  bool in_background = false;    // nobody waits for its end; shown to those who list processes
  // It is a fork of the template's zygote; until it has started: it is to be one where it can be.
  bool is_warm = false;
};

class LivingProcess;

// Callbacks for a process's start and end, called on its executor; an empty one is not called.
struct ProcessNews {
  std::function<void(const LivingProcess&)> on_start = {};  // before its end can be known
  // Awaited before others can see that it has ended, and before on_end.
  std::function<boost::asio::awaitable<void>()> before_end = {};
  // Called before others can see that it has ended.
  std::function<void(const LivingProcess&, const jail::ExitReport&)> on_end = {};
};

// Thread-safe except where noted. Belongs to the executor of the caller that started it, which must
// run one handler at a time. Goes on reading the output of the process's descendants after the
// process has ended, until they are gone or close_output() is called.
class LivingProcess : public std::enable_shared_from_this<LivingProcess> {
 public:
  using Time = std::chrono::system_clock::time_point;

  // `process` is spawned, and no stream of it has been taken; `order` is that of the sandbox's
  // output. Waits until its program has begun or it has ended. Errors: as jail::Process::advance(),
  // and closed where `cancel` was requested before; the process is gone then.
  static boost::asio::awaitable<jail::Result<std::shared_ptr<LivingProcess>>> start(
      jail::Process process, ProcessCommand command, std::shared_ptr<OutputOrder> order,
      Cancel cancel);
  // Reads the output, writes the first input and waits for the end. Must be called once, after the
  // readers of the sandbox's output know of this process: they would take earlier output for lost.
  // `after_end` is called once on the executor, when the process has ended.
  static void run(const std::shared_ptr<LivingProcess>& self, const ProcessNews& news,
                  std::function<void()> after_end);

  LivingProcess(const LivingProcess&) = delete;
  LivingProcess& operator=(const LivingProcess&) = delete;

  // The command without the input.
  const ProcessCommand& command() const noexcept { return command_; }
  int pid() const noexcept { return pid_; }
  Time started_at() const noexcept { return started_at_; }

  struct State {
    bool has_ended = false;
    jail::ExitReport report{};  // set where it has ended
    Time ended_at{};
    std::uint64_t output_from = 0;  // range of the places that are kept of its output
    std::uint64_t output_to = 0;
  };
  State state() const;

  struct Output {
    OutputLog::Part part;
    // The process has ended, and all that was printed by then has been returned; descendants may
    // still print more.
    bool is_over = false;
  };
  // Returns at once what is kept from `place` on; empty where there is nothing new.
  Output output(std::uint64_t place, std::size_t max_bytes) const;
  // The same, but waits until there is something new or it is over, at the latest until `deadline`,
  // or until `cancel` is requested. Runs on the awaiting executor, which must run one handler at a
  // time.
  boost::asio::awaitable<Output> next_output(std::uint64_t place, std::size_t max_bytes,
                                             Bell::Time deadline, Cancel cancel) const;
  // As the functions of OutputLog, for readers of the output of all processes.
  std::optional<OutputLog::Placed> next_placed(std::uint64_t place, std::uint64_t until,
                                               std::size_t max_bytes) const;
  OutputLog::LineEnds line_ends(std::optional<Stream> stream, std::uint64_t until,
                                std::size_t most) const;
  OutputLog latest_output(std::uint64_t place) const;

  // A reader that the process waits for: none of its output is lost while a Pace exists and reports
  // in time how far it has read. One at a time.
  class Pace {
   public:
    explicit Pace(std::shared_ptr<LivingProcess> process);
    ~Pace();
    Pace(const Pace&) = delete;
    Pace& operator=(const Pace&) = delete;
    // Reports that all output before `place` has been read.
    void set(std::uint64_t place);

   private:
    const std::shared_ptr<LivingProcess> process_;
  };

  // Waits until the process has ended, at the latest until `deadline`.
  boost::asio::awaitable<void> wait_for_end(Bell::Time deadline) const;

  enum class Written : std::uint8_t {
    whole,
    closed,     // nobody reads the input any more, or it was closed before
    busy,       // another call is writing
    cancelled,  // some of it may have been written
  };
  // Waits until the process, or the pipe, has taken all of it. With `close` nothing follows; a
  // terminal gets its end-of-file character.
  boost::asio::awaitable<Written> write_input(std::string bytes, bool close, Cancel cancel);

  // Errors: as jail::Process. It is no error that a process has ended and is not reached.
  jail::Result<void> signal(int number);
  jail::Result<void> signal_group(int number);
  jail::Result<void> resize(jail::TerminalSize size);
  // Kills the process and its process group.
  void kill();
  // The same for a caller who no longer waits for the end: the process is reported as cancelled.
  void cancel();
  bool is_cancelled() const;  // cancel() was called
  // For a process that has ended: descendants that print to its pipes find no reader any more.
  void close_output();

 private:
  using Descriptor = boost::asio::posix::stream_descriptor;

  LivingProcess(boost::asio::any_io_executor executor, jail::Process process,
                ProcessCommand command, std::shared_ptr<OutputOrder> order);

  boost::asio::awaitable<jail::Result<void>> begin(Cancel cancel);
  boost::asio::awaitable<jail::Result<void>> until(jail::ProcessPhase phase, Cancel cancel);
  jail::Result<void> take_streams();
  // These coroutines keep the process alive.
  static boost::asio::awaitable<void> drive(std::shared_ptr<LivingProcess> self, ProcessNews news,
                                            std::function<void()> after_end);
  static boost::asio::awaitable<void> read_stream(std::shared_ptr<LivingProcess> self,
                                                  Descriptor& from, Stream stream);
  static boost::asio::awaitable<Written> write(std::shared_ptr<LivingProcess> self,
                                               std::string bytes, bool close, Cancel cancel);
  std::size_t read_some(Descriptor& from, Stream stream);
  void drain(Descriptor& from, Stream stream);
  bool must_pause(const std::shared_ptr<Bell>& bell);
  Output output_now(std::uint64_t place, std::size_t max_bytes) const;
  bool has_ended() const noexcept { return !process_; }

  const boost::asio::any_io_executor executor_;
  const ProcessCommand command_;
  std::string first_input_;
  int pid_ = 0;  // set before anybody else has this object, as is what follows
  Time started_at_{};

  mutable std::mutex mutex_;
  std::optional<jail::Process> process_;  // held until it has ended
  jail::ExitReport report_{};             // set when it has ended
  bool is_cancelled_ = false;
  Time ended_at_{};
  OutputLog log_;
  std::uint64_t output_end_ = 0;        // how much had been printed when it ended
  std::optional<std::uint64_t> paced_;  // how much the reader that it waits for has read
  mutable Bells readers_;
  Bells paused_;

  // Used on the executor alone.
  Descriptor out_;  // also a terminal's output
  Descriptor err_;
  Descriptor in_;
  bool is_writing_ = false;
};

}  // namespace runtime
