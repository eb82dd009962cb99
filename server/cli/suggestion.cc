#include "server/cli/suggestion.h"

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string_view>

#include "runtime/json/writer.h"

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

bool has_subcommands(const CLI::App& app) { return !subcommand_names(app).empty(); }

// Null where it has none of that name.
const CLI::App* subcommand_named(const CLI::App& app, const std::string& name) {
  const auto has_name = [&name](const CLI::App* command) { return command->check_name(name); };
  const auto found = app.get_subcommands(has_name);
  return found.empty() ? nullptr : found.front();
}

// Whether it starts a program, whose own arguments follow after --.
bool takes_program(const CLI::App& command) {
  return command.get_name() == "exec" || command.get_name() == "shell";
}

// What other programs call it, and this one's clients in other languages.
std::optional<std::string> usual_word_for(const CLI::App& app, const std::string& word) {
  struct Row {
    std::string_view app;
    std::string_view word;
    std::string_view meant;
  };
  constexpr Row rows[] = {
      {"sandbox", "run", "exec"},       {"sandbox", "new", "create"},
      {"sandbox", "start", "create"},   {"sandbox", "stop", "delete"},
      {"sandbox", "destroy", "delete"}, {"sandbox", "remove", "delete"},
      {"sandbox", "show", "get"},       {"sandbox", "inspect", "get"},
      {"sandbox", "copy", "cp"},        {"sandbox", "ssh", "shell"},
      {"jobs", "ls", "list"},           {"jobs", "get", "show"},
      {"jobs", "kill", "cancel"},       {"jobs", "stop", "cancel"},
      {"jobs", "rm", "cancel"},         {"jobs", "delete", "cancel"},
      {"lessons", "rm", "erase"},       {"lessons", "delete", "erase"},
  };
  for (const Row& row : rows) {
    if (row.app == app.get_name() && row.word == word) return std::string(row.meant);
  }
  return std::nullopt;
}

// Whether `word` is the name of a program's file, as it is typed for an interpreter.
bool looks_like_file(const std::string& word) {
  return word.find_first_of("./") != word.npos && word.find(' ') == word.npos;
}

// The hint to where an option belongs that stands before the subcommand; empty where none has it.
std::string place_of_option(const CLI::App& app, const std::string& name) {
  std::vector<const CLI::App*> owners;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_option_no_throw(name) == nullptr) continue;
    if (app.get_parent() == nullptr && command->get_name() == "exec") owners.assign(1, command);
    if (owners.empty() || owners.front()->get_name() != "exec") owners.push_back(command);
  }
  if (owners.empty()) return {};
  if (owners.size() > 1) return "; it stands after the subcommand";
  return "; write " + full_name(*owners.front()) + " " + name;
}

// `has_argument`: one stood before it, so that it may be meant for a program.
std::string unknown_text(const CLI::App& command, const std::string& name, bool has_argument) {
  std::string text = "unknown option " + name;
  if (const std::string place = place_of_option(command, name); !place.empty()) {
    text += place;
  } else if (const auto meant = nearest_word(name, option_names(command))) {
    text += "; did you mean " + *meant + "?";
  } else if (name == "--server") {
    text += "; AGENT_SANDBOX_URL says where the server is";
  }
  if (has_argument && takes_program(command)) text += "; what is the program's follows after --";
  return text;
}

// What stands behind a short option without a blank is its value: -c'print(1)'.
bool is_short_with_value(const CLI::App& app, const std::string& word) {
  return word.size() > 2 && word[1] != '-' && app.get_option_no_throw(word.substr(0, 2)) != nullptr;
}

}  // namespace

std::string full_name(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return (parent == nullptr ? "" : full_name(*parent) + " ") + command.get_name();
}

std::string no_subcommand_text(const CLI::App& app, const std::string& word) {
  const std::vector<std::string> names = subcommand_names(app);
  std::string known;
  for (std::size_t i = 0; i < names.size(); ++i) {
    known += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  }
  if (word.empty()) return "expected a subcommand: " + known;
  const std::string text = "there is no subcommand " + runtime::json::quoted(word, 128);
  auto meant = usual_word_for(app, word);
  if (!meant) meant = nearest_word(word, names);
  if (meant) return text + "; did you mean " + *meant + "?";
  if (app.get_parent() == nullptr && looks_like_file(word)) {
    return text + "; a program's file is run by agent-sandbox exec " + word;
  }
  return text + "; expected " + known;
}

std::optional<UnknownWord> unknown_word(const CLI::App& app, const std::vector<std::string>& args) {
  const CLI::App* command = &app;
  bool has_argument = false;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string& word = args[i];
    if (word == "--") return std::nullopt;
    if (word.size() < 2 || word[0] != '-') {
      const CLI::App* const named = subcommand_named(*command, word);
      if (named == nullptr && has_subcommands(*command)) {
        return UnknownWord{no_subcommand_text(*command, word), command};
      }
      has_argument = named == nullptr;
      if (named != nullptr) command = named;
      continue;
    }
    const std::size_t equals = word.find('=');
    const CLI::Option* option = command->get_option_no_throw(word.substr(0, equals));
    if (option == nullptr) {
      if (is_short_with_value(*command, word)) continue;
      return UnknownWord{unknown_text(*command, word.substr(0, equals), has_argument), command};
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
