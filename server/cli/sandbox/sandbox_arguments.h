// The subcommands of `agent-sandbox sandbox`, from CLI11 into values.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/cli/arguments.h"

namespace CLI {
class App;
}

namespace server::client {

class SandboxCommands {
 public:
  SandboxCommands();
  ~SandboxCommands();
  SandboxCommands(const SandboxCommands&) = delete;
  SandboxCommands& operator=(const SandboxCommands&) = delete;

  // Both are called before `app` goes.
  void define(CLI::App& app);
  // Returns std::nullopt where the command line named none of them. `command` is what stood after
  // --.
  std::optional<Command> parsed(std::vector<std::string> command) const;

  // Whether what stands after -- is the guest's, of arguments that begin with "sandbox".
  static bool takes_command(const std::vector<std::string>& args);

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace server::client
