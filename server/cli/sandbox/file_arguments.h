// The subcommands about files in a sandbox: how each is written, and how it becomes values.
#pragma once

#include <string>

#include "server/cli/sandbox/raw_arguments.h"

namespace server::client {

// The working directory of a new sandbox begins in /workspace, unless it begins with a slash.
std::string absolute(std::string path);

void define_cp(CLI::App& command, RawSandboxArguments& raw);
Parsed parsed_cp(const CLI::App& command, const RawSandboxArguments& raw);

void define_ls(CLI::App& command, RawSandboxArguments& raw);
Parsed parsed_ls(const CLI::App& command, const RawSandboxArguments& raw);

void define_rm(CLI::App& command, RawSandboxArguments& raw);
Parsed parsed_rm(const CLI::App& command, const RawSandboxArguments& raw);

void define_url(CLI::App& command, RawSandboxArguments& raw);
Parsed parsed_url(const CLI::App& command, const RawSandboxArguments& raw);

void define_watch(CLI::App& command, RawSandboxArguments& raw);
Parsed parsed_watch(const CLI::App& command, const RawSandboxArguments& raw);

}  // namespace server::client
