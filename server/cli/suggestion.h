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

struct UnknownWord {
  std::string text;         // for its user
  const CLI::App* command;  // which does not have it; never null
};

// The first word that looks like an option which the named subcommand does not have, or that stands
// where a subcommand belongs and is none. `args` is a command line without the program's name.
// CLI11 would take the value of an option that it does not know for an argument, and a later word
// for the subcommand, and complain of that.
std::optional<UnknownWord> unknown_word(const CLI::App& app, const std::vector<std::string>& args);

// What is wrong with `word`, which stands where a subcommand of `app` belongs; it is empty where
// none was named.
std::string no_subcommand_text(const CLI::App& app, const std::string& word);

// "agent-sandbox sandbox exec".
std::string full_name(const CLI::App& command);

// The names of the subcommands of `app`.
std::vector<std::string> subcommand_names(const CLI::App& app);

}  // namespace server
