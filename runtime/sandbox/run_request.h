// The request to run one program, from any front door (HTTP, CLI, library).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jail/network.h"
#include "jail/spec.h"

namespace runtime {

enum class Language : std::uint8_t { python, bash, javascript, typescript };

// Returns a name such as "python", which requests, jobs and metrics use.
std::string_view name_of(Language language) noexcept;

enum class OutputEncoding : std::uint8_t { utf8, base64 };

// "utf-8", "base64"
std::string_view name_of(OutputEncoding encoding) noexcept;

struct InputFile {
  std::string path;  // relative to the working directory, by the rules of check_input_files()
  std::string content;
};

struct RunRequest {
  std::string code;
  Language language = Language::python;
  std::string file_name;  // of the program, in the working directory; empty: the language's default
  std::string standard_input;
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;
  std::vector<InputFile> files;        // written before the program starts; no path occurs twice
  std::vector<std::string> artifacts;  // globs (jail/collect.h) of the files to be returned
                                       // afterwards
  std::chrono::milliseconds timeout{5000};
  std::uint32_t memory_limit_mb = 256;
  // Where they are given the program gets no jail that waits: processes and threads at a time, and
  // the size of the working directory, and of /tmp as well. Files are memory, too.
  std::optional<std::uint32_t> max_processes;
  std::optional<std::uint32_t> disk_limit_mb;
  std::string template_name;  // empty: the language's template; "none": a jail made for this
                              // program
  // The text whose imports choose the template where none is named; empty: the code itself. For
  // code that runs another program.
  std::string imports_from;
  // The size of the program's terminal, which it has in place of three pipes. Such a program gets
  // no jail that waits, and its filter permits what shells do with a terminal.
  std::optional<jail::TerminalSize> terminal;
  jail::Network network;  // its label is for OnEgress; without one, the result tells none of it
  OutputEncoding output_encoding = OutputEncoding::utf8;
};

}  // namespace runtime
