#include "zygote/frozen_heap.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "child/raw_syscall.h"

namespace jail::zygote {
namespace {

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t in_memory = (1ULL << 63) | (1ULL << 62);  // present or swapped: pagemap(5)

struct Mapping {
  std::uint64_t begin;
  std::uint64_t end;
  bool is_file;
};

// Static, since this library's own memory is the one thing that stays as it is: nothing else may be
// written to between the copy of a page and the moment its new mapping stands.
constexpr std::size_t most_mappings = 4096;
Mapping mappings[most_mappings];
char text[1 << 16];
std::uint64_t entries[512];

bool is_own(std::uint64_t begin, std::uint64_t end) {
  const struct {
    const void* begin;
    std::size_t size;
  } owns[] = {{mappings, sizeof mappings}, {text, sizeof text}, {entries, sizeof entries}};
  for (const auto& own : owns) {
    const auto address = reinterpret_cast<std::uint64_t>(own.begin);
    if (address < end && begin < address + own.size) return true;
  }
  return false;
}

// One line of /proc/self/maps: "begin-end perms offset dev inode path".
bool parse(char* line, Mapping& mapping) {
  char* at = line;
  mapping.begin = std::strtoull(at, &at, 16);
  mapping.end = std::strtoull(at + 1, &at, 16);
  if (std::strncmp(at, " rw-p ", 6) != 0) return false;
  const char* path = std::strchr(line, '/');
  const char* special = std::strchr(line, '[');
  if (special != nullptr && std::strcmp(special, "[heap]") != 0) return false;
  if (path != nullptr && std::strncmp(path, "/memfd:", 7) == 0) return false;
  mapping.is_file = path != nullptr;
  return !is_own(mapping.begin, mapping.end);
}

// How many there are, or a negative errno.
long find_mappings() {
  const int maps = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (maps < 0) return -errno;
  std::size_t kept = 0;
  std::size_t count = 0;
  for (;;) {
    const ssize_t got = ::read(maps, text + kept, sizeof text - 1 - kept);
    if (got <= 0) break;
    text[kept + static_cast<std::size_t>(got)] = '\0';
    char* line = text;
    while (char* newline = std::strchr(line, '\n')) {
      *newline = '\0';
      if (count == most_mappings) {
        ::close(maps);
        return -E2BIG;
      }
      if (parse(line, mappings[count])) ++count;
      line = newline + 1;
    }
    kept = std::strlen(line);
    std::memmove(text, line, kept);
  }
  ::close(maps);
  return static_cast<long>(count);
}

// From here on raw calls only: errno is memory that moves.
long copy_range(long file, std::uint64_t begin, std::uint64_t end, std::uint64_t offset) {
  while (begin < end) {
    const long put = raw::call(SYS_pwrite64, file, static_cast<long>(begin),
                               static_cast<long>(end - begin), static_cast<long>(offset));
    if (put <= 0) return put == 0 ? -EIO : put;
    begin += static_cast<std::uint64_t>(put);
    offset += static_cast<std::uint64_t>(put);
  }
  return 0;
}

// Of anonymous memory only what is there; the rest is zero in a file as well.
long copy_resident(long file, long pagemap, const Mapping& mapping, std::uint64_t offset) {
  constexpr std::uint64_t batch = sizeof entries / sizeof entries[0];
  for (std::uint64_t at = mapping.begin; at < mapping.end;) {
    const std::uint64_t left = (mapping.end - at) / page_bytes;
    const std::uint64_t pages = left < batch ? left : batch;
    const long got = raw::call(SYS_pread64, pagemap, raw::address(entries),
                               static_cast<long>(pages * sizeof entries[0]),
                               static_cast<long>(at / page_bytes * sizeof entries[0]));
    if (got <= 0) return got == 0 ? -EIO : got;
    const std::uint64_t known = static_cast<std::uint64_t>(got) / sizeof entries[0];
    for (std::uint64_t i = 0; i < known;) {
      std::uint64_t run = i;
      while (run < known && (entries[run] & in_memory) != 0) ++run;
      if (run > i) {
        const long done = copy_range(file, at + i * page_bytes, at + run * page_bytes,
                                     offset + (at - mapping.begin) + i * page_bytes);
        if (done < 0) return done;
        i = run;
      } else {
        ++i;
      }
    }
    at += known * page_bytes;
  }
  return 0;
}

long move_all(long count, long file, long pagemap) {
  std::uint64_t offset = 0;
  for (long i = 0; i < count; ++i) {
    const Mapping& mapping = mappings[i];
    const std::uint64_t size = mapping.end - mapping.begin;
    const long copied = mapping.is_file ? copy_range(file, mapping.begin, mapping.end, offset)
                                        : copy_resident(file, pagemap, mapping, offset);
    if (copied < 0) return copied;
    const long placed =
        raw::call(SYS_mmap, static_cast<long>(mapping.begin), static_cast<long>(size),
                  PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file, static_cast<long>(offset));
    if (placed < 0 && placed > -4096) return placed;
    offset += size;
  }
  return 0;
}

}  // namespace

int freeze_heap() {
  const long count = find_mappings();
  if (count < 0) return static_cast<int>(-count);
  std::uint64_t total = 0;
  for (long i = 0; i < count; ++i) total += mappings[i].end - mappings[i].begin;
  const long file = ::memfd_create("jail-heap", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  const long pagemap = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (file < 0 || pagemap < 0) return errno;
  if (::ftruncate(static_cast<int>(file), static_cast<off_t>(total)) != 0) return errno;
  long done = move_all(count, file, pagemap);
  if (done == 0) {
    done = raw::call(SYS_fcntl, file, F_ADD_SEALS,
                     F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
  }
  ::close(static_cast<int>(file));
  ::close(static_cast<int>(pagemap));
  return static_cast<int>(-done);
}

void keep_allocations_in_heap() { ::mallopt(M_MMAP_MAX, 0); }

void let_allocations_out() {
  // What glibc arrives at by itself in a program that frees a few large blocks; it stops to adapt
  // once it was told anything.
  ::mallopt(M_MMAP_MAX, 65536);
  ::mallopt(M_MMAP_THRESHOLD, 4 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 8 << 20);
}

std::size_t resident_private_bytes() {
  const int statm = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (statm < 0) return 0;
  char line[128] = {};
  const ssize_t got = ::read(statm, line, sizeof line - 1);
  ::close(statm);
  if (got <= 0) return 0;
  char* at = line;
  std::strtoull(at, &at, 10);
  const std::uint64_t resident = std::strtoull(at, &at, 10);
  const std::uint64_t shared = std::strtoull(at, &at, 10);  // of files
  return (resident > shared ? resident - shared : 0) * page_bytes;
}

}  // namespace jail::zygote
