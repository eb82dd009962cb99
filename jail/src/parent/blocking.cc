// wait() and communicate() of Jail and Process: poll loops over one of them, for owners who have
// none.
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <string>
#include <string_view>

#include "jail/jail.h"
#include "parent/jail_state.h"
#include "parent/messages.h"
#include "parent/order.h"
#include "parent/process_state.h"

namespace jail {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using Deadline = steady_clock::time_point;

// Init ends the guest at its limit and reports it; one that does not is not waited for.
constexpr milliseconds patience_with_init{10'000};
// The time in which the last process of a killed guest lets go of the streams.
constexpr milliseconds patience_with_kernel{10'000};

// poll() counts milliseconds in an int: 24 days.
constexpr milliseconds longest_poll{std::numeric_limits<int>::max()};

// At least 0, for poll().
int left_until(Deadline deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
  return static_cast<int>(std::clamp(left, milliseconds(0), longest_poll).count());
}

// While it lives, writing to a pipe that nobody reads is an error in this thread and no signal. One
// that was pending before stays so.
class BrokenPipeIsAnError {
 public:
  BrokenPipeIsAnError() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    ::sigpending(&pending);
    was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  BrokenPipeIsAnError(const BrokenPipeIsAnError&) = delete;
  ~BrokenPipeIsAnError() {
    const timespec at_once{};
    while (!was_pending_ && ::sigtimedwait(&pipe_, nullptr, &at_once) < 0 && errno == EINTR) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t pipe_;
  sigset_t before_;
  bool was_pending_ = false;
};

// One of the guest's outputs: kept up to a bound, and read beyond it, so that the guest goes on.
class Collected {
 public:
  Collected(Fd stream, std::string& text, std::uint64_t max_bytes, std::uint64_t& lost_bytes)
      : stream_(std::move(stream)), text_(text), max_(max_bytes), lost_(lost_bytes) {}

  int fd() const { return stream_.get(); }  // -1 at its end

  void read_some() { read_up_to(room_.size()); }

  // Reads what the stream holds at this moment, and nothing that others write meanwhile.
  void read_rest() {
    int left = 0;
    if (fd() < 0 || ::ioctl(fd(), FIONREAD, &left) != 0) return;
    while (left > 0) {
      const std::size_t got =
          read_up_to(std::min<std::size_t>(room_.size(), static_cast<std::size_t>(left)));
      if (got == 0) break;
      left -= static_cast<int>(got);
    }
  }

 private:
  // Returns the number of bytes that were read.
  std::size_t read_up_to(std::size_t most) {
    const ssize_t got = ::read(stream_.get(), room_.data(), most);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    if (got <= 0) {
      stream_.reset();
      return 0;
    }
    const auto bytes = static_cast<std::size_t>(got);
    const auto kept = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, max_ - text_.size()));
    text_.append(room_.data(), kept);
    lost_ += bytes - kept;
    return bytes;
  }

  Fd stream_;
  std::string& text_;
  std::uint64_t max_;
  std::uint64_t& lost_;
  std::array<char, 8192> room_;  // small, since threads of a daemon may have small stacks
};

// Writes the rest of the guest's input.
class Fed {
 public:
  Fed(Fd stream, std::string_view text) : stream_(std::move(stream)), text_(text) {
    if (text_.empty()) stream_.reset();
  }

  int fd() const { return stream_.get(); }  // -1 when all is written, or nobody reads it

  void write_some() {
    const ssize_t put = ::write(stream_.get(), text_.data(), text_.size());
    if (put < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (put > 0) text_.remove_prefix(static_cast<std::size_t>(put));
    if (put < 0 || text_.empty()) stream_.reset();
  }

 private:
  Fd stream_;
  std::string_view text_;
};

// Waits until `of`, a Jail or a Process, has come to `phase`.
template <class Of, class PhaseOf>
Result<PhaseOf> wait_for(Of& of, PhaseOf phase, milliseconds at_most, const char* doing) {
  const Deadline deadline = steady_clock::now() + std::min(at_most, longest_poll);
  for (;;) {
    auto now = of.advance();
    if (!now || *now >= phase) return now;
    const int left = left_until(deadline);
    if (left == 0) return Error{ErrorKind::timed_out, doing, ETIMEDOUT, {}};
    pollfd watched{of.control_fd(), POLLIN, 0};
    if (::poll(&watched, 1, left) < 0 && errno != EINTR) {
      return Error{ErrorKind::kernel, doing, errno, {}};
    }
  }
}

Error cannot_communicate(const char* why) {
  return invalid(std::string("communicate with a jail: ") + why);
}

}  // namespace

Result<Phase> Jail::wait(Phase phase, milliseconds at_most) {
  return wait_for(*this, phase, at_most, "wait for a jail");
}

// Its pidfd may still be on its way: init can be quicker than the launcher.
bool Jail::State::dies_within(milliseconds at_most) {
  const Deadline deadline = steady_clock::now() + at_most;
  for (int left = left_until(deadline); left > 0; left = left_until(deadline)) {
    pollfd watched{process.valid() ? process.get() : control.get(), POLLIN, 0};
    if (::poll(&watched, 1, left) <= 0) continue;
    if (process.valid()) return true;
    Received received;
    switch (receive(control.get(), received)) {
      case Reading::got:
        if (received.message.type == wire::message_launched) process = std::move(received.fd);
        break;
      case Reading::nothing:
        break;
      case Reading::over:
      case Reading::no_room:
        return true;  // nobody is left to say more
    }
  }
  return false;
}

Result<Output> Jail::communicate(std::string_view input, std::uint64_t max_bytes) {
  State& state = *state_;
  if (state.failure) return *state.failure;
  if (state.phase < Phase::running) return cannot_communicate("it was not started");
  if (!state.streams[1].valid() || !state.streams[2].valid()) {
    return cannot_communicate("its output was taken, or it has a terminal");
  }
  if (!input.empty() && !state.streams[0].valid()) return cannot_communicate("its input was taken");
  Output output;
  Collected out(take_stdout(), output.out, max_bytes, output.out_lost_bytes);
  Collected err(take_stderr(), output.err, max_bytes, output.err_lost_bytes);
  Fed in(take_stdin(), input);
  const BrokenPipeIsAnError guard;
  Deadline deadline = steady_clock::now() + state.limits.wall + patience_with_init;
  while (state.phase != Phase::ended || out.fd() >= 0 || err.fd() >= 0) {
    const bool has_ended = state.phase == Phase::ended;
    const int left = left_until(deadline);
    if (left == 0 && has_ended) break;
    if (left == 0) kill(Ended::timed_out);
    // poll() passes over -1.
    pollfd watched[] = {{in.fd(), POLLOUT, 0},
                        {out.fd(), POLLIN, 0},
                        {err.fd(), POLLIN, 0},
                        {has_ended ? -1 : state.control.get(), POLLIN, 0}};
    if (::poll(watched, std::size(watched), left) < 0) {
      if (errno == EINTR) continue;
      return system_error("communicate with a jail");
    }
    if (watched[0].revents != 0) in.write_some();
    if (watched[1].revents != 0) out.read_some();
    if (watched[2].revents != 0) err.read_some();
    if (watched[3].revents == 0) continue;
    if (const auto now = advance(); !now) return now.error();
    if (state.phase != Phase::ended) continue;
    deadline = steady_clock::now() + patience_with_kernel;
    // Init would leave its processor to an owner that answers, and the streams end with it. To kill
    // it would let the program go on: see its supervise().
    state.hurry_init();
  }
  if (!state.dies_within(patience_with_kernel)) {
    return Error{
        ErrorKind::timed_out, "wait for the death of a jail that has ended", ETIMEDOUT, {}};
  }
  return output;
}

Result<ProcessPhase> Process::wait(ProcessPhase phase, milliseconds at_most) {
  return wait_for(*this, phase, at_most, "wait for a process");
}

Result<Output> Process::communicate(std::string_view input, std::uint64_t max_bytes) {
  State& state = *state_;
  if (!state.streams[1].valid() || !state.streams[2].valid() ||
      (!input.empty() && !state.streams[0].valid())) {
    return invalid("communicate with a process: its streams were taken, or it has a terminal");
  }
  Output output;
  Collected out(take_stdout(), output.out, max_bytes, output.out_lost_bytes);
  Collected err(take_stderr(), output.err, max_bytes, output.err_lost_bytes);
  Fed in(take_stdin(), input);
  const BrokenPipeIsAnError guard;
  const Deadline deadline = steady_clock::now() + state.wall + patience_with_init;
  for (;;) {
    auto now = advance();
    if (!now) return now.error();
    if (*now == ProcessPhase::ended) break;
    const int left = left_until(deadline);
    if (left == 0) {
      if (auto done = state.give_up(Ended::timed_out); !done) return done.error();
      continue;
    }
    pollfd watched[] = {{in.fd(), POLLOUT, 0},
                        {out.fd(), POLLIN, 0},
                        {err.fd(), POLLIN, 0},
                        {state.control.get(), POLLIN, 0}};
    if (::poll(watched, std::size(watched), left) < 0) {
      if (errno == EINTR) continue;
      return system_error("communicate with a process");
    }
    if (watched[0].revents != 0) in.write_some();
    if (watched[1].revents != 0) out.read_some();
    if (watched[2].revents != 0) err.read_some();
  }
  // The process has ended. Others may hold its streams for ever, so only what is there is read.
  out.read_rest();
  err.read_rest();
  return output;
}

}  // namespace jail
