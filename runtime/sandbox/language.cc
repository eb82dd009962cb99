#include "runtime/sandbox/language.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>

#include "runtime/sandbox/module_syntax.h"

namespace runtime {
namespace {

constexpr const char* working_directory = "/workspace/";
constexpr const char* python = "/usr/bin/python3";
constexpr const char* bash = "/usr/bin/bash";
constexpr const char* node = "/usr/bin/node";
constexpr const char* env_program = "/usr/bin/env";
constexpr const char* esbuild = "/usr/bin/esbuild";

// TypeScript becomes one module in /tmp, with what it imports from beside it. Programs that mix
// both kinds of modules work: a module may await at its top level, and the variables of CommonJS
// are globals, so that a program may declare the same names. esbuild does not know the one name
// that is declared for that, so it must be none that esbuild declares itself, as __create. Types
// are not checked. The limit of messages is that of the command line, which an order would not have
// by itself. The words in capitals stand for paths; no option has an apostrophe.
constexpr std::string_view module_options[] = {
    "--bundle",
    "--platform=node",
    "--target=node18",
    "--format=esm",
    "--outfile=MODULE",
    "--sourcemap=inline",
    "--log-level=error",
    "--log-limit=6",
    "--color=false",
    R"(--define:import.meta.url="file://FILE")",
    "--define:require.main=module",
    R"js(--banner:js=import { createRequire as __createRequireOfMain } from "node:module";
((name) => Object.assign(globalThis, {
  __filename: globalThis.process.argv[1] = name, __dirname: "DIRECTORY",
  require: __createRequireOfMain(name), exports: {},
  module: { exports: {}, filename: name, id: "." },
}))("FILE");)js"};

// Node takes the shell's place, with the shell's own variables.
constexpr std::string_view run_typescript = R"sh(
/usr/bin/esbuild FILE OPTIONS || exit 1
mapfile -d '' -t given </proc/self/environ
exec /usr/bin/env -i -- "${given[@]}" "$0" "$@"
)sh";

// Node takes the shell's place at once and waits for the program, see waiting_node.h. An esbuild
// waits beside it for node's orders, on the pipes that node finds as these two descriptors. They
// are none that node would get for a file of its own, and they are opened anew, since the shell's
// own ends close at an execve. Neither esbuild nor what tells its version, without which it takes
// no orders, is node's child: init reaps them. By `set -m` esbuild has a process group of its own:
// signals for the program are for node, which survives some that would end esbuild. The last
// argument, which says where the program will be, is not node's. Node looks for a package where it
// is started, and would not look there again: it comes into the working directory once the
// program's files are there.
constexpr std::string_view await_typescript = R"sh(
coproc {
  read
  ( set -m
    read -r version < <(( /usr/bin/esbuild --version & ))
    /usr/bin/esbuild "--service=$version" <&0 & )
}
exec 58<"/proc/self/fd/${COPROC[0]}" 59>"/proc/self/fd/${COPROC[1]}"
echo >&59
wait
mapfile -d '' -t given </proc/self/environ
exec /usr/bin/env -i -C / -- "${given[@]}" "$0" "${@:1:$#-1}"
)sh";

std::string directory_of(const std::string& file) {
  return file.substr(0, std::max<std::size_t>(1, file.rfind('/')));
}

std::string with_path(std::string text, std::string_view word, const std::string& path) {
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + path.size())) {
    text.replace(at, word.size(), path);
  }
  return text;
}

std::string with_paths(std::string text, const std::string& file) {
  text = with_path(std::move(text), "DIRECTORY", directory_of(file));
  text = with_path(std::move(text), "MODULE", module_of_typescript(file));
  return with_path(std::move(text), "FILE", file);
}

// The script of a shell that compiles the program, and then is node.
std::string typescript_script(const std::string& file) {
  std::string options;
  for (const std::string& option : module_options_for(file)) options += " '" + option + "'";
  std::string script(run_typescript);
  constexpr std::string_view word = " OPTIONS";
  script.replace(script.find(word), word.size(), options);
  return with_paths(std::move(script), file);
}

using Names = std::array<std::string_view, 3>;  // the last ones may be empty

struct Entry {
  std::string_view name;
  Names endings;
  Names programs;
};

constexpr Entry entry_of(Language language) noexcept {
  switch (language) {
    case Language::python:
      return {"python", {".py"}, {python}};
    case Language::bash:
      return {"bash", {".sh", ".bash"}, {bash}};
    case Language::javascript:
      return {"javascript", {".js", ".mjs", ".cjs"}, {node}};
    case Language::typescript:
      return {"typescript", {".ts", ".mts", ".cts"}, {node, esbuild, bash}};
  }
  return {};
}

// The garbage collector of V8 works harder the nearer the heap comes to this. The limit of the jail
// counts the rest of the process too, so a program whose heap only grows is ended by the jail, as
// out_of_memory.
std::string heap_limit(std::uint32_t memory_mb) {
  return "--max-old-space-size=" + std::to_string(memory_mb);
}

}  // namespace

std::string_view name_of(Language language) noexcept { return entry_of(language).name; }

std::string_view name_of(OutputEncoding encoding) noexcept {
  return encoding == OutputEncoding::utf8 ? "utf-8" : "base64";
}

std::optional<Language> language_named(std::string_view name) noexcept {
  for (const Language language : all_languages) {
    if (name_of(language) == name) return language;
  }
  return std::nullopt;
}

std::optional<Language> language_of_file(std::string_view name) noexcept {
  for (const Language language : all_languages) {
    const Names endings = entry_of(language).endings;
    const auto fits = [&](std::string_view end) { return !end.empty() && name.ends_with(end); };
    if (std::any_of(endings.begin(), endings.end(), fits)) return language;
  }
  return std::nullopt;
}

std::optional<Language> language_of_first_line(std::string_view code) noexcept {
  if (!code.starts_with("#!")) return std::nullopt;
  std::string_view line = code.substr(2, code.find('\n') - 2);
  constexpr std::string_view blanks = " \t\r";
  // The name of the next word's file; empty at the end of the line.
  const auto next_name = [&] {
    line.remove_prefix(std::min(line.size(), line.find_first_not_of(blanks)));
    const std::string_view word = line.substr(0, line.find_first_of(blanks));
    line.remove_prefix(word.size());
    return word.substr(word.rfind('/') + 1);
  };
  std::string_view name = next_name();
  if (name == "env") {
    do name = next_name();
    while (name.starts_with('-') || name.find('=') != name.npos);
  }
  if (name.starts_with("python")) return Language::python;
  if (name == "bash" || name == "sh") return Language::bash;
  if (name == "node") return Language::javascript;
  return std::nullopt;
}

std::vector<std::string_view> programs_of(Language language) {
  std::vector<std::string_view> programs;
  for (const std::string_view program : entry_of(language).programs) {
    if (!program.empty()) programs.push_back(program);
  }
  return programs;
}

std::string_view file_name_of(Language language, std::string_view code) noexcept {
  switch (language) {
    case Language::python:
      return "main.py";
    case Language::bash:
      return "main.sh";
    case Language::javascript:
      // Node decides by a file's name whether it is a module.
      return uses_module_syntax(code) ? "main.mjs" : "main.js";
    case Language::typescript:
      return "main.ts";
  }
  return {};
}

std::string program_file_of(const RunRequest& request) {
  const std::string& name = request.file_name;
  const std::string_view usual = file_name_of(request.language, request.code);
  const bool is_shell_or_python =
      request.language == Language::python || request.language == Language::bash;
  if (is_shell_or_python && !name.empty()) return name;
  if (request.language != Language::javascript) return std::string(usual);
  if (name.ends_with(".mjs") || name.ends_with(".cjs")) return name;
  if (!name.ends_with(".js")) return std::string(usual);
  return name.substr(0, name.rfind('.')) + std::string(usual.substr(usual.rfind('.')));
}

std::vector<std::string> arguments_of(const RunRequest& request) {
  return arguments_for(request.language, working_directory + program_file_of(request),
                       request.memory_limit_mb, request.args);
}

std::vector<std::string> waiting_arguments_of(const RunRequest& request) {
  if (request.language == Language::javascript) {
    std::vector<std::string> started{env_program, "-C", "/"};
    std::ranges::move(arguments_for(request.language, working_directory + std::string("main.js"),
                                    request.memory_limit_mb, request.args),
                      std::back_inserter(started));
    return started;
  }
  std::vector<std::string> arguments = arguments_of(request);
  if (request.language != Language::typescript) return arguments;
  const std::string file = working_directory + program_file_of(request);
  arguments.at(2) = await_typescript;
  arguments.push_back(file);
  return arguments;
}

std::vector<std::string> module_options_for(const std::string& file) {
  std::vector<std::string> options;
  for (const std::string_view option : module_options) {
    options.push_back(with_paths(std::string(option), file));
  }
  return options;
}

std::string module_of_typescript(const std::string& file) {
  const std::size_t name = file.rfind('/') + 1;
  return "/tmp/" + file.substr(name, file.rfind('.') - name) + ".mjs";
}

std::vector<std::string> arguments_for(Language language, const std::string& file,
                                       std::uint32_t memory_mb,
                                       const std::vector<std::string>& args) {
  std::vector<std::string> arguments;
  switch (language) {
    case Language::python:
      arguments = {python, file};
      break;
    case Language::bash:
      arguments = {bash, file};
      break;
    case Language::javascript:
      arguments = {node, heap_limit(memory_mb), file};
      break;
    case Language::typescript:
      arguments = {bash,
                   "-c",
                   typescript_script(file),
                   node,
                   heap_limit(memory_mb),
                   "--enable-source-maps",
                   module_of_typescript(file)};
      break;
  }
  arguments.insert(arguments.end(), args.begin(), args.end());
  return arguments;
}

std::vector<std::string> environment_of(const RunRequest& request) {
  std::map<std::string, std::string, std::less<>> variables = {
      {"PATH", "/usr/bin:/bin"},
      // HOME is not the working directory: what programs cache below their home is not a result of
      // theirs.
      {"HOME", "/tmp"},
      {"USER", "sandbox"},
      {"LOGNAME", "sandbox"},
      {"LANG", "C.UTF-8"},
      {"TMPDIR", "/tmp"},
      {"PYTHONDONTWRITEBYTECODE", "1"},
      // The root is read-only, so pip cannot break it. With this variable pip installs packages
      // below HOME; without it pip refuses and gives advice that is for a host (PEP 668).
      {"PIP_BREAK_SYSTEM_PACKAGES", "1"},
  };
  for (const auto& [name, value] : request.env) variables[name] = value;
  std::vector<std::string> environment;
  for (const auto& [name, value] : variables) environment.push_back(name + "=" + value);
  return environment;
}

}  // namespace runtime
