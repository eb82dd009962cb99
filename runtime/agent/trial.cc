#include "runtime/agent/trial.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/sandbox/jail_handle.h"

extern "C" const char runtime_test_driver[];

namespace runtime::agent {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;

// The waits for a place in a full queue go on as long as the task has time, since the program has
// cost more than the wait. Each is twice as long as the one before.
constexpr milliseconds shortest_wait{100};
constexpr milliseconds longest_wait{2000};

std::string random_token() {
  std::array<unsigned char, 16> bytes{};
  while (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
  }
  std::string token;
  for (const unsigned char byte : bytes) {
    token += static_cast<char>('a' + (byte >> 4));
    token += static_cast<char>('a' + (byte & 15));
  }
  return token;
}

RunRequest request_for(const TaskRequest& task, const std::string& code, const std::string& tests,
                       const std::string& token) {
  RunRequest request;
  request.files = task.files;
  request.timeout = task.timeout;
  request.memory_limit_mb = task.memory_limit_mb;
  if (tests.empty()) {
    request.code = code;
    return request;
  }
  request.code = runtime_test_driver;
  request.imports_from = code;
  request.standard_input = token + ' ' + std::to_string(code.size()) + ' ' +
                           std::to_string(tests.size()) + '\n' + code + tests;
  return request;
}

Stop stopped_by(const jail::Error& error) {
  Stop stop;
  stop.error = "the program could not be started on this host";
  stop.host_error = error.message();
  return stop;
}

// The outcome where the task ended while it waited for a place, or for a host with room.
Stop given_up(Stop stop, const jail::Error& full) {
  if (stop.status == TaskStatus::cancelled) return stop;
  stop.error += is_shortage(full) ? "; this host has no room for another program"
                                  : "; too many programs run or wait on this host";
  stop.host_error = full.message();
  return stop;
}

// Removes the driver's last line, and whatever follows it, from the program's output.
Part take_part(RunResult& result, const std::string& token) {
  const std::size_t line = result.standard_error.rfind(token);
  if (line == std::string::npos) return Part::program;
  const std::string_view rest = std::string_view(result.standard_error).substr(line + token.size());
  const Part part = rest.starts_with(" tests") ? Part::tests : Part::program;
  result.standard_error.resize(line);
  return part;
}

}  // namespace

asio::awaitable<Tried> try_program(const TaskScope& scope, Runner& runner, std::string code,
                                   std::string tests, Output output, Artifacts artifacts) {
  const std::string token = random_token();
  EventFeed::Output live(scope.events());
  for (milliseconds wait = shortest_wait;; wait = std::min(2 * wait, longest_wait)) {
    if (auto stop = scope.ended()) co_return std::move(*stop);
    RunOptions options;
    options.cancel = scope.cancel();
    options.caller = scope.options().caller;
    options.gate = scope.options().gate;
    if (output == Output::shown && scope.events().watched()) {
      // The driver's last line does not belong to the program's output; it comes in one piece.
      options.on_output = [&live, &token](Stream stream, std::string_view bytes) {
        live.add(stream, bytes.substr(0, bytes.find(token)));
      };
    }
    RunRequest request = request_for(scope.request(), code, tests, token);
    if (artifacts == Artifacts::taken) request.artifacts = scope.request().artifacts;
    auto result = co_await runner.run(std::move(request), std::move(options));
    live.finish();
    if (result) {
      TrialResult trial;
      trial.result = std::move(*result);
      if (!tests.empty()) trial.failed_in = take_part(trial.result, token);
      co_return std::move(trial);
    }
    if (auto stop = scope.ended()) co_return std::move(*stop);
    const bool is_busy = result.error().kind == jail::ErrorKind::exhausted ||
                         result.error().kind == jail::ErrorKind::timed_out;
    if (!is_busy) co_return stopped_by(result.error());
    co_await scope.wait(wait);
    if (auto stop = scope.ended()) co_return given_up(std::move(*stop), result.error());
  }
}

}  // namespace runtime::agent
