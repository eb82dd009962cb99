// A running server's HTTP interface, as commands ask it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "jail/result.h"
#include "runtime/llm/polled_http.h"
#include "server/cli/sandbox/server_address.h"
#include "server/cli/sandbox/signals.h"

namespace server::client {

// "/v1/sandboxes/ID", to which the rest of a path is added.
std::string sandbox_path(std::string_view id);

// What a problem says (RFC 9457): its detail, its code. Empty where there is none.
struct Problem {
  std::string detail;
  std::string code;
};
Problem problem_of(const runtime::llm::HttpReply& reply);

struct ServerRequest {
  std::string method = "GET";
  std::string path;       // with its query, encoded
  std::string body = {};  // JSON; empty: none
  std::string accept = "application/json";
};

// Errors of all calls: ErrorKind::refused with what the server says, in words of options;
// ErrorKind::closed where there is no answer, with the way out; timed_out where a signal came that
// is to end us, of which nothing needs to be said. Not thread-safe.
class ServerClient {
 public:
  // `signals` outlives it.
  ServerClient(ServerAddress address, Signals& signals);

  // The body of the answer.
  jail::Result<std::string> ask(ServerRequest request);
  jail::Result<std::string> get(std::string path);

  // The same for those who wait for several things at once, or hand bodies on in pieces.
  std::unique_ptr<runtime::llm::PolledCall> begin(ServerRequest request,
                                                  runtime::llm::PolledOptions options = {});
  // Until a call makes progress or ends, a signal comes, or one of `others` is ready.
  void wait(std::span<pollfd> others = {});
  jail::Result<std::string> finish(const runtime::llm::PolledCall& call);
  // Begins a connection to the server, over which the caller speaks WebSocket.
  std::unique_ptr<runtime::llm::PolledStream> connect();
  // The answer to a call that has ended.
  jail::Result<std::string> answer_of(const runtime::llm::PolledCall& call) const;

  Signals& signals() const noexcept { return signals_; }
  const ServerAddress& address() const noexcept { return address_; }

  // What a server's no says, and what is wrong where there is no answer.
  jail::Error refusal_of(const runtime::llm::HttpReply& reply) const;
  jail::Error no_answer(const runtime::llm::HttpFault& fault) const;

 private:
  const ServerAddress address_;
  Signals& signals_;
  runtime::llm::PolledHttp http_;
};

// Says what went wrong on standard error, where there is something to say, and returns the exit
// status for it: `refused` where the server said no, 128+n after signal n, else exit_own_failure.
int fail(const jail::Error& error, const Signals& signals, int refused);

}  // namespace server::client
