// `agent-sandbox webhook`, from CLI11 into values.
#pragma once

#include <memory>
#include <optional>

#include "server/cli/arguments.h"

namespace CLI {
class App;
}

namespace server::client {

class WebhookCommands {
 public:
  WebhookCommands();
  ~WebhookCommands();
  WebhookCommands(const WebhookCommands&) = delete;
  WebhookCommands& operator=(const WebhookCommands&) = delete;

  // Both are called before `app` goes.
  void define(CLI::App& app);
  // Returns std::nullopt where the command line named none of them.
  std::optional<Command> parsed() const;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace server::client
