// Reads what the files below /proc say about processes, without libc. A guest chooses parts of
// their text, but none of the parts that are read here.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "child/clocks.h"

namespace jail::child {

struct Path {
  char text[64] = {};
};

// Joins the parts, one after the other. The caller ensures that they fit.
Path joined(std::initializer_list<const char*> parts);

// A number as text.
struct Number {
  explicit Number(std::uint64_t number);
  char text[24] = {};
};

// The start of a file, ended by NUL.
struct Text {
  char bytes[4096];
};

// Returns false where the file cannot be opened.
bool read_text(int directory, const char* path, Text& out);

// A file that is opened ahead of the moment in which it is to be read, and closed at the end of a
// scope. Finding a file below /proc takes the kernel longer than writing most of them.
class OpenedFile {
 public:
  OpenedFile() = default;
  OpenedFile(const OpenedFile&) = delete;
  OpenedFile& operator=(const OpenedFile&) = delete;
  ~OpenedFile();

  void open(int directory, const char* path);

  // Reads what the file says at this moment. Returns false where it could not be opened or its
  // process is gone.
  bool read(Text& out) const;

 private:
  int fd_ = -1;
};

// Returns the decimal number at `p`, which is moved behind it; 0 where there is none.
std::uint64_t parse_number(const char*& p);

const char* skip_spaces(const char* p);

// Finds the number behind `key` at the start of a line; returns false where no line has it.
bool find_number(const char* text, const char* key, std::uint64_t& number);

// The same for a size in kilobytes, converted to bytes.
bool find_size(const char* text, const char* key, std::uint64_t& bytes);

// The fields of /proc/PID/stat that are needed here. See proc_pid_stat(5).
struct ProcessStat {
  char state = '?';
  int parent = 0;
  std::uint64_t flags = 0;               // the kernel's internal flags
  std::uint64_t faults_of_children = 0;  // cminflt: those of the children that it has waited for
  std::uint64_t own_ticks = 0;           // utime + stime
  std::uint64_t children_ticks = 0;      // cutime + cstime
  std::uint64_t threads = 0;
  std::uint64_t started_ticks = 0;  // its start, which distinguishes it from a later process of the
                                    // same number
  std::uint64_t mapped_bytes = 0;
  std::uint64_t resident_pages = 0;  // approximate: of a small process it may be 0
  // Where its memory holds the variables that it was executed with, each ended by NUL; 0 where the
  // reader may not trace the process.
  std::uint64_t variables_begin = 0;
  std::uint64_t variables_end = 0;

  // The process has no memory any more. Where this is said of its first thread, other threads may
  // still have it.
  bool has_ended() const { return state == 'Z' || state == 'X'; }
  // The process runs no instruction and will run none before it is continued.
  bool is_stopped() const { return state == 'T' || state == 't' || has_ended(); }
  // The same; or it is in a wait of
  // the kernel that no signal ends, after which it meets the stop first.
  bool is_still() const { return is_stopped() || state == 'D'; }
  // The process is in do_exit(): the kernel's flag PF_EXITING, the same since Linux 2.6.
  bool is_leaving() const { return (flags & 4) != 0; }
  // The process runs in memory that an execve has made for it, not in a copy of its parent's: the
  // flag PF_FORKNOEXEC, the same since Linux 2.6, is not set.
  bool has_executed() const { return (flags & 0x40) == 0; }
};

// `process` names its directory: its own number or that of one of its threads. Returns false where
// it is gone.
bool read_stat(int proc, const char* process, ProcessStat& out);
bool read_stat(const OpenedFile& file, Text& room, ProcessStat& out);

// A summary of /proc/PID/maps.
struct Mappings {
  std::uint64_t count = 0;
  std::uint64_t shared_anonymous = 0;  // number of those that are anonymous and shared
};

// Stops when `most` are counted. Returns false where they cannot be read (a process can cause that
// by making itself undumpable) or not within the budget (a line holds the path of a file, which may
// have megabytes). Waits while the process changes its mappings.
bool read_mappings(int proc, const char* process, std::uint64_t most, const Budget& budget,
                   Mappings& out);

// Returns whether mappings may be read: not those of a process that joins another user namespace or
// is about to execute a program, nor of one that has made itself unreadable.
bool may_read_mappings(int proc, const char* process);

// Only counts them, without reading paths, where the kernel supports that (Linux 6.11). Returns
// false where it does not, or as above.
bool count_mappings(int proc, const char* process, std::uint64_t most, const Budget& budget,
                    std::uint64_t& out);

// The descriptors behind which the kernel may keep more than a pipe.
struct Descriptors {
  std::uint64_t epolls = 0;
  std::uint64_t watches = 0;      // of all epoll instances
  std::uint64_t max_watches = 0;  // of one of them
  std::uint64_t proc_files = 0;
  std::uint64_t sockets = 0;
  std::uint64_t in_flight = 0;  // descriptors queued in the process's Unix sockets
  std::uint64_t pipe_ends = 0;  // counted where pipes are asked for
};

struct Asked {
  bool watches = false;  // waits while the process changes one of its epoll instances
  bool pipes = false;
};

// Returns false as above.
bool read_descriptors(int proc, const char* process, Asked asked, const Budget& budget,
                      Descriptors& out);

// The entries of a directory whose names are numbers.
class NumberedEntries {
 public:
  // Reads the directory from its start. The caller keeps the descriptor.
  explicit NumberedEntries(int directory);

  // Returns false after the last one. `name` is valid until the next call.
  bool next(const char*& name, std::uint64_t& number);

 private:
  alignas(std::uint64_t) char buffer_[4096];
  int directory_;
  long filled_ = 0;
  long at_ = 0;
};

}  // namespace jail::child
