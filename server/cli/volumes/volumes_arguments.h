// `agent-sandbox volume`, from CLI11 into values.
#pragma once

#include <memory>
#include <optional>

#include "server/cli/arguments.h"

namespace CLI {
class App;
}

namespace server::client {

class VolumeCommands {
 public:
  VolumeCommands();
  ~VolumeCommands();
  VolumeCommands(const VolumeCommands&) = delete;
  VolumeCommands& operator=(const VolumeCommands&) = delete;

  // Both are called before `app` goes.
  void define(CLI::App& app);
  // Returns std::nullopt where the command line named none of them.
  std::optional<Command> parsed() const;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace server::client
