#include "server/cli/suggestion.h"

#include <CLI/CLI.hpp>
#include <cstddef>

namespace server {
namespace {

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

// `app` itself where it has none of that name: the word is an argument.
const CLI::App* subcommand_named(const CLI::App& app, const std::string& name) {
  const auto has_name = [&name](const CLI::App* command) { return command->check_name(name); };
  const auto found = app.get_subcommands(has_name);
  return found.empty() ? &app : found.front();
}

// Whether it starts a program, whose own arguments follow after --.
bool takes_program(const CLI::App& command) {
  return command.get_name() == "exec" || command.get_name() == "shell";
}

// `has_argument`: one stood before it, so that it may be meant for a program.
std::string unknown_text(const CLI::App& command, const std::string& name, bool has_argument) {
  std::string text = "unknown option " + name;
  if (const auto meant = nearest_word(name, option_names(command))) {
    text += "; did you mean " + *meant + "?";
  }
  if (has_argument && takes_program(command)) text += "; what is the program's follows after --";
  return text;
}

// What stands behind a short option without a blank is its value: -c'print(1)'.
bool is_short_with_value(const CLI::App& app, const std::string& word) {
  return word.size() > 2 && word[1] != '-' && app.get_option_no_throw(word.substr(0, 2)) != nullptr;
}

}  // namespace

std::optional<UnknownOption> unknown_option(const CLI::App& app,
                                            const std::vector<std::string>& args) {
  const CLI::App* command = &app;
  bool has_argument = false;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string& word = args[i];
    if (word == "--") return std::nullopt;
    if (word.size() < 2 || word[0] != '-') {
      const CLI::App* const named = subcommand_named(*command, word);
      has_argument = named == command;
      command = named;
      continue;
    }
    const std::size_t equals = word.find('=');
    const CLI::Option* option = command->get_option_no_throw(word.substr(0, equals));
    if (option == nullptr) {
      if (is_short_with_value(*command, word)) continue;
      return UnknownOption{unknown_text(*command, word.substr(0, equals), has_argument), command};
    }
    // Its value may look like an option itself.
    if (equals == word.npos && option->get_items_expected_max() > 0) ++i;
  }
  return std::nullopt;
}

std::vector<std::string> subcommand_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

}  // namespace server
