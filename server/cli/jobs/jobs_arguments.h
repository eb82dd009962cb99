// `agent-sandbox jobs` and `agent-sandbox logs`, from CLI11 into values.
#pragma once

#include <memory>
#include <optional>

#include "server/cli/arguments.h"

namespace CLI {
class App;
}

namespace server::client {

class JobsCommands {
 public:
  JobsCommands();
  ~JobsCommands();
  JobsCommands(const JobsCommands&) = delete;
  JobsCommands& operator=(const JobsCommands&) = delete;

  // Both are called before `app` goes.
  void define(CLI::App& app);
  // Returns std::nullopt where the command line named none of them.
  std::optional<Command> parsed() const;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace server::client
