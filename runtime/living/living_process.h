// One process of a sandbox that lives: drives it, keeps what it prints, passes on what it reads.
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
  std::optional<std::chrono::milliseconds> timeout = std::nullopt;  // none: the sandbox's end
  std::string input = {};                                           // what it reads first
  bool keep_input_open = false;  // more may come; a terminal's input stays open in any case
  bool in_background = false;    // nobody waits for its end; for those who look at it later
};

class LivingProcess;

// The functions that are told of a process's start and end, on its executor; an empty one is not
// called.
struct ProcessNews {
  std::function<void(const LivingProcess&)> on_start = {};  // before its end can be known
  // Before others can see that it has ended.
  std::function<void(const LivingProcess&, const jail::ExitReport&)> on_end = {};
};

// Thread-safe but for what says otherwise. Belongs to the executor of who started it, which does
// one thing after the other. It goes on reading what descendants of the process print when that has
// ended, until they are gone or close_output() is called.
class LivingProcess : public std::enable_shared_from_this<LivingProcess> {
 public:
  using Time = std::chrono::system_clock::time_point;

  // `process` is spawned and nothing of it is taken yet, `order` is that of the sandbox's output.
  // Waits until its program has begun or it has ended. Errors: as jail::Process::advance(), and
  // closed where `cancel` was requested before; the process is gone then.
  static boost::asio::awaitable<jail::Result<std::shared_ptr<LivingProcess>>> start(
      jail::Process process, ProcessCommand command, std::shared_ptr<OutputOrder> order,
      Cancel cancel);
  // Reads what it prints, gives it its first input and sees it end. To be called once, when those
  // who read the sandbox's output know of this process: before, they would take what it printed
  // for lost. `after_end` is called once on the executor, when it has ended.
  static void run(const std::shared_ptr<LivingProcess>& self, const ProcessNews& news,
                  std::function<void()> after_end);

  LivingProcess(const LivingProcess&) = delete;
  LivingProcess& operator=(const LivingProcess&) = delete;

  // Without the input.
  const ProcessCommand& command() const noexcept { return command_; }
  int pid() const noexcept { return pid_; }
  Time started_at() const noexcept { return started_at_; }

  struct State {
    bool has_ended = false;
    jail::ExitReport report{};  // of one that has ended
    Time ended_at{};
    std::uint64_t output_from = 0;  // places in its output: what is kept
    std::uint64_t output_to = 0;
  };
  State state() const;

  struct Output {
    OutputLog::Part part;
    // The process has ended, and all that was printed by then is told; there may be more by its
    // descendants.
    bool is_over = false;
  };
  // What is kept from `place` on, at once; nothing where there is nothing new.
  Output output(std::uint64_t place, std::size_t max_bytes) const;
  // The same, once there is something new or it is over, at the latest at `deadline`, or when
  // `cancel` is requested. On the executor of who awaits it, which does one thing after the other.
  boost::asio::awaitable<Output> next_output(std::uint64_t place, std::size_t max_bytes,
                                             Bell::Time deadline, Cancel cancel) const;
  // As OutputLog has them: for those who read what all processes print.
  std::optional<OutputLog::Placed> next_placed(std::uint64_t place, std::uint64_t until,
                                               std::size_t max_bytes) const;
  OutputLog::LineEnds line_ends(std::optional<Stream> stream, std::uint64_t until,
                                std::size_t most) const;
  OutputLog latest_output(std::uint64_t place) const;

  // A reader that the process waits for: nothing of its output is lost while a Pace is there and
  // says in time how far it is. One at a time.
  class Pace {
   public:
    explicit Pace(std::shared_ptr<LivingProcess> process);
    ~Pace();
    Pace(const Pace&) = delete;
    Pace& operator=(const Pace&) = delete;
    // All output before `place` is taken.
    void set(std::uint64_t place);

   private:
    const std::shared_ptr<LivingProcess> process_;
  };

  // Until it has ended, at the latest at `deadline`.
  boost::asio::awaitable<void> wait_for_end(Bell::Time deadline) const;

  enum class Written : std::uint8_t {
    whole,
    closed,     // nobody reads its input any more, or it was closed before
    busy,       // another call is writing
    cancelled,  // some of it may have been written
  };
  // Waits until the process, or the pipe, has taken all of it. `close`: nothing follows; a terminal
  // is sent its end-of-file character.
  boost::asio::awaitable<Written> write_input(std::string bytes, bool close, Cancel cancel);

  // Errors: as jail::Process; one that has ended is not reached, and that is no error.
  jail::Result<void> signal(int number);
  jail::Result<void> signal_group(int number);
  jail::Result<void> resize(jail::TerminalSize size);
  // Kills it and its process group.
  void kill();
  // The same for a caller who does not wait for its end any more: that is what it is said to be.
  void cancel();
  // For one that has ended: descendants that print to its pipes find nobody who reads them.
  void close_output();

 private:
  using Descriptor = boost::asio::posix::stream_descriptor;

  LivingProcess(boost::asio::any_io_executor executor, jail::Process process,
                ProcessCommand command, std::shared_ptr<OutputOrder> order);

  boost::asio::awaitable<jail::Result<void>> begin(Cancel cancel);
  boost::asio::awaitable<jail::Result<void>> until(jail::ProcessPhase phase, Cancel cancel);
  jail::Result<void> take_streams();
  // These keep their process.
  static boost::asio::awaitable<void> drive(
      std::shared_ptr<LivingProcess> self,
      std::function<void(const LivingProcess&, const jail::ExitReport&)> on_end,
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
  int pid_ = 0;  // known before anybody else has this object, as is what follows
  Time started_at_{};

  mutable std::mutex mutex_;
  std::optional<jail::Process> process_;  // until it has ended
  jail::ExitReport report_{};             // from then on
  bool is_cancelled_ = false;
  Time ended_at_{};
  OutputLog log_;
  std::uint64_t output_end_ = 0;        // how much was printed when it had ended
  std::optional<std::uint64_t> paced_;  // what the reader that it waits for has taken
  mutable Bells readers_;
  Bells paused_;

  // The executor's alone.
  Descriptor out_;  // a terminal's output too
  Descriptor err_;
  Descriptor in_;
  bool is_writing_ = false;
};

}  // namespace runtime
