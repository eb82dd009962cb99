// The signal that a program on the server is sent in our place.
#pragma once

#include <memory>
#include <string>

#include "runtime/llm/polled_http.h"
#include "server/cli/sandbox/server_client.h"

namespace server::client {

// Not thread-safe.
class PassedSignal {
 public:
  enum class To : unsigned char { process, group };

  // `client` outlives it; its signals lend the first one from now on.
  PassedSignal(ServerClient& client, To to);

  // To be called whenever something may have come. Sends a signal that was lent to `path`, which is
  // not empty. Where the server refuses it, the signal ends us.
  void pass(const std::string& path);

 private:
  ServerClient& client_;
  const To to_;
  std::unique_ptr<runtime::llm::PolledCall> call_;
};

}  // namespace server::client
