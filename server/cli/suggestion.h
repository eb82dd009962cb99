// Mistyped words of a command line: which known one was meant.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/config/edit_distance.h"

namespace CLI {
class App;
}

namespace server {

using runtime::nearest_word;

struct UnknownOption {
  std::string text;         // for its user
  const CLI::App* command;  // which does not have it; never null
};

// The first word that looks like an option which the named subcommand does not have. `args` is a
// command line without the program's name. CLI11 would take the value of an option that it does not
// know for an argument, and complain of that.
std::optional<UnknownOption> unknown_option(const CLI::App& app,
                                            const std::vector<std::string>& args);

// The names of the subcommands of `app`.
std::vector<std::string> subcommand_names(const CLI::App& app);

}  // namespace server
