#include "child/watch.h"

#include <fcntl.h>
#include <linux/kcmp.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <initializer_list>

#include "child/raw_syscall.h"

namespace jail::child {

// A file about a process, and what it calls two sizes of its memory.
struct SizeFile {
  const char* name;
  const char* anonymous;
  const char* other;
};

namespace {

// USER_HZ is 100 on every architecture that this builds for.
constexpr std::uint64_t ns_per_tick = 10'000'000;

struct KernelDirent {  // linux_dirent64
  std::uint64_t inode;
  std::int64_t offset;
  std::uint16_t length;
  std::uint8_t type;
  char name[];
};

// The few fields of /proc/PID/stat that count. See proc(5).
struct ProcessStat {
  int parent = 0;
  std::uint64_t faults_of_children = 0;  // cminflt: of those that it has waited for
  std::uint64_t ticks = 0;               // utime + stime + cutime + cstime
  std::uint64_t resident_pages = 0;
};

long read_file(int directory, const char* path, char* buffer, std::size_t size) {
  const long fd = raw::call(SYS_openat, directory, raw::address(path), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fd;
  std::size_t filled = 0;
  while (filled < size) {
    const long got =
        raw::call(SYS_read, fd, raw::address(buffer + filled), static_cast<long>(size - filled));
    if (got <= 0) break;
    filled += static_cast<std::size_t>(got);
  }
  raw::call(SYS_close, fd);
  return static_cast<long>(filled);
}

const char* skip_spaces(const char* p) {
  while (*p == ' ' || *p == '\t') ++p;
  return p;
}

std::uint64_t parse_number(const char*& p) {
  std::uint64_t value = 0;
  while (*p >= '0' && *p <= '9') value = value * 10 + static_cast<std::uint64_t>(*p++ - '0');
  return value;
}

struct Path {
  char text[64];
};

struct Number {
  explicit Number(int number) {
    char* p = text + sizeof text - 1;
    do {
      *--p = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number != 0);
    std::size_t n = 0;
    while (*p != '\0') text[n++] = *p++;
    text[n] = '\0';
  }
  char text[16] = {};
};

Path path_of(const char* pid, const char* file) {
  Path path{};
  std::size_t n = 0;
  while (*pid != '\0' && n < 16) path.text[n++] = *pid++;
  path.text[n++] = '/';
  while (*file != '\0') path.text[n++] = *file++;
  return path;
}

// The file lists the children of the process's first thread: all there are where it has one thread.
Path children_of(const char* pid) {
  Path path{};
  std::size_t n = 0;
  for (const char* part : {pid, "/task/", pid, "/children"}) {
    while (*part != '\0') path.text[n++] = *part++;
  }
  return path;
}

bool read_stat(int proc, const char* pid, ProcessStat& out) {
  char buffer[1024];
  const long got = read_file(proc, path_of(pid, "stat").text, buffer, sizeof buffer - 1);
  if (got <= 0) return false;
  buffer[got] = '\0';
  // The second field is the name in parentheses, which the guest chooses: go past the last ')'.
  const char* p = nullptr;
  for (long i = got - 1; i >= 0 && p == nullptr; --i) {
    if (buffer[i] == ')') p = buffer + i + 1;
  }
  if (p == nullptr) return false;
  for (int field = 3; *p != '\0' && field <= 24; ++field) {
    p = skip_spaces(p);
    const char* start = p;
    const std::uint64_t number = parse_number(p);
    if (field == 4) out.parent = static_cast<int>(number);
    if (field == 11) out.faults_of_children = number;
    if (field >= 14 && field <= 17) out.ticks += number;
    if (field == 24) out.resident_pages = number;
    if (p == start) {
      while (*p != ' ' && *p != '\0') ++p;
    }
  }
  return true;
}

// The number behind `key` in smaps_rollup or status; false where no line has it.
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

// The same of a size, in bytes.
bool find_size(const char* text, const char* key, std::uint64_t& bytes) {
  if (!find_number(text, key, bytes)) return false;
  bytes *= 1024;
  return true;
}

std::uint64_t larger(std::uint64_t a, std::uint64_t b) { return a > b ? a : b; }

constexpr SizeFile whole = {"status", "RssAnon:", "RssShmem:"};
constexpr SizeFile proportional = {"smaps_rollup", "Pss_Anon:", "Pss_Shmem:"};
constexpr SizeFile inheritable = {"status", "RssAnon:", "VmSwap:"};

struct Sizes {
  std::uint64_t anonymous = 0;
  std::uint64_t other = 0;
};

// Text of a file about a process.
struct Text {
  char bytes[4096];
};

bool read_text(int proc, const char* path, Text& out) {
  const long got = read_file(proc, path, out.bytes, sizeof out.bytes - 1);
  if (got < 0) return false;
  out.bytes[got] = '\0';
  return true;
}

bool read_sizes(int proc, const char* pid, const SizeFile& file, Sizes& out) {
  Text text;
  return read_text(proc, path_of(pid, file.name).text, text) &&
         find_size(text.bytes, file.anonymous, out.anonymous) &&
         find_size(text.bytes, file.other, out.other);
}

}  // namespace

bool Watch::is_thread_of(int thread, int pid) const {
  Text text;
  std::uint64_t process = 0;
  return thread == pid ||
         (read_text(proc_, path_of(Number(thread).text, "status").text, text) &&
          find_number(text.bytes, "Tgid:", process) && process == static_cast<std::uint64_t>(pid));
}

bool Watch::is_alone(int pid, std::uint64_t& memory_peak) const {
  const Number name(pid);
  Text text;
  std::uint64_t threads = 0;
  if (!read_text(proc_, path_of(name.text, "status").text, text) ||
      !find_number(text.bytes, "Threads:", threads) || threads != 1 ||
      !find_size(text.bytes, "VmHWM:", memory_peak)) {
    return false;
  }
  ProcessStat stat;
  if (!read_stat(proc_, name.text, stat) || stat.faults_of_children != 0) return false;
  // Every other process descends from init or from this one.
  if (!read_text(proc_, children_of(name.text).text, text) || text.bytes[0] != '\0') return false;
  if (!read_text(proc_, "1/task/1/children", text)) return false;
  const char* p = text.bytes;
  return parse_number(p) == static_cast<std::uint64_t>(pid) && *skip_spaces(p) == '\0';
}

template <class Visit>
void Watch::each_process(Visit visit) const {
  alignas(KernelDirent) char buffer[8192];
  raw::call(SYS_lseek, proc_, 0, SEEK_SET);
  for (;;) {
    const long got = raw::call(SYS_getdents64, proc_, raw::address(buffer), sizeof buffer);
    if (got <= 0) return;
    for (long at = 0; at < got;) {
      const auto* entry = reinterpret_cast<const KernelDirent*>(buffer + at);
      at += entry->length;
      const char* p = entry->name;
      const std::uint64_t pid = parse_number(p);
      ProcessStat stat;
      if (*p == '\0' && pid > 1 && read_stat(proc_, entry->name, stat)) {
        visit(entry->name, static_cast<int>(pid), stat);
      }
    }
  }
}

std::uint64_t Watch::tmpfs_bytes() const {
  std::uint64_t bytes = 0;
  const int directories[] = {workspace_, tmp_};
  for (const int directory : directories) {
    struct statfs usage {};
    if (raw::call(SYS_fstatfs, directory, raw::address(&usage)) == 0) {
      bytes += static_cast<std::uint64_t>(usage.f_blocks - usage.f_bfree) *
               static_cast<std::uint64_t>(usage.f_bsize);
    }
  }
  return bytes;
}

WatchedMemory Watch::memory_without_files(const SizeFile& file, std::uint64_t tmpfs) const {
  Sizes all;
  std::uint64_t largest = 0;
  each_process([&](const char* name, int pid, const ProcessStat& stat) {
    // A vfork child runs in its parent's memory until it executes: that is no second copy.
    if (stat.parent > 1 && raw::call(SYS_kcmp, pid, stat.parent, KCMP_VM, 0, 0) == 0) return;
    Sizes own;
    const bool is_read = read_sizes(proc_, name, file, own);
    if (is_read) largest = larger(largest, own.anonymous);
    // It has just ended, or made itself unreadable and gets no discount, or its sizes stand behind
    // so many groups that they are not found.
    ProcessStat again;
    if (!is_read && read_stat(proc_, name, again)) {
      own = {again.resident_pages * page_bytes_, 0};
    }
    all.anonymous += own.anonymous;
    all.other += own.other;
  });
  // Mapped files of the tmpfs are in both figures, so the larger one stands for both.
  return {tmpfs + (largest > inherited_ ? largest - inherited_ : 0),
          all.anonymous + larger(all.other, tmpfs)};
}

void Watch::note_inherited() {
  each_process([&](const char* name, int, const ProcessStat& stat) {
    if (stat.resident_pages == 0) return;  // ended, not yet reaped
    Sizes own;
    const bool is_read = read_sizes(proc_, name, inheritable, own);
    inherited_ = is_read ? larger(inherited_, own.anonymous + own.other) : ~std::uint64_t{0};
  });
}

WatchedUsage Watch::measure(std::uint64_t memory_limit) const {
  WatchedUsage usage;
  each_process([&](const char*, int, const ProcessStat& stat) {
    usage.cpu_ns += stat.ticks * ns_per_tick;
    usage.memory.most += stat.resident_pages * page_bytes_;
  });
  const std::uint64_t tmpfs = tmpfs_bytes();
  usage.memory.most += tmpfs;
  if (usage.memory.most > memory_limit) usage.memory = memory_without_files(whole, tmpfs);
  return usage;
}

std::uint64_t Watch::walk() const { return memory_without_files(proportional, tmpfs_bytes()).most; }

}  // namespace jail::child
