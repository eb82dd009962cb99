#include "runtime/sandbox/process_io.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <boost/asio/post.hpp>
#include <utility>

namespace runtime {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr std::size_t chunk_bytes = 64u << 10;
// Output that is already there is read in portions, so that a flood of it does not keep a worker
// from the other runs.
constexpr int chunks_a_turn = 16;

}  // namespace

ProcessIo::ProcessIo(const asio::any_io_executor& executor, Options options)
    : executor_(executor),
      options_(std::move(options)),
      out_(executor_, Stream::standard_output),
      err_(executor_, Stream::standard_error),
      input_(executor_),
      input_waiter_(executor_) {}

void ProcessIo::offer_input(jail::Fd pipe) {
  if (input_.is_open()) input_.close();
  if (options_.input.empty() && options_.input_fd < 0) return;
  pending_input_ = options_.input;
  input_.assign(pipe.release());
  write_input();
}

void ProcessIo::Output::close() {
  unwatched.reset();
  error_code ignored;
  descriptor.close(ignored);
}

void ProcessIo::start(jail::Fd standard_output, jail::Fd standard_error) {
  start_unwatched(std::move(standard_output), std::move(standard_error));
  watch_outputs();
}

void ProcessIo::start_unwatched(jail::Fd standard_output, jail::Fd standard_error) {
  out_.unwatched = std::move(standard_output);
  err_.unwatched = std::move(standard_error);
  if (!input_.is_open()) return;
  watch_input_source();
  feed_input();
}

void ProcessIo::watch_outputs() {
  for (Output* output : {&out_, &err_}) {
    if (!output->unwatched.valid()) continue;
    output->descriptor.assign(output->unwatched.release());
    watch_output(*output);
  }
}

void ProcessIo::drain() {
  draining_ = true;
  for (Output* output : {&out_, &err_}) read_output(*output);
}

void ProcessIo::fall_silent() {
  stopped_ = true;
  on_gate_open_.reset();
}

void ProcessIo::stop() {
  fall_silent();
  for (Output* output : {&out_, &err_}) output->close();
  error_code ignored;
  for (Descriptor* descriptor : {&input_, &input_waiter_}) descriptor->close(ignored);
}

ProcessIo::Kept ProcessIo::take_kept(Stream stream) {
  return std::move((stream == Stream::standard_output ? out_ : err_).kept);
}

// Registers the listener before it trusts that the gate is closed, since it may open at any time.
bool ProcessIo::is_gate_closed() {
  if (options_.gate.is_open()) return false;
  if (!on_gate_open_) {
    on_gate_open_.emplace(options_.gate, [weak = weak_from_this()] {
      auto self = weak.lock();
      if (self == nullptr) return;
      // The object is released on its own executor.
      const asio::any_io_executor home = self->executor_;
      asio::post(home, [self = std::move(self)] { self->resume_outputs(); });
    });
  }
  return !options_.gate.is_open();
}

void ProcessIo::watch_output(Output& output) {
  output.paused = is_gate_closed();
  if (output.paused) return;
  output.descriptor.async_wait(Descriptor::wait_read,
                               [self = shared_from_this(), &output](error_code error) {
                                 if (error || self->stopped_) return;
                                 self->read_output(output);
                                 if (output.descriptor.is_open()) self->watch_output(output);
                               });
}

void ProcessIo::resume_outputs() {
  if (stopped_) return;
  for (Output* output : {&out_, &err_}) {
    if (output->paused && output->descriptor.is_open()) watch_output(*output);
  }
}

void ProcessIo::keep(Output& output, std::string_view bytes) const {
  if (!options_.output_cap) return;
  const std::size_t room = *options_.output_cap - output.kept.bytes.size();
  output.kept.bytes.append(bytes.substr(0, room));
  if (bytes.size() > room) output.kept.truncated = true;
}

// Reads what is there; closes the descriptor at its end.
void ProcessIo::read_output(Output& output) {
  std::array<char, chunk_bytes> buffer;
  for (int turn = 0; turn < chunks_a_turn && output.is_open(); ++turn) {
    if (!draining_ && !options_.gate.is_open()) return;
    const ssize_t got = ::read(output.fd(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (got <= 0) {
      output.close();
      return;
    }
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
    if (options_.on_output) options_.on_output(output.stream, bytes);
    keep(output, bytes);
    // The pipe is empty; its waiter is woken when there is more.
    if (!draining_ && bytes.size() < buffer.size()) return;
  }
}

// Asio would make the descriptor itself non-blocking, and with it the terminal or file of the
// process that passed it on. An epoll instance that watches it can be waited for instead.
void ProcessIo::watch_input_source() {
  if (options_.input_fd < 0) return;
  input_source_open_ = true;
  jail::Fd waiter(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event readable{};
  readable.events = EPOLLIN;
  // EPERM: it is a regular file or a device like /dev/null, whose reading does not block.
  if (waiter.valid() &&
      ::epoll_ctl(waiter.get(), EPOLL_CTL_ADD, options_.input_fd, &readable) == 0) {
    input_waiter_.assign(waiter.release());
  }
}

// Writes pending input; returns false when the pipe is full. A program that closed its end takes no
// more.
bool ProcessIo::write_input() {
  while (!pending_input_.empty()) {
    const ssize_t put =
        ::write(input_.native_handle(), pending_input_.data(), pending_input_.size());
    if (put >= 0) {
      pending_input_.remove_prefix(static_cast<std::size_t>(put));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return false;
    } else if (errno != EINTR) {
      input_.close();  // a program may close its input
      return true;
    }
  }
  return true;
}

void ProcessIo::feed_input() {
  if (write_input()) {
    if (input_.is_open()) refill_input();
    return;
  }
  input_.async_wait(Descriptor::wait_write, [self = shared_from_this()](error_code error) {
    if (!error && !self->stopped_) self->feed_input();
  });
}

void ProcessIo::refill_input() {
  if (!input_source_open_) {
    input_.close();
  } else if (input_waiter_.is_open()) {
    input_waiter_.async_wait(Descriptor::wait_read, [self = shared_from_this()](error_code error) {
      if (!error && !self->stopped_) self->read_input_source();
    });
  } else {
    asio::post(executor_, [self = shared_from_this()] {
      if (!self->stopped_) self->read_input_source();
    });
  }
}

void ProcessIo::read_input_source() {
  from_source_.resize(chunk_bytes);
  const ssize_t got = ::read(options_.input_fd, from_source_.data(), from_source_.size());
  if (got > 0) {
    from_source_.resize(static_cast<std::size_t>(got));
    if (options_.edit_input) options_.edit_input(from_source_);
    pending_input_ = from_source_;
  } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
    input_source_open_ = false;
  }
  feed_input();
}

}  // namespace runtime
