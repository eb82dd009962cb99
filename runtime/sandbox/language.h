// What runs a program of each language, as paths inside the jail.
#pragma once

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

// By the end of a file's name (".py"); nothing where it says nothing.
std::optional<Language> language_of_file(std::string_view name) noexcept;

// By a first line such as "#!/usr/bin/env python3"; nothing where there is none, or another program
// is named.
std::optional<Language> language_of_first_line(std::string_view code) noexcept;

// The programs that the root must have for it, the interpreter first. Not looked up in PATH: a
// program cannot be given another python3.
std::vector<std::string_view> programs_of(Language language);

// The name of the program's own file, in the working directory, where its request has none.
std::string_view file_name_of(Language language, std::string_view code) noexcept;
// The same where it may have one: RunRequest::file_name as far as the interpreter takes it. Node
// tells modules by the ending, and TypeScript is turned into another file anyway.
std::string program_file_of(const RunRequest& request);

// argv and env for `request`: the interpreter, the program's file, the caller's arguments; a small
// fixed environment with the caller's over it.
std::vector<std::string> arguments_of(const RunRequest& request);
std::vector<std::string> environment_of(const RunRequest& request);

}  // namespace runtime
