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
#include "zygote/mappings.h"

namespace jail::zygote {
namespace {

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t in_memory = (1ULL << 63) | (1ULL << 62);  // present or swapped: pagemap(5)

constexpr std::uint64_t block_bytes = 2 << 20;  // what one large page holds
constexpr std::uint64_t block_pages = block_bytes / page_bytes;
constexpr long madv_collapse = 25;  // Linux 6.1

struct Area {
  std::uint64_t begin;
  std::uint64_t end;
  std::uint64_t offset;  // in the file
  bool is_file;
};

// Static, since this library's own memory is the one thing that stays as it is: nothing else may be
// written to between the copy of a page and the moment its new mapping stands.
struct Areas {
  static constexpr std::size_t most = 4096;
  Area list[most];
  std::size_t count;
  bool too_many;
};
Areas areas;
std::uint64_t entries[512];

bool is_own(const Mapping& mapping) {
  const struct {
    const void* begin;
    std::size_t size;
  } owns[] = {{&areas, sizeof areas}, {entries, sizeof entries}};
  for (const auto& own : owns) {
    const auto address = reinterpret_cast<std::uint64_t>(own.begin);
    if (address < mapping.end && mapping.begin < address + own.size) return true;
  }
  return false;
}

bool note(const Mapping& mapping, void*) {
  if (std::strcmp(mapping.access, "rw-p") != 0 || is_own(mapping)) return true;
  const char* name = mapping.name;
  const bool is_heap = std::strcmp(name, "[heap]") == 0;
  if (name[0] == '[' && !is_heap) return true;
  if (std::strncmp(name, "/memfd:", 7) == 0) return true;
  areas.too_many = areas.count == Areas::most;
  if (areas.too_many) return false;
  // The heap's first page is never given back. As anonymous memory it is what shows a guest its
  // "[heap]", also when the guest has trimmed all that was anonymous behind the frozen part.
  const std::uint64_t begin = mapping.begin + (is_heap ? page_bytes : 0);
  if (begin == mapping.end) return true;
  areas.list[areas.count++] = {begin, mapping.end, 0, name[0] == '/'};
  return true;
}

// The C library's state of random numbers is such memory: out of a file, every fork would draw the
// same.
bool leave_out(const Mapping& mapping, void*) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < areas.count; ++i) {
    const Area area = areas.list[i];
    const bool is_inside = mapping.begin <= area.begin && area.end <= mapping.end;
    if (!is_inside) areas.list[kept++] = area;
  }
  areas.count = kept;
  return true;
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

// Copies only the pages of anonymous memory that are there; the rest is zero in a file as well.
long copy_resident(long file, long pagemap, const Area& area) {
  constexpr std::uint64_t batch = sizeof entries / sizeof entries[0];
  for (std::uint64_t at = area.begin; at < area.end;) {
    const std::uint64_t left = (area.end - at) / page_bytes;
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
                                     area.offset + (at - area.begin) + i * page_bytes);
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

std::uint64_t up_to_block(std::uint64_t place) {
  return (place + block_bytes - 1) & ~(block_bytes - 1);
}

// Where each area goes in the file; its size. Memory that a large page can be mapped into keeps its
// place within one.
std::uint64_t lay_out() {
  std::uint64_t offset = 0;
  for (std::size_t i = 0; i < areas.count; ++i) {
    Area& area = areas.list[i];
    const std::uint64_t first_block = up_to_block(area.begin);
    if (first_block + block_bytes <= area.end) {
      offset = up_to_block(offset) + area.begin % block_bytes;
    }
    area.offset = offset;
    offset += area.end - area.begin;
  }
  return offset;
}

long copy_all(long file, long pagemap) {
  for (std::size_t i = 0; i < areas.count; ++i) {
    const Area& area = areas.list[i];
    const long copied = area.is_file ? copy_range(file, area.begin, area.end, area.offset)
                                     : copy_resident(file, pagemap, area);
    if (copied < 0) return copied;
  }
  return 0;
}

// Large pages make it cheap to map what is around a page that is touched, and to unmap it at the
// end. A kernel that has none for files in memory leaves the file as it is.
void use_large_pages(long file, std::uint64_t size) {
  const long reserved = raw::call(SYS_mmap, 0, static_cast<long>(size + block_bytes), PROT_NONE,
                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (reserved < 0 && reserved > -4096) return;
  const auto begin = static_cast<long>(up_to_block(static_cast<std::uint64_t>(reserved)));
  const long mapped = raw::call(SYS_mmap, begin, static_cast<long>(size), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_FIXED, file, 0);
  auto* resident = reinterpret_cast<unsigned char*>(entries);
  for (std::uint64_t at = 0; mapped == begin && at + block_bytes <= size; at += block_bytes) {
    const long block = begin + static_cast<long>(at);
    if (raw::call(SYS_mincore, block, block_bytes, raw::address(resident)) != 0) break;
    std::uint64_t filled = 0;
    for (std::uint64_t page = 0; page < block_pages; ++page) filled += resident[page] & 1;
    if (filled >= block_pages / 2) raw::call(SYS_madvise, block, block_bytes, madv_collapse);
  }
  raw::call(SYS_munmap, reserved, static_cast<long>(size + block_bytes));
}

long map_all(long file) {
  for (std::size_t i = 0; i < areas.count; ++i) {
    const Area& area = areas.list[i];
    const long placed = raw::call(SYS_mmap, static_cast<long>(area.begin),
                                  static_cast<long>(area.end - area.begin), PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_FIXED, file, static_cast<long>(area.offset));
    if (placed < 0 && placed > -4096) return placed;
  }
  return 0;
}

}  // namespace

int freeze_heap() {
  areas.count = 0;
  if (const int error = visit_mappings(note, nullptr); error != 0) return error;
  if (areas.too_many) return E2BIG;
  if (const int error = visit_mappings_not_inherited(leave_out, nullptr); error != 0) return error;
  const std::uint64_t size = lay_out();
  const long file = ::memfd_create("jail-heap", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  const long pagemap = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (file < 0 || pagemap < 0) return errno;
  if (::ftruncate(static_cast<int>(file), static_cast<off_t>(size)) != 0) return errno;
  long done = copy_all(file, pagemap);
  if (done == 0) {
    use_large_pages(file, size);
    done = map_all(file);
  }
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
