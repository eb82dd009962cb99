// The subcommands of the agent: run, benchmark, lessons. With arguments.h and common_arguments.h
// the only users of CLI11.
#pragma once

#include <memory>
#include <optional>

#include "server/cli/arguments.h"

namespace CLI {
class App;
}

namespace server {

class AgentCommands {
 public:
  AgentCommands();
  ~AgentCommands();
  AgentCommands(const AgentCommands&) = delete;
  AgentCommands& operator=(const AgentCommands&) = delete;

  // Both are called before `app` goes.
  void define(CLI::App& app);
  // Returns std::nullopt where the command line named none of them.
  std::optional<Command> parsed() const;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace server
