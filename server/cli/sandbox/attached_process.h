// A process in a sandbox whose output comes over one connection while its input goes over another.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "server/cli/sandbox/passed_signal.h"
#include "server/cli/sandbox/process_events.h"
#include "server/cli/sandbox/server_client.h"

namespace server::client {

struct AttachedOptions {
  std::string id;                        // of the sandbox
  std::string request;                   // what POST .../processes gets, as JSON
  Encoding encoding = Encoding::base64;  // as the request says
  // Passed on to the process until its end, which is passed on as well. -1: none.
  int input_fd = -1;
  std::string first_input = {};  // was read from it already
  // Set: it has a terminal. Called for the size of ours when that has changed, and gives what
  // POST .../resize gets.
  std::function<std::string()> size = {};
  // Whether the first signal that would end us is sent to the process and its process group.
  bool passes_signal = false;
  ProcessEvents::Listener listener = {};
};

// Not thread-safe.
class AttachedProcess {
 public:
  // `client` outlives it.
  AttachedProcess(ServerClient& client, AttachedOptions options);
  ~AttachedProcess();

  // Returns when the process has ended, and what is told of it then. Errors as those of a
  // ServerClient; after each of them the process is gone. A listener that wants no more makes it
  // ErrorKind::closed.
  jail::Result<runtime::json::Value> run();

  bool has_started() const noexcept { return events_.pid() != 0; }
  // What the server said of a request that it refused.
  const std::optional<Problem>& problem() const noexcept { return problem_; }

 private:
  using Call = std::unique_ptr<runtime::llm::PolledCall>;

  bool wants_input() const;
  void read_input();
  // Each sends what is there to send unless the last of its kind is under way.
  jail::Result<void> pass_input();
  jail::Result<void> pass_size();
  std::string process_path() const;

  ServerClient& client_;
  AttachedOptions options_;
  ProcessEvents events_;
  std::optional<Problem> problem_;
  std::string unsent_;
  bool input_ended_ = false;
  bool input_over_ = false;  // nobody reads what we could still send
  Call input_call_;
  Call size_call_;
  std::optional<PassedSignal> signal_;
};

}  // namespace server::client
