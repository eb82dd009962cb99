// Files out of one program's working directory, to where the command line says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "jail/collect.h"
#include "jail/fd.h"
#include "runtime/sandbox/run_request.h"
#include "server/cli/arguments.h"
#include "server/cli/artifact_keeper.h"

namespace server {

// "20 KiB", for people.
std::string size_text(std::uint64_t bytes);

// Where artifacts go: directories that exist, or are made, and can be written before the program
// starts, so that its results are not lost for a typing error. They are opened as whoever called.
class ArtifactDirectories {
 public:
  ArtifactDirectories() = default;
  ArtifactDirectories(ArtifactDirectories&&) noexcept = default;
  ArtifactDirectories& operator=(ArtifactDirectories&&) noexcept = default;
  ~ArtifactDirectories();  // removes directories that were made and are empty

  static jail::Result<ArtifactDirectories> open(const ArtifactOptions& options);

  // Files are stored as whoever this process is now, also when it is no longer root: root's
  // directories take files of root's alone. To be called while there is only one thread.
  jail::Result<void> remember_caller();

  // Each file under its own path below each directory whose glob names it; `tell` hears of each
  // that is there, by its path on the host. An older file of that name is an error unless it may be
  // overwritten, and so is a symbolic link on the way, which is not followed. Returns what went
  // wrong; the other files are stored.
  std::vector<jail::Error> store(
      const std::vector<jail::CollectedFile>& files,
      const std::function<void(const std::string& path, std::size_t bytes)>& tell) const;

  // The globs that name no file of `found`, neither one that was collected nor one that was
  // skipped.
  std::vector<std::string> without_match(const jail::Collection& found) const;

 private:
  struct Entry {
    ArtifactOptions::Artifact wanted;
    jail::Fd directory;
    bool is_new = false;  // was made for this program
  };
  int store_in(const Entry& entry, const jail::CollectedFile& file) const;
  void remove_unused() const;

  std::vector<Entry> entries_;
  std::shared_ptr<const ArtifactKeeper> keeper_;  // null: files are stored by this process
  bool overwrite_ = false;
};

std::vector<std::string> globs_of(const ArtifactOptions& options);

// What was asked for is stored, and what was stored or not is told on standard error. False:
// a file that was wanted was not stored, be it that it could not be written or that a bound left it
// out.
bool keep_artifacts(const jail::Collection& artifacts, const ArtifactDirectories& directories);

}  // namespace server
