// One program to run, as a caller of any front door (HTTP, CLI, library) describes it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace runtime {

enum class Language : std::uint8_t { python, bash, javascript, typescript };

enum class OutputEncoding : std::uint8_t { utf8, base64 };

struct RunRequest {
  std::string code;
  Language language = Language::python;
  std::string standard_input;
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;
  std::chrono::milliseconds timeout{5000};
  std::uint32_t memory_limit_mb = 256;
  OutputEncoding output_encoding = OutputEncoding::utf8;
};

}  // namespace runtime
