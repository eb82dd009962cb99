// What the files below /proc say about processes, read without libc. A guest chooses parts of their
// text; none of what is read here.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "child/clocks.h"

namespace jail::child {

struct Path {
  char text[64] = {};
};

// The parts, one after the other. The caller answers for their fitting in.
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

// False: the file cannot be opened.
bool read_text(int directory, const char* path, Text& out);

// The decimal number at `p`, which is moved behind it; 0 where there is none.
std::uint64_t parse_number(const char*& p);

const char* skip_spaces(const char* p);

// The number behind `key` at the start of a line; false where no line has it.
bool find_number(const char* text, const char* key, std::uint64_t& number);

// The same of a size in kilobytes, in bytes.
bool find_size(const char* text, const char* key, std::uint64_t& bytes);

// The fields of /proc/PID/stat that count. See proc_pid_stat(5).
struct ProcessStat {
  char state = '?';
  int parent = 0;
  std::uint64_t flags = 0;               // the kernel's own
  std::uint64_t faults_of_children = 0;  // cminflt: of those that it has waited for
  std::uint64_t own_ticks = 0;           // utime + stime
  std::uint64_t children_ticks = 0;      // cutime + cstime
  std::uint64_t threads = 0;
  std::uint64_t started_ticks = 0;  // when, by which it is told from a later one of its number
  std::uint64_t mapped_bytes = 0;
  std::uint64_t resident_pages = 0;  // roughly: of a small process it may be 0

  // It has no memory any more. Of a process's first thread, others of it may have.
  bool has_ended() const { return state == 'Z' || state == 'X'; }
  // It runs no instruction and will run none before it is continued, or is in a wait of the kernel
  // that no signal ends: of what it has to do after that a stop comes first.
  bool is_still() const { return state == 'T' || state == 't' || state == 'D' || has_ended(); }
  // It is on its way out, in do_exit(): the kernel's flag PF_EXITING, the same since Linux 2.6.
  bool is_leaving() const { return (flags & 4) != 0; }
  // It runs in the memory that an execve has made for it, and not in a copy of its parent's:
  // without PF_FORKNOEXEC, the same as long.
  bool has_executed() const { return (flags & 0x40) == 0; }
};

// `process` names its directory: its own number or that of one of its threads. False: it is gone.
bool read_stat(int proc, const char* process, ProcessStat& out);

// What /proc/PID/maps lists.
struct Mappings {
  std::uint64_t count = 0;
  std::uint64_t shared_anonymous = 0;  // of these
};

// Stops when `most` are counted. False: they cannot be read, which a process can see to by making
// itself undumpable, or not within the budget: a line holds the path of a file, which may have
// megabytes. Waits while the process changes its mappings.
bool read_mappings(int proc, const char* process, std::uint64_t most, const Budget& budget,
                   Mappings& out);

// The count alone, without a look at paths, where the kernel has that (Linux 6.11). False: it has
// not, or as above.
bool count_mappings(int proc, const char* process, std::uint64_t most, const Budget& budget,
                    std::uint64_t& out);

// Descriptors behind which the kernel may keep more than a pipe.
struct Descriptors {
  std::uint64_t epolls = 0;
  std::uint64_t proc_files = 0;
  std::uint64_t sockets = 0;
  std::uint64_t in_flight = 0;  // queued in a Unix socket of the process, of whatever kind
};

// False: as above.
bool read_descriptors(int proc, const char* process, const Budget& budget, Descriptors& out);

// The entries of a directory whose names are numbers.
class NumberedEntries {
 public:
  // From its start. The descriptor stays the caller's.
  explicit NumberedEntries(int directory);

  // False: that was the last one. `name` is valid until the next call.
  bool next(const char*& name, std::uint64_t& number);

 private:
  alignas(std::uint64_t) char buffer_[4096];
  int directory_;
  long filled_ = 0;
  long at_ = 0;
};

}  // namespace jail::child
