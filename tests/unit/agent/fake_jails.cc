#include "tests/unit/agent/fake_jails.h"

#include <signal.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>

namespace runtime::agent {
namespace {

jail::Ended ended(Status status) {
  switch (status) {
    case Status::timeout:
      return jail::Ended::timed_out;
    case Status::out_of_memory:
      return jail::Ended::out_of_memory;
    case Status::killed:
      return jail::Ended::signaled;
    case Status::violation:
      return jail::Ended::violation;
    case Status::cancelled:
      return jail::Ended::cancelled;
    default:
      return jail::Ended::exited;
  }
}

// Returns the outcome that a real jail with this result would have reported.
Outcome outcome_of_fake(const RunRequest& request, const RunResult& result) {
  jail::ExitReport report;
  report.ended = ended(result.status);
  report.exit_code = result.exit_code.value_or(result.status == Status::success ? 0 : 1);
  report.signal = SIGSEGV;  // is read only where the program was killed
  return outcome_of(request, report, request.timeout, {});
}

}  // namespace

boost::asio::awaitable<FakeJails::Answer> FakeJails::run(RunRequest request, RunOptions options) {
  requests.push_back(request);
  max_at_once = std::max(max_at_once, ++at_once_);
  const boost::asio::any_io_executor executor = co_await boost::asio::this_coro::executor;
  co_await boost::asio::post(executor, boost::asio::use_awaitable);
  Answer answer = program(request);
  const bool hangs = hang;  // `program` may have set it
  boost::asio::steady_timer timer(executor);
  while (hang && !options.cancel.requested()) {
    timer.expires_after(std::chrono::milliseconds(2));
    co_await timer.async_wait(boost::asio::use_awaitable);
  }
  --at_once_;
  if (hangs) {
    RunResult killed;
    killed.status = Status::cancelled;
    ++cancelled;
    co_return killed;
  }
  if (answer && options.on_output) {
    options.on_output(Stream::standard_output, answer->standard_output);
    options.on_output(Stream::standard_error, answer->standard_error);
  }
  if (answer) answer->outcome = outcome_of_fake(request, *answer);
  co_return answer;
}

}  // namespace runtime::agent
