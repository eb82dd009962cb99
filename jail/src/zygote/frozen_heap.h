// Makes what the zygote has in memory a file that all of its forks map.
#pragma once

#include <cstddef>

namespace jail::zygote {

// fork() copies the page tables of all private memory that was written to, so its cost grows with
// what the zygote holds. Mappings of a file are filled in when they are touched and not copied. So
// every private writable mapping of this process (heap, anonymous memory, data of libraries) moves
// into a sealed file in memory that is mapped, private as before, in its place: whoever writes gets
// a page of his own, as after any fork.
//
// A mapping that is grown with mremap() would go on in the wrong part of the file, so the C
// library's allocator must not have made any: call keep_allocations_in_heap() before the first big
// one. 0 or an errno; after an error some mappings may have moved, which changes nothing.
int freeze_heap();

void keep_allocations_in_heap();
// In a fork: the allocator as it would be in a process that has run for a while.
void let_allocations_out();

// How much of the private writable memory is resident.
std::size_t resident_private_bytes();

}  // namespace jail::zygote
