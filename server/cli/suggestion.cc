#include "server/cli/suggestion.h"

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string_view>

#include "runtime/json/writer.h"
#include "server/cli/habits.h"

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
      {"sandbox", "run", "exec"},   {"sandbox", "new", "create"},  {"sandbox", "destroy", "delete"},
      {"sandbox", "show", "get"},   {"sandbox", "inspect", "get"}, {"sandbox", "copy", "cp"},
      {"sandbox", "ssh", "shell"},  {"jobs", "ls", "list"},        {"jobs", "get", "show"},
      {"jobs", "kill", "cancel"},   {"jobs", "stop", "cancel"},    {"jobs", "rm", "cancel"},
      {"jobs", "delete", "cancel"}, {"lessons", "rm", "erase"},    {"lessons", "delete", "erase"},
  };
  for (const Row& row : rows) {
    if (row.app == app.get_name() && row.word == word) return std::string(row.meant);
  }
  return std::nullopt;
}

// How people call `command`: "sandbox exec"; empty for the program itself.
std::string name_in_program(const CLI::App& command) {
  if (command.get_parent() == nullptr) return {};
  const std::string above = name_in_program(*command.get_parent());
  return above + (above.empty() ? "" : " ") + command.get_name();
}

// The one option that `name` begins, as --lang does; nothing where several begin so.
std::optional<std::string> completed_option(const std::string& name,
                                            const std::vector<std::string>& known) {
  constexpr std::size_t least = 4;  // two letters behind --
  if (name.size() < least || !name.starts_with("--")) return std::nullopt;
  std::optional<std::string> found;
  for (const std::string& option : known) {
    if (!option.starts_with(name)) continue;
    if (found) return std::nullopt;
    found = option;
  }
  return found;
}

// The subcommands of others that are called `word`, as they are written; empty where none is.
std::string places_of_subcommand(const CLI::App& app, const std::string& word) {
  std::vector<std::string> places;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    const CLI::App* const named = subcommand_named(*command, word);
    if (named != nullptr) places.push_back(full_name(*named));
  }
  std::string text;
  for (std::size_t i = 0; i < places.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == places.size() ? " or " : ", ") + places[i];
  }
  return text;
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
  const bool may_be_of_program = has_argument && takes_program(command);
  const std::vector<std::string> known = option_names(command);
  auto meant = completed_option(name, known);
  if (!meant) meant = nearest_word(name, known);
  const std::string habit = habit_of_option(name_in_program(command), name);
  if (const std::string place = place_of_option(command, name); !place.empty()) {
    text += place;
  } else if (!habit.empty() && !may_be_of_program) {
    text += "; " + habit;
  } else if (meant) {
    text += "; did you mean " + *meant + "?";
  } else if (name == "--server") {
    text += "; AGENT_SANDBOX_URL says where the server is";
  }
  if (may_be_of_program) text += "; what is the program's follows after --";
  return text;
}

// Whether `word` stands where the value of `option` was forgotten: it is another option, and
// nothing but a program's text may be called as one.
bool is_forgotten_value(const CLI::App& command, const CLI::Option& option,
                        const std::string& word) {
  if (word.size() < 2 || word[0] != '-' || option.check_name("-c")) return false;
  return command.get_option_no_throw(word.substr(0, word.find('='))) != nullptr;
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
  const std::string habit = habit_of_word(name_in_program(app), word);
  if (!habit.empty()) return text + "; " + habit;
  const std::string places = places_of_subcommand(app, word);
  if (!places.empty()) return text + "; write " + places;
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
    if (equals != word.npos || option->get_items_expected_max() == 0) continue;
    // Its value may look like an option itself.
    ++i;
    if (i < args.size() && is_forgotten_value(*command, *option, args[i])) {
      return UnknownWord{
          word + ": expected " + option->get_type_name() + ", not the option " + args[i], command};
    }
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
