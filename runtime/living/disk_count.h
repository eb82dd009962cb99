// How much of the host's disk the working directory of a sandbox takes, while hostile programs in
// it change what is counted.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "jail/fd.h"

namespace runtime {

struct DiskUse {
  std::uint64_t bytes = 0;
  std::uint64_t files = 0;  // files, directories and links, one for all names of a file
  // False: a directory lies too deep or keeps itself from being read, or names come and go faster
  // than they are counted.
  bool is_countable = true;
  // Descriptors that are on their way in sockets: files that they lead to may be in no count.
  std::uint64_t in_flight = 0;
};

// Counts what the kernel has given the files: holes count nothing, and what was allocated and never
// written counts. Files that have no name any more count as long as a process has them open; those
// that are only mapped, with what they had when they were last seen otherwise. Not thread-safe.
class DiskCount {
 public:
  static constexpr int max_depth = 256;

  // Everything in `directory` belongs to this process's user.
  explicit DiskCount(jail::Fd directory);

  // Looks at no more than some `max_files` files, and ends early where there are more than these or
  // than `max_bytes`. `init` is a pidfd of the sandbox's first process; -1: nothing runs in it.
  DiskUse look(const jail::Fd& init, std::uint64_t max_bytes, std::uint64_t max_files);

 private:
  bool walk(jail::Fd directory, int depth);
  bool is_beyond() const;
  void add(ino_t inode, std::uint64_t bytes);
  void add_open_files(const std::string& process);
  std::uint64_t in_flight_to(const std::vector<std::string>& processes) const;
  void add_mapped_files(const std::string& process);

  jail::Fd directory_;
  dev_t device_ = 0;
  DiskUse use_;
  std::uint64_t max_bytes_ = 0;
  std::uint64_t max_files_ = 0;
  std::uint64_t names_left_ = 0;
  std::unordered_map<ino_t, std::uint64_t> seen_;    // by this look
  std::unordered_map<ino_t, std::uint64_t> before_;  // by the look before
};

}  // namespace runtime
