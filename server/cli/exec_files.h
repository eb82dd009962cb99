// Files into and out of one program's working directory, from the command line.
#pragma once

#include <string>
#include <vector>

#include "jail/collect.h"
#include "jail/fd.h"
#include "runtime/sandbox/run_request.h"
#include "server/cli/arguments.h"

namespace server {

// Reads the sources, as whoever this process is. Errors name the file.
jail::Result<std::vector<runtime::InputFile>> read_input_files(
    const std::vector<FileOption>& files);

// Where artefacts go: directories that exist, or are made, and can be written before the program
// starts, so that its results are not lost for a typing error.
class ArtifactDirectories {
 public:
  static jail::Result<ArtifactDirectories> open(const std::vector<ExecOptions::Artifact>& wanted);

  // Each file under its own path below each directory whose glob names it. An older file of that
  // name is replaced; a symbolic link on the way is not followed but an error.
  jail::Result<void> store(const std::vector<jail::CollectedFile>& files) const;

 private:
  struct Entry {
    ExecOptions::Artifact wanted;
    jail::Fd directory;
  };
  std::vector<Entry> entries_;
};

}  // namespace server
