// How much of the host's disk the working directory of a sandbox takes, while hostile programs in
// it change what is counted.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "jail/fd.h"

struct stat;

namespace runtime {

struct DiskUse {
  // What a look could see.
  enum class Seen : std::uint8_t {
    all,
    beyond_budget,      // there is more than it may spend its time on
    unreadable,         // a process keeps itself from being read
    short_of_the_host,  // the host has no descriptor or memory for it
  };

  std::uint64_t bytes = 0;
  std::uint64_t files = 0;  // files, directories and links, one for all names of a file
  // False: a directory lies too deep or keeps itself from being read, names come and go faster than
  // they are counted, or a process stays unreadable.
  bool is_countable = true;
  // Descriptors that are on their way in sockets: files that they lead to may be in no count.
  std::uint64_t in_flight = 0;
  Seen seen = Seen::all;
};

// Counts what the kernel has given the files: holes count nothing, and what was allocated and never
// written counts. Files that have no name any more count as long as a process has them open or
// executes them; those that are only mapped, with what they had when they were last seen otherwise.
// Not thread-safe.
class DiskCount {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr int max_depth = 256;
  // A process is unreadable for a moment while it executes a program. One that stays so for longer
  // makes the sandbox uncountable.
  static constexpr std::chrono::milliseconds patience_with_unreadable{100};

  // What one look may take: a guest decides how much there is to read.
  struct Budget {
    std::chrono::nanoseconds processor_time{};
    std::chrono::nanoseconds time{};
    std::uint64_t max_text_bytes = 64u << 20;  // of what the kernel writes of mappings
  };

  // Everything in `directory` belongs to this process's user. `mount`: the number of the mount by
  // which processes reach it, where they have others of the same file system; open files without a
  // name count only where they are on it. Without it all do that are on the file system.
  explicit DiskCount(jail::Fd directory, std::optional<std::uint64_t> mount = std::nullopt);

  // The number of the mount that an open file is on; nullopt where the kernel does not tell.
  static std::optional<std::uint64_t> mount_of(int file);
  // The bytes that the blocks of a file take on its disk.
  static std::uint64_t bytes_of(const struct stat& status);

  // Looks at no more than some `max_files` files, and ends early where there are more than these or
  // than `max_bytes`, or where the budget is spent. `init` is a pidfd of the sandbox's first
  // process; -1: nothing runs in it.
  DiskUse look(const jail::Fd& init, std::uint64_t max_bytes, std::uint64_t max_files,
               const Budget& budget);

 private:
  void count(const jail::Fd& init);
  void add_size_of_root(int directory);
  bool walk(jail::Fd directory, int depth);
  bool is_beyond() const;
  bool is_spent(std::uint64_t units = 1);
  void note_failure(int error);
  void note_unreadable(const std::string& process, Clock::time_point now);
  void add(ino_t inode, std::uint64_t bytes);
  int add_nameless(int directory, const char* name);
  bool add_open_files(const std::string& process);
  void count_in_flight(const std::string& process);
  void add_mapped_files(const std::string& process);

  jail::Fd directory_;
  std::optional<std::uint64_t> mount_;
  dev_t device_ = 0;
  DiskUse use_;
  std::uint64_t max_bytes_ = 0;
  std::uint64_t max_files_ = 0;
  std::uint64_t names_left_ = 0;
  Budget budget_;
  std::chrono::nanoseconds processor_time_end_{};
  Clock::time_point end_{};
  std::uint64_t units_ = 0;  // of work since the clocks were read
  std::uint64_t text_bytes_ = 0;
  bool is_partial_ = false;                          // the look before saw not all
  std::unordered_map<ino_t, std::uint64_t> seen_;    // by this look
  std::unordered_map<ino_t, std::uint64_t> before_;  // by the look before
  // Processes that could not be read, by number and start, and when that began.
  std::unordered_map<std::string, Clock::time_point> unreadable_;         // by this look
  std::unordered_map<std::string, Clock::time_point> unreadable_before_;  // by the look before
};

// Tells a sandbox that keeps itself from being counted from one on a bad day, by several looks.
class Doubts {
 public:
  static constexpr int max_spent_budgets = 2;  // in a row
  // Processes that execute programs are unreadable in turns.
  static constexpr int max_partial_looks = 5;  // in a row

  // To be called after each look that lacked nothing of the host's. Returns whether the sandbox
  // keeps itself from being counted.
  bool are_certain(const DiskUse& use);

 private:
  int spent_budgets_ = 0;
  int partial_looks_ = 0;
};

}  // namespace runtime
