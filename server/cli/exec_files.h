// Files into and out of one program's working directory, from the command line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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

// "20 KiB", for people.
std::string size_text(std::uint64_t bytes);

// Where artifacts go: directories that exist, or are made, and can be written before the program
// starts, so that its results are not lost for a typing error.
class ArtifactDirectories {
 public:
  static jail::Result<ArtifactDirectories> open(const std::vector<ExecOptions::Artifact>& wanted,
                                                bool overwrite);

  // Each file under its own path below each directory whose glob names it; `tell` hears of each
  // that is there, by its path on the host. An older file of that name is an error unless it may be
  // overwritten, and so is a symbolic link on the way, which is not followed.
  jail::Result<void> store(
      const std::vector<jail::CollectedFile>& files,
      const std::function<void(const std::string& path, std::size_t bytes)>& tell) const;

  // The globs that name no file of `found`, neither one that was collected nor one that was
  // skipped.
  std::vector<std::string> without_match(const jail::Collection& found) const;

 private:
  struct Entry {
    ExecOptions::Artifact wanted;
    jail::Fd directory;
  };
  std::vector<Entry> entries_;
  bool overwrite_ = false;
};

}  // namespace server
