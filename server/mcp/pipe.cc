#include "server/mcp/pipe.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <cerrno>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <system_error>
#include <utility>

#include "jail/fd.h"
#include "runtime/observe/uuid.h"

namespace server {
namespace {

namespace asio = boost::asio;

// A pipe or socket that poll(2) reports as writable takes this much at once (PIPE_BUF), so no write
// waits.
constexpr std::size_t piece_bytes = 4096;
constexpr std::size_t read_bytes = 64u << 10;

void log_failure(runtime::Logger& logger, const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& failure) {
    logger.error("message failed", {{"error", failure.what()}});
  } catch (...) {
    logger.error("message failed");
  }
}

}  // namespace

// The state that the thread of run() shares with the coroutines that answer messages.
struct McpPipe::State {
  State() : wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!wake.valid()) throw std::system_error(errno, std::generic_category(), "eventfd");
  }

  void ring() const { ::eventfd_write(wake.get(), 1); }
  void quiet() const {
    eventfd_t rung = 0;
    ::eventfd_read(wake.get(), &rung);
  }

  bool is_stopping() {
    const std::lock_guard hold(mutex);
    return stopping;
  }

  std::size_t in_progress() {
    const std::lock_guard hold(mutex);
    return running.size();
  }

  void finish(std::uint64_t number, std::string answer) {
    {
      const std::lock_guard hold(mutex);
      const auto found = running.find(number);
      // A cancelled request gets no answer.
      const bool is_wanted = !answer.empty() && !found->second.cancel.requested();
      running.erase(found);
      if (is_wanted) answers.push_back(std::move(answer) + '\n');
    }
    ring();
  }

  struct Running {
    std::string id;  // as JSON; empty: a notification
    runtime::Cancel cancel;
  };

  const jail::Fd wake;
  std::mutex mutex;
  std::map<std::uint64_t, Running> running;
  std::deque<std::string> answers;
  bool stopping = false;
};

McpPipe::McpPipe(const Mcp& mcp, std::vector<asio::any_io_executor> executors, int in, int out,
                 runtime::Logger& logger)
    : mcp_(mcp),
      executors_(std::move(executors)),
      in_(in),
      out_(out),
      logger_(logger),
      state_(std::make_shared<State>()) {}

McpPipe::~McpPipe() = default;

void McpPipe::stop() {
  std::vector<runtime::Cancel> cancels;
  {
    const std::lock_guard hold(state_->mutex);
    state_->stopping = true;
    for (const auto& [number, each] : state_->running) cancels.push_back(each.cancel);
  }
  for (const auto& cancel : cancels) cancel.request();
  state_->ring();
}

void McpPipe::run() {
  for (;;) {
    state_->quiet();
    write_answers();
    const std::size_t in_progress = state_->in_progress();
    const bool is_over = input_ended_ || state_->is_stopping();
    if (is_over && in_progress == 0) break;
    const bool takes_more = !is_over && in_progress < max_at_once;
    // poll() ignores a descriptor below 0. The output is polled only for being closed.
    pollfd polled[] = {{.fd = takes_more ? in_ : -1, .events = POLLIN, .revents = 0},
                       {.fd = state_->wake.get(), .events = POLLIN, .revents = 0},
                       {.fd = state_->is_stopping() ? -1 : out_, .events = 0, .revents = 0}};
    if (::poll(polled, std::size(polled), -1) < 0) continue;
    if (polled[0].revents != 0) take_input();
    if (polled[2].revents != 0) stop();
  }
  write_answers();
}

void McpPipe::take_input() {
  std::string bytes(read_bytes, '\0');
  const ssize_t count = ::read(in_, bytes.data(), bytes.size());
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) {
    input_ended_ = true;
    // The last line need not have a line end.
    if (!is_skipping_) take_line(std::exchange(line_, {}));
    return;
  }
  bytes.resize(static_cast<std::size_t>(count));
  std::size_t from = 0;
  for (;;) {
    const std::size_t end = bytes.find('\n', from);
    const std::size_t length = std::min(end, bytes.size()) - from;
    if (!is_skipping_ && line_.size() + length > max_line_bytes) {
      is_skipping_ = true;
      std::string().swap(line_);
      {
        const std::lock_guard hold(state_->mutex);
        state_->answers.push_back(
            mcp_refusal("a line is at most " + std::to_string(max_line_bytes) + " bytes") + '\n');
      }
      state_->ring();
    }
    if (!is_skipping_) line_.append(bytes, from, length);
    if (end == bytes.npos) return;
    if (!std::exchange(is_skipping_, false)) take_line(std::exchange(line_, {}));
    from = end + 1;
  }
}

void McpPipe::take_line(std::string line) {
  if (line.find_first_not_of(" \t\r") == line.npos) return;
  McpEnvelope envelope = read_envelope(line);
  if (envelope.cancels.empty()) {
    begin(std::move(envelope.id), std::move(line));
    return;
  }
  std::vector<runtime::Cancel> cancels;
  {
    const std::lock_guard hold(state_->mutex);
    for (const auto& [number, each] : state_->running) {
      if (each.id == envelope.cancels) cancels.push_back(each.cancel);
    }
  }
  for (const auto& cancel : cancels) cancel.request();
}

void McpPipe::begin(std::string id, std::string message) {
  const std::uint64_t number = begun_++;
  const runtime::Cancel cancel;
  {
    const std::lock_guard hold(state_->mutex);
    state_->running.emplace(number, State::Running{id, cancel});
  }
  runtime::Caller caller{.principal = {}, .request_id = runtime::make_uuid()};
  asio::co_spawn(executors_[number % executors_.size()],
                 mcp_.answer(std::move(caller), std::move(message), {}, cancel),
                 [state = state_, number, id = std::move(id), &logger = logger_](
                     const std::exception_ptr& error, McpAnswer answer) {
                   if (error) {
                     log_failure(logger, error);
                     if (!id.empty()) answer.body = mcp_failure(id);
                   }
                   state->finish(number, std::move(answer.body));
                 });
}

void McpPipe::write_answers() {
  for (;;) {
    std::string answer;
    {
      const std::lock_guard hold(state_->mutex);
      if (state_->answers.empty()) return;
      answer = std::move(state_->answers.front());
      state_->answers.pop_front();
    }
    if (!write_whole(answer)) {
      stop();
      return;
    }
  }
}

// Returns false where nobody reads, or it was stopped while nobody read.
bool McpPipe::write_whole(std::string_view bytes) {
  while (!bytes.empty()) {
    pollfd polled[] = {{.fd = out_, .events = POLLOUT, .revents = 0},
                       {.fd = state_->wake.get(), .events = POLLIN, .revents = 0}};
    const bool is_stopping = state_->is_stopping();
    if (::poll(polled, std::size(polled), is_stopping ? 0 : -1) < 0) continue;
    if (polled[0].revents == 0) {
      if (is_stopping) return false;
      state_->quiet();
      continue;
    }
    const ssize_t count = ::write(out_, bytes.data(), std::min(bytes.size(), piece_bytes));
    if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
    if (count < 0 && errno != EAGAIN && errno != EINTR) return false;
  }
  return true;
}

}  // namespace server
