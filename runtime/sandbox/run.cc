#include "runtime/sandbox/run.h"

#include <unistd.h>

#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>

#include "runtime/sandbox/language.h"

namespace runtime {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::milliseconds;

// Setting up takes milliseconds; a host that needs this long is in trouble. A jail out of a pool is
// given up sooner, since one that is made for the program alone can take its place.
constexpr milliseconds set_up_deadline{10'000};
constexpr milliseconds pooled_set_up_deadline{5'000};
// Init ends a jail at its deadline by itself. This much later the owner no longer relies on it.
constexpr milliseconds grace{2'000};

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

asio::any_io_executor one_after_the_other(asio::any_io_executor executor) {
  if (executor.target<asio::io_context::executor_type>() != nullptr) return executor;
  return asio::make_strand(executor);
}

std::shared_ptr<ProcessIo> make_io(const asio::any_io_executor& executor, std::size_t output_cap,
                                   RunRequest& request, RunOptions& options) {
  ProcessIo::Options streams;
  if (options.collect_output) streams.output_cap = output_cap;
  streams.on_output = std::move(options.on_output);
  streams.gate = options.gate;
  streams.input = std::move(request.standard_input);
  streams.input_fd = options.standard_input_fd;
  return std::make_shared<ProcessIo>(executor, std::move(streams));
}

jail::Error queue_is_full() {
  return {jail::ErrorKind::exhausted, "run a program: the queue is full", 0, {}};
}

}  // namespace

Run::Run(asio::any_io_executor executor, asio::any_io_executor collectors,
         const RunnerOptions& runner, std::shared_ptr<Admission> admission, Launch launch,
         RunRequest request, RunOptions options, Finished finished)
    : executor_(one_after_the_other(std::move(executor))),
      collectors_(std::move(collectors)),
      cpu_percent_(runner.cpu_percent),
      ceilings_{.timeout = runner.most_timeout, .memory_limit_mb = runner.most_memory_mb},
      admission_(std::move(admission)),
      launch_(std::move(launch)),
      request_(std::move(request)),
      options_(std::move(options)),
      finished_(std::move(finished)),
      io_(make_io(executor_, runner.output_cap_bytes, request_, options_)),
      control_(executor_),
      process_(executor_),
      timer_(executor_) {}

void Run::start() {
  asio::dispatch(executor_, [self = shared_from_this()] {
    self->ask_for_place();
    self->starting_ = false;
  });
}

void Run::ask_for_place() {
  asked_at_ = Clock::now();
  on_cancel_.emplace(options_.cancel, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) asio::post(self->executor_, [self] { self->cancel(); });
  });
  if (over_) return;
  if (auto place = admission_->take_free()) {
    place_ = std::move(*place);
    launch(Way::any);
    return;
  }
  ticket_ = admission_->ask(
      options_.caller, [weak = weak_from_this()](std::optional<Admission::Place> place) {
        const auto self = weak.lock();
        if (self == nullptr) return;
        const auto held = std::make_shared<std::optional<Admission::Place>>(std::move(place));
        asio::post(self->executor_, [self, held] {
          if (self->over_) return;
          if (!*held) {
            self->finish(queue_is_full());
            return;
          }
          self->place_ = std::move(**held);
          self->launch(Way::any);
        });
      });
  if (ticket_ == nullptr) {
    finish(queue_is_full());
    return;
  }
  give_up_at_deadline();
}

// A program that waits longer than it may run is one that nobody waits for any more.
void Run::give_up_at_deadline() {
  timer_.expires_at(asked_at_ + request_.timeout);
  timer_.async_wait([self = shared_from_this()](error_code error) {
    if (error || self->jail_ != nullptr || self->over_) return;
    if (self->lease_ == nullptr && !self->admission_->withdraw(self->ticket_)) return;
    const std::string what = self->lease_ == nullptr ? "place" : "jail";
    self->finish(jail::Error{
        jail::ErrorKind::exhausted, "run a program: no " + what + " became free in time", 0, {}});
  });
}

void Run::launch(Way way, const Failed& failed) {
  placed_at_ = Clock::now();
  const WarmPool::Ticket ticket = make_ticket();
  auto leased = launch_(request_, way, failed, ticket);
  if (leased) {
    take(std::move(*leased));
    return;
  }
  lease_ = ticket;
  give_up_at_deadline();
}

WarmPool::Ticket Run::make_ticket() {
  using Answer = WarmPool::Ticket::element_type;
  return std::make_shared<Answer>([weak = weak_from_this()](jail::Result<Leased> leased) {
    const auto self = weak.lock();
    if (self == nullptr) return;
    const auto held = std::make_shared<jail::Result<Leased>>(std::move(leased));
    asio::post(self->executor_, [self, held] {
      if (self->over_) return;
      self->lease_.reset();
      self->placed_at_ = Clock::now();
      *held ? self->take(std::move(*held)) : self->launch(Way::cold);
    });
  });
}

void Run::take(jail::Result<Leased> leased) {
  if (!leased) {
    finish(std::move(leased).error());
    return;
  }
  pooled_ = leased->pooled;
  warm_ = leased->warm;
  template_name_ = std::move(leased->template_name);
  maker_ = std::move(leased->maker);
  jail_ = std::move(leased->jail);
  control_.assign(jail_->control_fd());
  watch_control();
  if (jail_->phase() == jail::Phase::ready) {
    begin();
  } else {
    expect_ready();
  }
}

void Run::expect_ready() {
  timer_.expires_after(pooled_ ? pooled_set_up_deadline : set_up_deadline);
  timer_.async_wait([self = shared_from_this()](error_code error) {
    if (error || self->ending_ || self->over_ || self->started_at_ != Clock::time_point{}) return;
    jail::Error late{jail::ErrorKind::timed_out,
                     "set up a jail: it is not ready after " +
                         std::to_string(set_up_deadline / std::chrono::seconds(1)) + " s",
                     0, "the host is too busy, or a process of this server does not answer"};
    self->may_launch_again(late) ? self->launch_again() : self->finish(std::move(late));
  });
}

void Run::watch_control() {
  control_.async_wait(Descriptor::wait_read, [self = shared_from_this()](error_code error) {
    if (!error && !self->ending_ && !self->over_) self->on_control();
  });
}

void Run::on_control() {
  const jail::Phase before = jail_->phase();
  const auto phase = jail_->advance();
  if (!phase) {
    may_launch_again(phase.error()) ? launch_again() : finish(phase.error());
  } else if (*phase == jail::Phase::ended) {
    may_launch_again({}) ? launch_again() : on_end();
  } else {
    watch_control();
    if (before != jail::Phase::ready && *phase == jail::Phase::ready) begin();
  }
}

// A launcher or a zygote was killed or hangs with this jail in its hands, or the jail was killed
// while it waited; nothing of the program has run.
bool Run::may_launch_again(const jail::Error& error) const {
  const bool not_its_own = pooled_ || error.kind == jail::ErrorKind::closed;
  return not_its_own && !launched_again_ && started_at_ == Clock::time_point{};
}

void Run::launch_again() {
  launched_again_ = true;
  drop_jail();
  launch(Way::cold, std::exchange(maker_, nullptr));
}

jail::RunLimits Run::limits_of_request() const {
  return {.wall = request_.timeout,
          .cpu = request_.timeout * cpu_percent_ / 100,
          .memory_bytes = std::uint64_t{request_.memory_limit_mb} << 20};
}

void Run::begin() {
  jail::Result<void> done;
  for (const InputFile& file : request_.files) {
    if (done) done = jail_->write_file(file.path, file.content);
  }
  const std::string_view own = file_name_of(request_.language, request_.code);
  if (done) done = jail_->write_file(own, request_.code);
  if (done) io_->offer_input(jail_->take_stdin());
  // A jail that was made for this program has its limits already.
  if (done) done = jail_->start(pooled_ ? std::optional(limits_of_request()) : std::nullopt);
  if (!done) {
    may_launch_again(done.error()) ? launch_again() : finish(done.error());
    return;
  }
  request_.files.clear();
  started_at_ = Clock::now();
  maker_.reset();
  if (options_.on_start) options_.on_start();
  end_at(request_.timeout + grace, jail::Ended::timed_out);
  io_->start(jail_->take_stdout(), jail_->take_stderr());
}

void Run::end_at(milliseconds from_now, jail::Ended why) {
  timer_.expires_after(from_now);
  timer_.async_wait([self = shared_from_this(), why](error_code error) {
    if (error || self->ending_ || self->over_) return;
    self->jail_->kill(why);
    self->on_end();
  });
}

void Run::cancel() {
  if (ending_ || over_) return;
  if (jail_ == nullptr) {
    admission_->withdraw(ticket_);
    lease_.reset();
    RunResult result;
    result.status = Status::cancelled;
    result.outcome = cancelled_outcome();
    result.timings.queued = duration_cast<microseconds>(Clock::now() - asked_at_);
    finish(std::move(result));
    return;
  }
  if (jail_->phase() == jail::Phase::running) {
    jail_->cancel();
    end_at(grace, jail::Ended::cancelled);
  } else {
    jail_->kill(jail::Ended::cancelled);
    on_end();
  }
}

void Run::on_end() {
  ending_ = true;
  // Every process of the jail is dead: what its pipes hold is all there will be.
  io_->drain();
  const bool wanted = !request_.artifacts.empty() && started_at_ != Clock::time_point{} &&
                      jail_->report().ended != jail::Ended::cancelled;
  wanted ? collect_when_dead() : complete({});
}

// Init reports when its last process is reaped. Where init itself was killed the others may take a
// moment longer, and could exchange a file while it is looked at.
void Run::collect_when_dead() {
  control_.cancel();
  process_.assign(jail_->process_fd());
  timer_.expires_after(grace);
  timer_.async_wait([self = shared_from_this()](error_code error) {
    if (error || self->over_ || self->collecting_) return;
    self->finish(jail::Error{
        jail::ErrorKind::kernel, "collect artifacts: the jail's processes do not end", 0, {}});
  });
  process_.async_wait(Descriptor::wait_read, [self = shared_from_this()](error_code error) {
    if (!error && !self->over_) self->collect();
  });
}

// The guest chose how much there is to look at, which is a second's work at the worst: other runs
// of this executor do not wait for that. Nothing else touches the run meanwhile.
void Run::collect() {
  collecting_ = true;
  asio::post(collectors_, [self = shared_from_this()]() mutable {
    // The caller has the program already.
    const std::string own(file_name_of(self->request_.language, self->request_.code));
    const int directory = self->jail_->working_directory_fd();
    ::unlinkat(directory, own.c_str(), 0);
    auto found = jail::collect(directory, self->request_.artifacts, {});
    // It is let go where it lives.
    const asio::any_io_executor home = self->executor_;
    asio::post(home, [self = std::move(self), found = std::move(found)]() mutable {
      self->complete(std::move(found));
    });
  });
}

void Run::complete(jail::Collection artifacts) {
  RunResult result = result_of(jail_->report());
  result.artifacts = std::move(artifacts);
  finish(std::move(result));
}

RunResult Run::result_of(const jail::ExitReport& report) {
  RunResult result;
  result.status = status_of(report);
  result.outcome = outcome_of(request_, report, request_.timeout * cpu_percent_ / 100, ceilings_);
  if (report.ended == jail::Ended::exited) result.exit_code = report.exit_code;
  // The SIGKILL by which a deadline or a memory limit was enforced is ours, not the program's fate.
  if (result.status == Status::killed || result.status == Status::violation) {
    result.signal = signal_name(report.signal);
  }
  ProcessIo::Kept out = io_->take_kept(Stream::standard_output);
  ProcessIo::Kept err = io_->take_kept(Stream::standard_error);
  result.standard_output = std::move(out.bytes);
  result.standard_error = std::move(err.bytes);
  result.stdout_truncated = out.truncated;
  result.stderr_truncated = err.truncated;
  result.timings.queued = duration_cast<microseconds>(placed_at_ - asked_at_);
  if (started_at_ != Clock::time_point{}) {
    result.timings.started =
        duration_cast<microseconds>(started_at_ - placed_at_) + report.phases.started;
  }
  result.timings.ran = report.phases.ran;
  result.warm = warm_;
  result.template_name = template_name_;
  result.usage = report.usage;
  result.enforcement = report.enforcement;
  return result;
}

void Run::drop_jail() {
  for (Descriptor* lent : {&control_, &process_}) {
    if (lent->is_open()) lent->release();  // the Jail's own
  }
  jail_.reset();
}

void Run::finish(jail::Result<RunResult> result) {
  over_ = true;
  lease_.reset();
  on_cancel_.reset();
  timer_.cancel();
  io_->stop();
  drop_jail();
  place_ = Admission::Place();
  if (!starting_) return tell(std::move(result));
  const auto held = std::make_shared<jail::Result<RunResult>>(std::move(result));
  asio::post(executor_, [self = shared_from_this(), held] { self->tell(std::move(*held)); });
}

void Run::tell(jail::Result<RunResult> result) {
  if (const Finished finished = std::exchange(finished_, nullptr)) finished(std::move(result));
}

}  // namespace runtime
