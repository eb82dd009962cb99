// Writes artifacts as whoever called, after this process has given up being root.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <utility>

#include "jail/collect.h"
#include "jail/fd.h"
#include "jail/result.h"

namespace server {

// A child process that stores files where it was told to before, and does nothing else: who owns it
// sends a number, a path and bytes, never a place of its own.
class ArtifactKeeper {
 public:
  // Stores a file, and says what went wrong as an errno; 0: nothing did. Called in the child.
  using Store = std::function<int(std::uint32_t place, const jail::CollectedFile& file)>;

  // To be called while there is only one thread. The child calls `at_end` after the last file.
  // Errors: exhausted.
  static jail::Result<ArtifactKeeper> start(const Store& store,
                                            const std::function<void()>& at_end);

  ArtifactKeeper(ArtifactKeeper&& other) noexcept;
  ArtifactKeeper& operator=(ArtifactKeeper&&) = delete;
  ~ArtifactKeeper();  // the child ends

  // What Store returned, or why it could not be asked.
  int store(std::uint32_t place, const jail::CollectedFile& file) const;

 private:
  ArtifactKeeper(jail::Fd socket, pid_t child) : socket_(std::move(socket)), child_(child) {}

  jail::Fd socket_;
  pid_t child_;
};

}  // namespace server
