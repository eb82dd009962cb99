// What init answers to calls of a guest that wait for it (notices.h).
#pragma once

#include <cstdint>

#include "child/notices.h"
#include "child/watch.h"

namespace jail::child {

// Answers sysinfo(2). Writing to the memory of a process waits while that process changes its
// mappings, which init must not do. Where a process has many, a child of init writes in its place;
// it ends with the jail at the latest. When all threads of a program ask at once, some are told to
// ask again.
void tell_about_system(Notices& notices, Watch& watch, const Notice& notice);

// Answers mmap(2) of memory that processes share, by what Watch::count_shared() says.
void answer_shared_memory(Notices& notices, Watch& watch, const Notice& notice,
                          std::uint64_t memory_limit);

}  // namespace jail::child
