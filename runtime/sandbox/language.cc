#include "runtime/sandbox/language.h"

#include <map>

namespace runtime {
namespace {

constexpr std::string_view working_directory = "/workspace";

}  // namespace

Interpreter interpreter_of(Language language) noexcept {
  switch (language) {
    case Language::python:
      return {"/usr/bin/python3", "main.py"};
    case Language::bash:
      return {"/usr/bin/bash", "main.sh"};
  }
  return {};
}

std::string_view name_of(Language language) noexcept {
  switch (language) {
    case Language::python:
      return "python";
    case Language::bash:
      return "bash";
  }
  return "unknown";
}

std::vector<std::string> arguments_of(const RunRequest& request) {
  const Interpreter interpreter = interpreter_of(request.language);
  std::vector<std::string> arguments = {
      std::string(interpreter.path),
      std::string(working_directory) + "/" + std::string(interpreter.file_name)};
  arguments.insert(arguments.end(), request.args.begin(), request.args.end());
  return arguments;
}

std::vector<std::string> environment_of(const RunRequest& request) {
  std::map<std::string, std::string, std::less<>> variables = {
      {"PATH", "/usr/bin:/bin"},
      // Not the working directory: what programs cache below their home is no result of theirs.
      {"HOME", "/tmp"},
      {"USER", "sandbox"},
      {"LOGNAME", "sandbox"},
      {"LANG", "C.UTF-8"},
      {"TMPDIR", "/tmp"},
      {"PYTHONDONTWRITEBYTECODE", "1"},
  };
  for (const auto& [name, value] : request.env) variables[name] = value;
  std::vector<std::string> environment;
  for (const auto& [name, value] : variables) environment.push_back(name + "=" + value);
  return environment;
}

}  // namespace runtime
