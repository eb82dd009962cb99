// The interpreter and arguments for programs of each language, as paths inside the jail.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jail/spec.h"
#include "runtime/sandbox/run_request.h"

namespace runtime {

inline constexpr Language all_languages[] = {Language::python, Language::bash, Language::javascript,
                                             Language::typescript};

// The inverse of name_of().
std::optional<Language> language_named(std::string_view name) noexcept;

// Returns the language for the end of a file's name (".py"); std::nullopt where it says nothing.
std::optional<Language> language_of_file(std::string_view name) noexcept;

// Returns the language of a first line such as "#!/usr/bin/env python3"; std::nullopt where there
// is none, or it names another program.
std::optional<Language> language_of_first_line(std::string_view code) noexcept;

// The programs that the root must have for it, the interpreter first. They are not looked up in
// PATH, so a program cannot be given another python3.
std::vector<std::string_view> programs_of(Language language);

constexpr bool runs_in_node(Language language) noexcept {
  return language == Language::javascript || language == Language::typescript;
}

// The name of the program's own file, in the working directory, where its request names none.
std::string_view file_name_of(Language language, std::string_view code) noexcept;
// The same where the request may name one: RunRequest::file_name, as far as the interpreter allows.
// Node recognizes modules by the ending, and TypeScript is compiled to another file anyway.
std::string program_file_of(const RunRequest& request);

// argv and env for `request`: the interpreter, the program's file and the caller's arguments; a
// small fixed environment, overridden by the caller's.
std::vector<std::string> arguments_of(const RunRequest& request);
// argv of an interpreter that is started before its program comes: the same, or what waits for the
// program and leads to the same. It ends in the program's file.
std::vector<std::string> waiting_arguments_of(const RunRequest& request);
// argv for a program in `file`, an absolute path. `memory_mb` is what it may use. With
// Language::typescript the path must be of letters, digits, and of - _ . / alone, and the file's
// name must be unique among those of programs that run.
std::vector<std::string> arguments_for(Language language, const std::string& file,
                                       std::uint32_t memory_mb,
                                       const std::vector<std::string>& args);
// The module that such a TypeScript program is turned into.
std::string module_of_typescript(const std::string& file);
// The options by which esbuild makes that module.
std::vector<std::string> module_options_for(const std::string& file);
std::vector<std::string> environment_of(const RunRequest& request);

}  // namespace runtime
