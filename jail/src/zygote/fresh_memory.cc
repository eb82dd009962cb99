#include "zygote/fresh_memory.h"

#include <dlfcn.h>
#include <malloc.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace jail::zygote {
namespace {

// The interpreter's allocator: blocks of one size in pools, whose first block follows their header.
constexpr std::size_t pool_bytes = 16 << 10;
constexpr std::size_t header_bytes = 48;
constexpr std::size_t block_step = 16;
constexpr std::size_t max_block_bytes = 512;
// All gaps of one size are some pools at most. Where more is given the allocator is another one.
constexpr std::size_t max_filled_bytes = 4 << 20;

// The C library's: what it gives for requests of these sizes has been cached or sorted by size.
constexpr std::size_t max_sorted_bytes = 1032;
constexpr std::size_t min_sorted_bytes = 24;
constexpr std::size_t max_gap_bytes = 64 << 10;  // of which larger ones are several

void fill_pools() {
  const auto allocate =
      reinterpret_cast<void* (*)(std::size_t)>(dlsym(RTLD_DEFAULT, "PyObject_Malloc"));
  const auto release = reinterpret_cast<void (*)(void*)>(dlsym(RTLD_DEFAULT, "PyObject_Free"));
  if (allocate == nullptr || release == nullptr) return;
  for (std::size_t size = block_step; size <= max_block_bytes; size += block_step) {
    for (std::size_t filled = 0;; filled += size) {
      void* block = allocate(size);
      if (block == nullptr || filled > max_filled_bytes) return;
      if (reinterpret_cast<std::uintptr_t>(block) % pool_bytes == header_bytes) {
        release(block);  // and the pool with it, which serves any size again
        break;
      }
    }
  }
}

// What is allocated here is never used: only its place in the heap counts.
// NOLINTBEGIN(cppcoreguidelines-no-malloc)

// The compiler leaves out allocations that it knows nobody uses.
void* volatile taken;

void fill_heap() {
  const auto top = reinterpret_cast<std::uintptr_t>(::sbrk(0)) - ::mallinfo2().keepcost;
  const auto fill = [top](std::size_t size) {
    do {
      taken = std::malloc(size);
    } while (taken != nullptr && reinterpret_cast<std::uintptr_t>(taken) < top);
  };
  for (std::size_t size = max_gap_bytes; size > max_sorted_bytes; size /= 2) {
    fill(size);
    std::free(taken);
  }
  // The last of each stays: in a cache of its size it would be given to the next request, amid
  // others.
  for (std::size_t size = max_sorted_bytes; size >= min_sorted_bytes; size -= 16) fill(size);
}

// Pages that are not there yet cannot be made a fork's own ahead.
void widen_heap() {
  constexpr std::size_t room = 100 << 10;  // so little is not mapped by itself; the rest is trimmed
  taken = std::malloc(room);
  void* const first = taken;
  taken = std::malloc(room);
  std::free(taken);
  std::free(first);
}

// NOLINTEND(cppcoreguidelines-no-malloc)

}  // namespace

void leave_no_gaps() {
  fill_pools();
  fill_heap();
  widen_heap();
}

}  // namespace jail::zygote
