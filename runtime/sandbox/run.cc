#include "runtime/sandbox/run.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <array>
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
constexpr std::size_t chunk_bytes = 64u << 10;
// Output that is already there is read in portions, so that one flood does not keep a worker from
// the other runs.
constexpr int chunks_a_turn = 16;

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

jail::Error queue_is_full() {
  return {jail::ErrorKind::exhausted, "run a program: the queue is full", 0, {}};
}

}  // namespace

Run::Run(asio::any_io_executor executor, asio::any_io_executor collectors,
         const RunnerOptions& runner, std::shared_ptr<Admission> admission, Launch launch,
         RunRequest request, RunOptions options, Finished finished)
    : executor_(one_after_the_other(std::move(executor))),
      collectors_(std::move(collectors)),
      output_cap_(runner.output_cap_bytes),
      cpu_percent_(runner.cpu_percent),
      ceilings_{.timeout = runner.most_timeout, .memory_limit_mb = runner.most_memory_mb},
      admission_(std::move(admission)),
      launch_(std::move(launch)),
      request_(std::move(request)),
      options_(std::move(options)),
      finished_(std::move(finished)),
      control_(executor_),
      input_(executor_),
      input_waiter_(executor_),
      out_(executor_),
      err_(executor_),
      process_(executor_),
      timer_(executor_) {
  out_.stream = Stream::standard_output;
  err_.stream = Stream::standard_error;
}

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
    if (error || self->jail_.has_value() || self->over_) return;
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
  launcher_ = std::move(leased->launcher);
  jail_.emplace(std::move(leased->jail));
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
  if (input_.is_open()) input_.close();
  input_written_ = 0;
  drop_jail();
  launch(Way::cold, std::exchange(launcher_, nullptr));
}

jail::RunLimits Run::limits_of_request() const {
  return {.wall = request_.timeout,
          .cpu = request_.timeout * cpu_percent_ / 100,
          .memory_bytes = std::uint64_t{request_.memory_limit_mb} << 20};
}

void Run::begin() {
  jail::Result<void> done;
  for (const InputFile& file : request_.files) {
    if (done) done = jail_->write_file(file.path, file.content, 0644);
  }
  const std::string_view own = file_name_of(request_.language, request_.code);
  if (done) done = jail_->write_file(own, request_.code, 0644);
  if (done) prepare_input();
  // A jail that was made for this program has its limits already.
  if (done) done = pooled_ ? jail_->start(limits_of_request()) : jail_->start();
  if (!done) {
    may_launch_again(done.error()) ? launch_again() : finish(done.error());
    return;
  }
  request_.files.clear();
  started_at_ = Clock::now();
  launcher_.reset();
  if (options_.on_start) options_.on_start();
  on_gate_open_.emplace(options_.gate, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    asio::post(self->executor_, [self] {
      if (!self->over_) self->resume_output();
    });
  });
  end_at(request_.timeout + grace, jail::Ended::timed_out);
  out_.descriptor.assign(jail_->take_stdout().release());
  err_.descriptor.assign(jail_->take_stderr().release());
  watch_output(out_);
  watch_output(err_);
  if (!input_.is_open()) return;
  watch_input_source();
  feed_input();
}

// What a program looks for first is there before it starts: as much of its input as the pipe holds,
// or the end of it.
void Run::prepare_input() {
  jail::Fd input = jail_->take_stdin();
  if (request_.standard_input.empty() && options_.standard_input_fd < 0) return;
  pending_input_ = request_.standard_input;
  input_.assign(input.release());
  write_input();
}

void Run::watch_output(Output& output) {
  output.paused = !options_.gate.is_open();
  if (output.paused) return;
  output.descriptor.async_wait(Descriptor::wait_read,
                               [self = shared_from_this(), &output](error_code error) {
                                 if (error || self->over_) return;
                                 self->read_output(output);
                                 if (output.descriptor.is_open()) self->watch_output(output);
                               });
}

void Run::resume_output() {
  for (Output* output : {&out_, &err_}) {
    if (output->paused && output->descriptor.is_open()) watch_output(*output);
  }
}

void Run::keep(Output& output, std::string_view bytes) const {
  const std::size_t room = output_cap_ - output.kept.size();
  output.kept.append(bytes.substr(0, room));
  if (bytes.size() > room) output.truncated = true;
}

// Reads what is there; closes the descriptor at its end.
void Run::read_output(Output& output) {
  std::array<char, chunk_bytes> buffer;
  for (int turn = 0; turn < chunks_a_turn && output.descriptor.is_open(); ++turn) {
    if (!ending_ && !options_.gate.is_open()) return;
    const ssize_t got = ::read(output.descriptor.native_handle(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (got <= 0) {
      output.descriptor.close();
      return;
    }
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
    if (options_.on_output) options_.on_output(output.stream, bytes);
    if (options_.collect_output) keep(output, bytes);
    // The pipe is empty, and who waits for it hears of more.
    if (!ending_ && bytes.size() < buffer.size()) return;
  }
}

// Asio would make the descriptor itself non-blocking, and with it the terminal or file of whoever
// handed it to the owner. An epoll instance that watches it can be waited for instead.
void Run::watch_input_source() {
  if (options_.standard_input_fd < 0) return;
  input_source_open_ = true;
  jail::Fd waiter(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event readable{};
  readable.events = EPOLLIN;
  // EPERM: a regular file or a device like /dev/null, whose reading does not block.
  if (waiter.valid() &&
      ::epoll_ctl(waiter.get(), EPOLL_CTL_ADD, options_.standard_input_fd, &readable) == 0) {
    input_waiter_.assign(waiter.release());
  }
}

// Writes what is pending until the pipe is full: false. A guest that closed its end takes no more.
bool Run::write_input() {
  while (input_written_ < pending_input_.size()) {
    const ssize_t put = ::write(input_.native_handle(), pending_input_.data() + input_written_,
                                pending_input_.size() - input_written_);
    if (put >= 0) {
      input_written_ += static_cast<std::size_t>(put);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return false;
    } else if (errno != EINTR) {
      input_.close();  // that is its right
      return true;
    }
  }
  return true;
}

void Run::feed_input() {
  if (write_input()) {
    if (input_.is_open()) refill_input();
    return;
  }
  input_.async_wait(Descriptor::wait_write, [self = shared_from_this()](error_code error) {
    if (!error && !self->over_) self->feed_input();
  });
}

void Run::refill_input() {
  pending_input_.clear();
  input_written_ = 0;
  if (!input_source_open_) {
    input_.close();
  } else if (input_waiter_.is_open()) {
    input_waiter_.async_wait(Descriptor::wait_read, [self = shared_from_this()](error_code error) {
      if (!error && !self->over_) self->read_input_source();
    });
  } else {
    asio::post(executor_, [self = shared_from_this()] {
      if (!self->over_) self->read_input_source();
    });
  }
}

void Run::read_input_source() {
  std::array<char, chunk_bytes> buffer;
  const ssize_t got = ::read(options_.standard_input_fd, buffer.data(), buffer.size());
  if (got > 0) {
    pending_input_.assign(buffer.data(), static_cast<std::size_t>(got));
  } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
    input_source_open_ = false;
  }
  feed_input();
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
  if (!jail_.has_value()) {
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
  // A pipe holds at most 1 MiB, which is what one turn reads.
  for (Output* output : {&out_, &err_}) read_output(*output);
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
  result.standard_output = std::move(out_.kept);
  result.standard_error = std::move(err_.kept);
  result.stdout_truncated = out_.truncated;
  result.stderr_truncated = err_.truncated;
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
  on_gate_open_.reset();
  timer_.cancel();
  error_code ignored;
  input_.close(ignored);
  input_waiter_.close(ignored);
  out_.descriptor.close(ignored);
  err_.descriptor.close(ignored);
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
