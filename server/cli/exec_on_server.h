// agent-sandbox exec --server: the same program on a server that runs.
#pragma once

#include <string>
#include <vector>

#include "runtime/config/environment.h"
#include "runtime/json/writer.h"
#include "runtime/sandbox/run_request.h"
#include "server/cli/arguments.h"
#include "server/cli/exec_files.h"

namespace server {

struct ProgramForServer {
  std::string code;
  int input_fd = -1;  // what the program reads from; -1: nothing
  runtime::Language language = runtime::Language::python;
  std::vector<runtime::InputFile> files;
};

// Returns the exit status. To be called while there is only one thread.
int exec_on_server(const ExecOptions& options, ProgramForServer program,
                   const ArtifactDirectories& directories, const runtime::Environment& environment);

// What POST /execute is sent. `input`: all that the program reads.
std::string execute_request(const ExecOptions& options, const ProgramForServer& program,
                            const std::string& input);

// The members of a request that are about a program, a task's too: files, artifacts, limits.
void write_program_options(runtime::json::Writer& writer, const ProgramOptions& options,
                           const std::vector<runtime::InputFile>& files,
                           const std::vector<std::string>& artifacts);

}  // namespace server
