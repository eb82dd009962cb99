#include "runtime/living/living_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "runtime/sandbox/time_source.h"

namespace runtime {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using jail::Result;

constexpr std::size_t kept_bytes = 256u << 10;
// How far a process may be ahead of the reader that it waits for. Together with a chunk of each
// output and the content of both pipes at its end, all of it fits into the log.
constexpr std::uint64_t pace_bytes = 32u << 10;
constexpr std::size_t chunk_bytes = 32u << 10;
constexpr std::size_t pipe_bytes = 64u << 10;
static_assert(pace_bytes + 2 * chunk_bytes + 2 * pipe_bytes <= kept_bytes);
// The same in pieces, whose number in a log is bounded; a chunk is a few pieces.
constexpr std::size_t pace_pieces = OutputLog::max_pieces / 2;
// The character that ends a terminal's input, as a new terminal is set.
constexpr char end_of_file = 4;

jail::Fd duplicate(int descriptor) { return jail::Fd(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0)); }

}  // namespace

LivingProcess::LivingProcess(asio::any_io_executor executor, jail::Process process,
                             ProcessCommand command, std::shared_ptr<OutputOrder> order)
    : executor_(std::move(executor)),
      command_([&command] {
        ProcessCommand kept = command;
        kept.input.clear();
        return kept;
      }()),
      first_input_(std::move(command.input)),
      process_(std::move(process)),
      log_(kept_bytes, std::move(order)),
      out_(executor_),
      err_(executor_),
      in_(executor_) {}

asio::awaitable<Result<std::shared_ptr<LivingProcess>>> LivingProcess::start(
    jail::Process process, ProcessCommand command, std::shared_ptr<OutputOrder> order,
    Cancel cancel) {
  const std::shared_ptr<LivingProcess> self(
      new LivingProcess(co_await asio::this_coro::executor, std::move(process), std::move(command),
                        std::move(order)));
  if (auto begun = co_await self->begin(std::move(cancel)); !begun) co_return begun.error();
  co_return self;
}

void LivingProcess::run(const std::shared_ptr<LivingProcess>& self, const ProcessNews& news,
                        std::function<void()> after_end) {
  if (news.on_start) news.on_start(*self);
  asio::co_spawn(self->executor_, drive(self, news, std::move(after_end)), asio::detached);
  asio::co_spawn(self->executor_, read_stream(self, self->out_, Stream::standard_output),
                 asio::detached);
  if (self->err_.is_open()) {
    asio::co_spawn(self->executor_, read_stream(self, self->err_, Stream::standard_error),
                   asio::detached);
  }
  const bool is_last = !self->command_.keep_input_open && !self->command_.terminal;
  if (!is_last && self->first_input_.empty()) return;
  asio::co_spawn(self->executor_,
                 write(self, std::exchange(self->first_input_, {}), is_last, Cancel()),
                 asio::detached);
}

asio::awaitable<Result<void>> LivingProcess::begin(Cancel cancel) {
  auto begun = co_await until(jail::ProcessPhase::running, std::move(cancel));
  if (!begun) co_return begun;
  pid_ = process_->pid();
  started_at_ = std::chrono::system_clock::now();
  co_return take_streams();
}

// Waits until the process has reached `phase` or a later one.
asio::awaitable<Result<void>> LivingProcess::until(jail::ProcessPhase phase, Cancel cancel) {
  const auto clock = system_time();
  const auto alarm = Alarm::create(executor_, *clock, std::move(cancel));
  const Alarm::Watch control(*alarm, process_->control_fd());
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      const auto now = process_->advance();
      if (!now) co_return now.error();
      if (*now >= phase) co_return Result<void>();
    }
    if (alarm->cancelled()) {
      co_return jail::Error{jail::ErrorKind::closed, "nobody waits for the process", 0, {}};
    }
    co_await alarm->wait();
  }
}

Result<void> LivingProcess::take_streams() {
  if (!command_.terminal) {
    out_.assign(process_->take_stdout().release());
    err_.assign(process_->take_stderr().release());
    in_.assign(process_->take_stdin().release());
    return {};
  }
  if (process_->terminal_fd() < 0) return {};  // it was ended before its program began
  jail::Fd shown = duplicate(process_->terminal_fd());
  jail::Fd typed = duplicate(process_->terminal_fd());
  if (!shown.valid() || !typed.valid()) {
    return jail::Error{jail::ErrorKind::exhausted, "duplicate a terminal", errno, {}};
  }
  out_.assign(shown.release());
  in_.assign(typed.release());
  return {};
}

asio::awaitable<void> LivingProcess::drive(std::shared_ptr<LivingProcess> self, ProcessNews news,
                                           std::function<void()> after_end) {
  const auto ended = co_await self->until(jail::ProcessPhase::ended, Cancel());
  self->drain(self->out_, Stream::standard_output);
  self->drain(self->err_, Stream::standard_error);
  // A descendant may hold the input open and never read, so a writer would wait until the sandbox
  // ends.
  error_code ignored;
  self->in_.close(ignored);
  {
    const std::lock_guard lock(self->mutex_);
    // The report says Ended::killed where nobody was left to report.
    if (ended) self->report_ = self->process_->report();
    const bool is_killed = self->report_.signal == SIGKILL;
    if (self->is_cancelled_ && is_killed) self->report_.ended = jail::Ended::cancelled;
  }
  if (news.before_end) co_await news.before_end();
  if (news.on_end) news.on_end(*self, self->report_);
  {
    const std::lock_guard lock(self->mutex_);
    self->process_.reset();
    self->output_end_ = self->log_.end();
    self->ended_at_ = std::chrono::system_clock::now();
    self->readers_.ring();
    self->paused_.ring();
  }
  after_end();
}

asio::awaitable<void> LivingProcess::read_stream(std::shared_ptr<LivingProcess> self,
                                                 Descriptor& from, Stream stream) {
  const auto bell = Bell::create(self->executor_);
  while (from.is_open()) {
    if (self->must_pause(bell)) {
      co_await bell->wait();
      continue;
    }
    error_code error;
    co_await from.async_wait(Descriptor::wait_read,
                             asio::redirect_error(asio::use_awaitable, error));
    if (error) break;
    self->read_some(from, stream);
  }
}

// Returns how much was read; 0: nothing is there now, or the output has ended, which closes `from`.
std::size_t LivingProcess::read_some(Descriptor& from, Stream stream) {
  std::array<char, chunk_bytes> buffer;
  const ssize_t got = ::read(from.native_handle(), buffer.data(), buffer.size());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return 0;
  if (got <= 0) {  // EIO for a terminal that nobody has open any more
    from.close();
    return 0;
  }
  const std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
  const std::lock_guard lock(mutex_);
  log_.append(stream, bytes, std::chrono::system_clock::now());
  readers_.ring();
  return bytes.size();
}

void LivingProcess::drain(Descriptor& from, Stream stream) {
  // Descendants that hold the pipe may go on writing. A terminal gives 4 KiB at a time.
  for (std::size_t read = 0; read < pipe_bytes && from.is_open();) {
    const std::size_t more = read_some(from, stream);
    if (more == 0) return;
    read += more;
  }
}

bool LivingProcess::must_pause(const std::shared_ptr<Bell>& bell) {
  const std::lock_guard lock(mutex_);
  if (!paced_) return false;
  const bool is_far_ahead =
      log_.end() >= *paced_ + pace_bytes || log_.pieces_from(*paced_) >= pace_pieces;
  if (!is_far_ahead) return false;
  paused_.add(bell);
  return true;
}

LivingProcess::State LivingProcess::state() const {
  const std::lock_guard lock(mutex_);
  State state;
  state.has_ended = has_ended();
  state.report = report_;
  state.ended_at = ended_at_;
  state.output_from = log_.begin();
  state.output_to = log_.end();
  return state;
}

LivingProcess::Output LivingProcess::output(std::uint64_t place, std::size_t max_bytes) const {
  const std::lock_guard lock(mutex_);
  return output_now(place, max_bytes);
}

LivingProcess::Output LivingProcess::output_now(std::uint64_t place, std::size_t max_bytes) const {
  Output output;
  output.part = log_.read(place, max_bytes);
  output.is_over = has_ended() && output.part.next >= output_end_;
  return output;
}

asio::awaitable<LivingProcess::Output> LivingProcess::next_output(std::uint64_t place,
                                                                  std::size_t max_bytes,
                                                                  Bell::Time deadline,
                                                                  Cancel cancel) const {
  const auto bell = Bell::create(co_await asio::this_coro::executor);
  const Cancel::Listener on_cancel(cancel, [bell] { Bell::ring(bell); });
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      Output output = output_now(place, max_bytes);
      const bool is_late = std::chrono::steady_clock::now() >= deadline;
      if (!output.part.pieces.empty() || output.is_over || is_late || cancel.requested()) {
        co_return output;
      }
      readers_.add(bell);
    }
    co_await bell->wait(deadline);
  }
}

std::optional<OutputLog::Placed> LivingProcess::next_placed(std::uint64_t place,
                                                            std::uint64_t until,
                                                            std::size_t max_bytes) const {
  const std::lock_guard lock(mutex_);
  return log_.next_placed(place, until, max_bytes);
}

OutputLog::LineEnds LivingProcess::line_ends(std::optional<Stream> stream, std::uint64_t until,
                                             std::size_t most) const {
  const std::lock_guard lock(mutex_);
  return log_.line_ends(stream, until, most);
}

OutputLog LivingProcess::latest_output(std::uint64_t place) const {
  const std::lock_guard lock(mutex_);
  return log_.latest(place);
}

asio::awaitable<void> LivingProcess::wait_for_end(Bell::Time deadline) const {
  co_await readers_.wait(mutex_, deadline, [this] { return has_ended(); });
}

LivingProcess::Pace::Pace(std::shared_ptr<LivingProcess> process) : process_(std::move(process)) {
  set(process_->state().output_from);
}

LivingProcess::Pace::~Pace() {
  const std::lock_guard lock(process_->mutex_);
  process_->paced_.reset();
  process_->paused_.ring();
}

void LivingProcess::Pace::set(std::uint64_t place) {
  const std::lock_guard lock(process_->mutex_);
  process_->paced_ = place;
  process_->paused_.ring();
}

asio::awaitable<LivingProcess::Written> LivingProcess::write_input(std::string bytes, bool close,
                                                                   Cancel cancel) {
  co_return co_await asio::co_spawn(
      executor_, write(shared_from_this(), std::move(bytes), close, std::move(cancel)),
      asio::use_awaitable);
}

asio::awaitable<LivingProcess::Written> LivingProcess::write(std::shared_ptr<LivingProcess> self,
                                                             std::string bytes, bool close,
                                                             Cancel cancel) {
  Descriptor& in = self->in_;
  if (self->is_writing_) co_return Written::busy;
  if (!in.is_open()) co_return Written::closed;
  if (close && self->command_.terminal) bytes += end_of_file;
  self->is_writing_ = true;
  const Cancel::Listener on_cancel(cancel, [self] {
    asio::post(self->executor_, [self] {
      error_code ignored;
      self->in_.cancel(ignored);
    });
  });
  std::string_view left = bytes;
  Written written = Written::whole;
  while (!left.empty() && written == Written::whole) {
    const ssize_t put = ::write(in.native_handle(), left.data(), left.size());
    if (put >= 0) {
      left.remove_prefix(static_cast<std::size_t>(put));
    } else if (errno == EAGAIN) {
      if (cancel.requested()) written = Written::cancelled;
      if (written != Written::whole) break;
      error_code error;
      co_await in.async_wait(Descriptor::wait_write,
                             asio::redirect_error(asio::use_awaitable, error));
      if (error) written = cancel.requested() ? Written::cancelled : Written::closed;
    } else if (errno != EINTR) {
      written = Written::closed;  // a process may close its input
    }
  }
  self->is_writing_ = false;
  const bool is_over = close && written == Written::whole && !self->command_.terminal;
  if (is_over || written == Written::closed) in.close();
  co_return written;
}

Result<void> LivingProcess::signal(int number) {
  const std::lock_guard lock(mutex_);
  return process_ ? process_->signal(number) : Result<void>();
}

Result<void> LivingProcess::signal_group(int number) {
  const std::lock_guard lock(mutex_);
  return process_ ? process_->signal_group(number) : Result<void>();
}

Result<void> LivingProcess::resize(jail::TerminalSize size) {
  const std::lock_guard lock(mutex_);
  return process_ ? process_->resize(size) : Result<void>();
}

void LivingProcess::close_output() {
  asio::post(executor_, [self = shared_from_this()] {
    error_code ignored;
    self->out_.close(ignored);
    self->err_.close(ignored);
    const std::lock_guard lock(self->mutex_);
    self->paused_.ring();
  });
}

void LivingProcess::cancel() {
  {
    const std::lock_guard lock(mutex_);
    is_cancelled_ = true;
  }
  kill();
}

bool LivingProcess::is_cancelled() const {
  const std::lock_guard lock(mutex_);
  return is_cancelled_;
}

void LivingProcess::kill() {
  const std::lock_guard lock(mutex_);
  if (!process_) return;
  // The process may be gone by now.
  (void)process_->signal_group(SIGKILL);
  (void)process_->signal(SIGKILL);
}

}  // namespace runtime
