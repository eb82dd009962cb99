// The subcommands about files in a sandbox: how each is written, and how it becomes values.
#pragma once

#include "server/cli/sandbox/raw_arguments.h"

namespace server::client {

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
