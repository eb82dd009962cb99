#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "jail/cgroup.h"

namespace jail {

// "jail-PID-NUMBER": the process that made it, which alone may be waiting to put a jail into it.
inline constexpr std::string_view leaf_prefix = "jail-";

// Leaves that still had a process when they were given up are removed a little later.
struct CgroupLeaf::Tree {
  std::string path;
  Fd directory;
  pid_t owner = ::getpid();  // a fork of it has copies of the leaves, and gives none of them up
  std::atomic<std::uint64_t> made{0};
  std::mutex mutex;
  std::vector<std::string> abandoned;

  // How many are still there.
  std::size_t remove_abandoned();
  ~Tree();  // waits for the last processes, which are killed, but not for ever
};

}  // namespace jail
