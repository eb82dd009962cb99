#include "child/proc_files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

#include "child/arithmetic.h"
#include "child/raw_syscall.h"

namespace jail::child {
namespace {

// The offsets of an entry's length and name in linux_dirent64 (getdents64(2)).
constexpr long length_in_entry = 16;
constexpr long name_in_entry = 19;

// The kernel's names of shared anonymous memory, unless a guest has named it.
constexpr char nameless_shared[] = "/dev/zero (deleted)";
constexpr char named_shared[] = "[anon_shmem:";

// The texts of links in /proc/PID/fd.
constexpr char epoll_instance[] = "anon_inode:[eventpoll]";
constexpr char file_of_proc[] = "/proc/";
constexpr char socket[] = "socket:[";

// struct procmap_query of linux/fs.h, which is newer than the headers that this builds with.
struct MappingQuery {
  std::uint64_t size;
  std::uint64_t flags;
  std::uint64_t address;
  std::uint64_t start;
  std::uint64_t end;
  std::uint64_t about_it[4];  // flags, page size, offset, inode
  std::uint32_t device[2];
  std::uint32_t name_and_build_id_bytes[2];
  std::uint64_t name_and_build_id[2];
};
constexpr std::uint64_t covering_or_next = 0x10;
constexpr unsigned long query_mapping = _IOWR('f', 17, MappingQuery);

// A pipe that has a name shows its path alone, so its type is asked for. `descriptors` is the
// directory of the descriptors of a process.
bool is_pipe(int descriptors, const char* name) {
  struct stat status {};
  return raw::call(SYS_newfstatat, descriptors, raw::address(name), raw::address(&status), 0) ==
             0 &&
         S_ISFIFO(status.st_mode);
}

long open_to_read(int directory, const char* path) {
  return raw::call(SYS_openat, directory, raw::address(path), O_RDONLY | O_CLOEXEC);
}

bool begins_with(const char* text, const char* expected) {
  while (*expected != '\0' && *text == *expected) {
    ++text;
    ++expected;
  }
  return *expected == '\0';
}

// Tells whether a text that is given letter by letter starts with another one.
class Prefix {
 public:
  explicit Prefix(const char* expected) : expected_(expected) {}
  void restart() {
    at_ = expected_;
    matches_ = true;
  }
  void see(char letter) {
    if (*at_ == '\0') return;
    matches_ = matches_ && letter == *at_;
    ++at_;
  }
  bool is_met() const { return matches_ && *at_ == '\0'; }

 private:
  const char* expected_;
  const char* at_ = expected_;
  bool matches_ = true;
};

// Reads lines such as "7f00-7f01 rw-s 00000000 00:01 1025    /dev/zero (deleted)".
class MappingReader {
 public:
  void see(char letter) {
    if (letter == '\n') {
      ++found.count;
      if (is_shared_ && (nameless_.is_met() || named_.is_met())) ++found.shared_anonymous;
      restart();
    } else if (field_ >= fields_before_name && (in_name_ || letter != ' ')) {
      in_name_ = true;
      nameless_.see(letter);
      named_.see(letter);
    } else if (letter == ' ') {
      ++field_;
    } else if (field_ == field_of_flags) {
      is_shared_ = letter == 's';  // the last one of four
    }
  }

  Mappings found;

 private:
  static constexpr int field_of_flags = 1;
  static constexpr int fields_before_name = 5;

  void restart() {
    field_ = 0;
    is_shared_ = in_name_ = false;
    nameless_.restart();
    named_.restart();
  }

  int field_ = 0;
  bool is_shared_ = false;
  bool in_name_ = false;
  Prefix nameless_{nameless_shared};
  Prefix named_{named_shared};
};

// Counts the lines that begin with this letter; none where the file is gone. Returns false where it
// is not read within the budget.
bool count_lines(int directory, const char* path, char first, const Budget& budget,
                 std::uint64_t& count) {
  count = 0;
  const long fd = open_to_read(directory, path);
  if (fd < 0) return true;
  char buffer[4096];
  bool is_at_start = true;
  long got = 0;
  while (!budget.is_spent() &&
         (got = raw::call(SYS_read, fd, raw::address(buffer), sizeof buffer)) > 0) {
    for (long i = 0; i < got; ++i) {
      if (is_at_start && buffer[i] == first) ++count;
      is_at_start = buffer[i] == '\n';
    }
  }
  raw::call(SYS_close, fd);
  return got == 0;
}

}  // namespace

Path joined(std::initializer_list<const char*> parts) {
  Path path;
  std::size_t n = 0;
  for (const char* part : parts) {
    while (*part != '\0' && n < sizeof path.text - 1) path.text[n++] = *part++;
  }
  return path;
}

Number::Number(std::uint64_t number) {
  char* p = text + sizeof text - 1;
  do {
    *--p = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  std::size_t n = 0;
  while (*p != '\0') text[n++] = *p++;
  text[n] = '\0';
}

bool read_text(int directory, const char* path, Text& out) {
  const long fd = open_to_read(directory, path);
  if (fd < 0) return false;
  std::size_t filled = 0;
  while (filled < sizeof out.bytes - 1) {
    const long got = raw::call(SYS_read, fd, raw::address(out.bytes + filled),
                               static_cast<long>(sizeof out.bytes - 1 - filled));
    if (got <= 0) break;
    filled += static_cast<std::size_t>(got);
  }
  raw::call(SYS_close, fd);
  out.bytes[filled] = '\0';
  return true;
}

OpenedFile::~OpenedFile() {
  if (fd_ >= 0) raw::call(SYS_close, fd_);
}

void OpenedFile::open(int directory, const char* path) {
  fd_ = static_cast<int>(open_to_read(directory, path));
}

// The kernel writes such a file anew for a read at its start, and hands on as much as there is room
// for.
bool OpenedFile::read(Text& out) const {
  const long got = raw::call(SYS_pread64, fd_, raw::address(out.bytes), sizeof out.bytes - 1, 0);
  out.bytes[got > 0 ? got : 0] = '\0';
  return got >= 0;
}

std::uint64_t parse_number(const char*& p) {
  std::uint64_t value = 0;
  while (*p >= '0' && *p <= '9') value = value * 10 + static_cast<std::uint64_t>(*p++ - '0');
  return value;
}

const char* skip_spaces(const char* p) {
  while (*p == ' ' || *p == '\t') ++p;
  return p;
}

bool find_number(const char* text, const char* key, std::uint64_t& number) {
  for (const char* line = text; *line != '\0';) {
    const char* p = line;
    const char* k = key;
    while (*k != '\0' && *p == *k) {
      ++p;
      ++k;
    }
    if (*k == '\0') {
      p = skip_spaces(p);
      number = parse_number(p);
      return true;
    }
    while (*line != '\0' && *line != '\n') ++line;
    if (*line == '\n') ++line;
  }
  return false;
}

bool find_size(const char* text, const char* key, std::uint64_t& bytes) {
  if (!find_number(text, key, bytes)) return false;
  bytes *= 1024;
  return true;
}

namespace {

bool find_fields(const Text& text, ProcessStat& out) {
  // The second field is the name in parentheses. The guest chooses it, so the fields are read from
  // behind the last ')'.
  const char* p = nullptr;
  for (const char* at = text.bytes; *at != '\0'; ++at) {
    if (*at == ')') p = at + 1;
  }
  if (p == nullptr) return false;
  out = {};
  for (int field = 3; *p != '\0' && field <= 51; ++field) {
    p = skip_spaces(p);
    const char* start = p;
    const std::uint64_t number = parse_number(p);
    if (field == 3) out.state = *start;
    if (field == 4) out.parent = static_cast<int>(number);
    if (field == 9) out.flags = number;
    if (field == 11) out.faults_of_children = number;
    if (field == 14 || field == 15) out.own_ticks += number;
    if (field == 16 || field == 17) out.children_ticks += number;
    if (field == 20) out.threads = number;
    if (field == 22) out.started_ticks = number;
    if (field == 23) out.mapped_bytes = number;
    if (field == 24) out.resident_pages = number;
    if (field == 50) out.variables_begin = number;
    if (field == 51) out.variables_end = number;
    if (p == start) {
      while (*p != ' ' && *p != '\0') ++p;
    }
  }
  return true;
}

}  // namespace

bool read_stat(int proc, const char* process, ProcessStat& out) {
  Text text;
  return read_text(proc, joined({process, "/stat"}).text, text) && find_fields(text, out);
}

bool read_stat(const OpenedFile& file, Text& room, ProcessStat& out) {
  return file.read(room) && find_fields(room, out);
}

bool read_mappings(int proc, const char* process, std::uint64_t most, const Budget& budget,
                   Mappings& out) {
  if (budget.is_spent()) return false;
  MappingReader reader;
  const long fd = open_to_read(proc, joined({process, "/maps"}).text);
  if (fd < 0) return false;
  char buffer[4096];
  bool is_in_time = true;
  while (reader.found.count < most && is_in_time) {
    const long got = raw::call(SYS_read, fd, raw::address(buffer), sizeof buffer);
    if (got <= 0) break;
    for (long i = 0; i < got; ++i) reader.see(buffer[i]);
    is_in_time = !budget.is_spent();
  }
  raw::call(SYS_close, fd);
  out = reader.found;
  return is_in_time;
}

bool may_read_mappings(int proc, const char* process) {
  const long fd = open_to_read(proc, joined({process, "/maps"}).text);
  if (fd < 0) return false;
  raw::call(SYS_close, fd);
  return true;
}

bool count_mappings(int proc, const char* process, std::uint64_t most, const Budget& budget,
                    std::uint64_t& out) {
  const long fd = open_to_read(proc, joined({process, "/maps"}).text);
  if (fd < 0) return false;
  MappingQuery query{};
  query.size = sizeof query;
  query.flags = covering_or_next;
  std::uint64_t count = 0;
  bool is_in_time = true;
  long result = 0;
  while (count < most && is_in_time) {
    result = raw::call(SYS_ioctl, fd, static_cast<long>(query_mapping), raw::address(&query));
    if (result < 0) break;
    ++count;
    query.address = query.end;
    is_in_time = !budget.is_spent();
  }
  raw::call(SYS_close, fd);
  out = count;
  return is_in_time && (result == 0 || result == -ENOENT);  // there is no further mapping
}

bool read_descriptors(int proc, const char* process, Asked asked, const Budget& budget,
                      Descriptors& out) {
  const long descriptors = raw::call(SYS_openat, proc, raw::address(joined({process, "/fd"}).text),
                                     O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptors < 0) return false;
  Descriptors found;
  NumberedEntries entries(static_cast<int>(descriptors));
  const char* name = nullptr;
  std::uint64_t number = 0;
  bool is_read = true;
  while (is_read && entries.next(name, number)) {
    char target[sizeof epoll_instance] = {};
    raw::call(SYS_readlinkat, descriptors, raw::address(name), raw::address(target),
              sizeof target - 1);
    if (begins_with(target, epoll_instance)) {
      ++found.epolls;
      std::uint64_t watches = 0;
      is_read = !asked.watches ||
                count_lines(proc, joined({process, "/fdinfo/", name}).text, 't', budget, watches);
      found.watches += watches;
      found.max_watches = larger(found.max_watches, watches);
    }
    if (begins_with(target, file_of_proc)) ++found.proc_files;
    if (asked.pipes && is_pipe(static_cast<int>(descriptors), name)) ++found.pipe_ends;
    if (begins_with(target, socket)) {
      ++found.sockets;
      Text text;
      std::uint64_t queued = 0;
      if (read_text(proc, joined({process, "/fdinfo/", name}).text, text)) {
        find_number(text.bytes, "scm_fds:", queued);
      }
      found.in_flight += queued;
    }
    is_read = is_read && !budget.is_spent();
  }
  raw::call(SYS_close, descriptors);
  out = found;
  return is_read;
}

NumberedEntries::NumberedEntries(int directory) : directory_(directory) {
  raw::call(SYS_lseek, directory_, 0, SEEK_SET);
}

bool NumberedEntries::next(const char*& name, std::uint64_t& number) {
  for (;;) {
    if (at_ >= filled_) {
      filled_ = raw::call(SYS_getdents64, directory_, raw::address(buffer_), sizeof buffer_);
      at_ = 0;
      if (filled_ <= 0) return false;
    }
    const char* entry = buffer_ + at_;
    std::uint16_t length = 0;
    __builtin_memcpy(&length, entry + length_in_entry, sizeof length);
    at_ += length;
    const char* p = entry + name_in_entry;
    number = parse_number(p);
    if (*p == '\0' && p != entry + name_in_entry) {
      name = entry + name_in_entry;
      return true;
    }
  }
}

}  // namespace jail::child
