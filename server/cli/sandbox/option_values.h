// Options whose values have several parts.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/cli/sandbox/raw_arguments.h"

namespace server::client {

// The complaint of text that is to be sent as JSON and would become something else there.
inline constexpr const char* not_utf8 = ": expected UTF-8";

// The parts of "NAME=VALUE"; nothing where it is not of that form.
std::optional<std::pair<std::string, std::string>> parted(const std::string& entry);

// Each adds what the command line says to its last argument, or returns what is wrong with it.
std::optional<Finished> read_texts(const char* option, const std::vector<std::string>& entries,
                                   NamedTexts& texts);
std::optional<Finished> parse_secrets(const RawSandboxArguments& raw,
                                      std::vector<SecretOption>& secrets);
std::optional<Finished> parse_volumes(const std::vector<std::string>& entries,
                                      std::vector<runtime::VolumeMount>& volumes);

void add_secret(CLI::App& command, RawSandboxArguments& raw);

}  // namespace server::client
