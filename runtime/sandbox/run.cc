#include "runtime/sandbox/run.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jail/id_range.h"
#include "runtime/sandbox/elsewhere.h"
#include "runtime/sandbox/language.h"

namespace runtime {
namespace {

namespace asio = boost::asio;
using jail::Result;
using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::milliseconds;

// Init ends a jail at its deadline by itself. After this time the owner no longer relies on that.
constexpr milliseconds grace{2'000};
// The time in which most short programs have ended. The end of one and its output are then seen
// together, and no pipe is watched. A full pipe keeps its program waiting no longer than this.
constexpr milliseconds unwatched_time{1};

Status status_of(const jail::ExitReport& report) {
  switch (report.ended) {
    case jail::Ended::exited:
      return report.exit_code == 0 ? Status::success : Status::error;
    case jail::Ended::timed_out:
      return Status::timeout;
    case jail::Ended::out_of_memory:
      return Status::out_of_memory;
    case jail::Ended::violation:
      return Status::violation;
    case jail::Ended::cancelled:
      return Status::cancelled;
    case jail::Ended::signaled:
    case jail::Ended::killed:
      break;
  }
  return Status::killed;
}

std::shared_ptr<ProcessIo> make_io(const asio::any_io_executor& executor, std::size_t output_cap,
                                   RunRequest& request, RunOptions& options) {
  ProcessIo::Options streams;
  if (options.collect_output) streams.output_cap = output_cap;
  streams.on_output = std::move(options.on_output);
  streams.gate = options.gate;
  streams.input = std::move(request.standard_input);
  streams.input_fd = options.standard_input_fd;
  streams.edit_input = std::move(options.edit_input);
  return std::make_shared<ProcessIo>(executor, std::move(streams));
}

jail::Error cannot_collect(jail::ErrorKind kind, const char* why, int sys_errno) {
  return {kind, "collect artifacts: " + std::string(why), sys_errno, {}};
}

// A jail's working directory once all its processes are dead.
struct Remains {
  jail::Fd directory;
  std::string program;  // the program's file, which the caller has already
  std::vector<std::string> wanted;

  jail::Collection collect() const {
    const jail::ActAsOwnerOf acting(directory.get());
    ::unlinkat(directory.get(), program.c_str(), 0);
    return jail::collect(directory.get(), wanted, {});
  }
};

}  // namespace

Run::Run(asio::any_io_executor executor, const Setting& setting, RunRequest request,
         RunOptions options)
    : setting_(setting),
      request_(std::move(request)),
      options_(std::move(options)),
      alarm_(Alarm::create(std::move(executor), *setting.clock, options_.cancel)),
      io_(make_io(alarm_->executor(), setting.output_cap_bytes, request_, options_)),
      acquisition_(alarm_, *setting.clock, setting.admission, setting.launch, setting.make_room) {}

Run::~Run() {
  stop_listening();
  io_->stop();
}

// Where init was killed with its jail, a process may have written once more on its way to its end,
// and whoever hears of output may be gone by then.
void Run::finish() {
  stop_listening();
  io_->fall_silent();
  acquisition_.give_place_up();
}

void Run::stop_listening() {
  if (options_.signals != nullptr) options_.signals->listen({});
  options_.signals.reset();
  alarm_->stop();
}

asio::awaitable<Result<RunResult>> Run::result() {
  Acquisition::Start start_in = [this](Leased& leased) { return start(leased); };
  const auto acquired =
      co_await acquisition_.acquire(request_, std::move(options_.caller), std::move(start_in));
  if (!acquired) co_return acquired.error();
  if (*acquired == nullptr) co_return cancelled_result();
  Leased& leased = **acquired;
  const auto ended = co_await until_ended(*leased.jail);
  if (!ended) co_return ended.error();
  // Every process of the jail is dead or dying, so the pipes hold all remaining output.
  io_->drain();
  if (!wants_artifacts(*leased.jail)) co_return result_of(leased);
  auto artifacts = co_await collect(*leased.jail);
  if (!artifacts) co_return std::move(artifacts).error();
  RunResult result = result_of(leased);
  result.artifacts = std::move(*artifacts);
  co_return result;
}

Result<void> Run::start(Leased& leased) {
  JailHandle& jail = *leased.jail;
  Result<void> done;
  for (const InputFile& file : request_.files) {
    if (done) done = jail.write_file(file.path, file.content);
  }
  const std::string own = program_file_of(request_);
  if (done) done = jail.write_file(own, request_.code);
  if (!done) return done;
  if (!request_.terminal) io_->offer_input(jail.take_stdin());
  // A jail that was made for this program has its limits already.
  done = jail.start(leased.pooled ? std::optional(limits_of_request()) : std::nullopt);
  if (!done) return done;
  request_.files.clear();
  leased.maker.reset();
  leased.maker_has_ended = nullptr;
  started_at_ = setting_.clock->now();
  if (options_.on_start) options_.on_start();
  reads_later_ = true;
  if (!request_.terminal) io_->start_unwatched(jail.take_stdout(), jail.take_stderr());
  if (options_.result_first) {
    alarm_->set_deadline(started_at_ + unwatched_time);
  } else {
    begin_reading();
  }
  return done;
}

// Returns false where it has begun before.
bool Run::begin_reading() {
  if (!reads_later_) return false;
  reads_later_ = false;
  alarm_->set_deadline(started_at_ + request_.timeout + grace);
  io_->watch_outputs();
  return true;
}

// Its input and its output are one descriptor, which comes once the program is on its way.
Result<void> Run::begin_terminal(JailHandle& jail) {
  if (!request_.terminal || has_terminal_ || jail.terminal_fd() < 0) return {};
  const auto duplicate = [&jail] {
    return jail::Fd(::fcntl(jail.terminal_fd(), F_DUPFD_CLOEXEC, 0));
  };
  jail::Fd typed = duplicate();
  jail::Fd shown = duplicate();
  jail::Fd resized = duplicate();
  if (!typed.valid() || !shown.valid() || !resized.valid()) {
    return jail::Error{jail::ErrorKind::exhausted, "duplicate a terminal", errno, {}};
  }
  has_terminal_ = true;
  if (options_.on_terminal) options_.on_terminal(std::move(resized));
  io_->offer_input(std::move(typed));
  io_->start(std::move(shown), {});
  return {};
}

milliseconds Run::cpu_of_request() const { return request_.timeout * setting_.cpu_percent / 100; }

jail::RunLimits Run::limits_of_request() const {
  return {.wall = request_.timeout,
          .cpu = cpu_of_request(),
          .memory_bytes = std::uint64_t{request_.memory_limit_mb} << 20};
}

void Run::hear_signals() {
  if (options_.signals == nullptr) return;
  options_.signals->listen([weak = std::weak_ptr(alarm_)] {
    auto alarm = weak.lock();
    if (alarm == nullptr) return;
    // It is let go where it lives.
    const asio::any_io_executor home = alarm->executor();
    asio::post(home, [alarm = std::move(alarm)] { alarm->wake(); });
  });
}

void Run::pass_signals_on(JailHandle& jail) {
  if (options_.signals == nullptr) return;
  // One that cannot be sent is lost, as it would be to a program that has ended.
  for (const int number : options_.signals->take()) static_cast<void>(jail.signal(number));
}

asio::awaitable<Result<void>> Run::until_ended(JailHandle& jail) {
  jail::Ended why_killed = jail::Ended::timed_out;
  hear_signals();
  while (jail.phase() != jail::Phase::ended) {
    pass_signals_on(jail);
    if (alarm_->cancelled() && why_killed != jail::Ended::cancelled) {
      jail.cancel();
      begin_reading();
      why_killed = jail::Ended::cancelled;
      alarm_->set_deadline(setting_.clock->now() + grace);
    }
    if (alarm_->deadline_passed() && !begin_reading()) {
      jail.kill(why_killed);
      break;
    }
    co_await alarm_->wait();
    const auto phase = jail.advance();
    if (!phase) co_return phase.error();
    if (const auto begun = begin_terminal(jail); !begun) co_return begun.error();
  }
  co_return Result<void>();
}

bool Run::wants_artifacts(const JailHandle& jail) const {
  return !request_.artifacts.empty() && started_at_ != TimeSource::Time{} &&
         jail.report().ended != jail::Ended::cancelled;
}

// Init reports when its last process is reaped. Where init itself was killed, the other processes
// may take a moment longer, and could exchange a file while the directory is read.
asio::awaitable<Result<jail::Collection>> Run::collect(const JailHandle& jail) {
  {
    const Alarm::Watch processes(*alarm_, jail.process_fd());
    alarm_->set_deadline(setting_.clock->now() + grace);
    do {
      if (alarm_->deadline_passed()) {
        co_return cannot_collect(jail::ErrorKind::kernel, "the jail's processes do not end", 0);
      }
      co_await alarm_->wait();
    } while (alarm_->was_woken());
  }
  Remains remains;
  remains.directory = jail::Fd(::fcntl(jail.working_directory_fd(), F_DUPFD_CLOEXEC, 0));
  if (!remains.directory.valid()) {
    co_return cannot_collect(jail::ErrorKind::exhausted, "duplicate a descriptor", errno);
  }
  remains.program = program_file_of(request_);
  remains.wanted = std::move(request_.artifacts);
  // The guest chose how many files there are, which takes a second to read at the worst. g++ 12
  // destroys a temporary function in the operand of co_await twice.
  auto work = [remains = std::move(remains)] { return remains.collect(); };
  co_return co_await do_elsewhere(setting_.collectors(), std::move(work));
}

RunResult Run::cancelled_result() const {
  RunResult result;
  result.status = Status::cancelled;
  result.outcome = cancelled_outcome();
  result.timings.queued =
      duration_cast<microseconds>(setting_.clock->now() - acquisition_.asked_at());
  return result;
}

RunResult Run::result_of(const Leased& leased) {
  const jail::ExitReport& report = leased.jail->report();
  RunResult result;
  result.status = status_of(report);
  result.outcome = outcome_of(request_, report, cpu_of_request(), setting_.ceilings);
  if (report.ended == jail::Ended::exited) result.exit_code = report.exit_code;
  // The SIGKILL that enforced a deadline or a memory limit is ours and is not reported as the
  // program's.
  if (result.status == Status::killed || result.status == Status::violation) {
    result.signal = signal_name(report.signal);
  }
  ProcessIo::Kept out = io_->take_kept(Stream::standard_output);
  ProcessIo::Kept err = io_->take_kept(Stream::standard_error);
  result.standard_output = std::move(out.bytes);
  result.standard_error = std::move(err.bytes);
  result.stdout_truncated = out.truncated;
  result.stderr_truncated = err.truncated;
  result.timings.queued =
      duration_cast<microseconds>(acquisition_.placed_at() - acquisition_.asked_at());
  if (started_at_ != TimeSource::Time{}) {
    result.timings.started =
        duration_cast<microseconds>(started_at_ - acquisition_.placed_at()) + report.phases.started;
  }
  result.timings.ran = report.phases.ran;
  result.warm = leased.warm;
  result.template_name = leased.template_name;
  result.usage = report.usage;
  result.enforcement = report.enforcement;
  return result;
}

}  // namespace runtime
