// Init's answers to calls of a guest that wait for it (notices.h).
#pragma once

#include <cstdint>

#include "child/notices.h"
#include "child/watch.h"

namespace jail::child {

// Answers a call, and lets an exit_group(2) go on. Shared memory is mapped where
// Watch::count_shared() finds that it fits into `memory_limit`; `shared` is that of all processes
// below the same listener.
//
// Writing to the memory of a process waits while that process changes its mappings, which init must
// not do. Where a process that calls sysinfo(2) has many, a child of init writes in its place; it
// ends with the jail at the latest. When all threads of a program ask at once, some of the calls
// fail and have to be repeated.
void answer_call(Notices& notices, SharedMemory& shared, Watch& watch, const Notice& notice,
                 std::uint64_t memory_limit);

}  // namespace jail::child
