// The variables of a process as /proc shows them: the kernel reads them where it put them for the
// process's execve.
#pragma once

#include <cstdint>

namespace jail::child {

// Puts `variables`, each ended by NUL, in the place of those that the process `pid` was executed
// with, which must be as many bytes. `proc` is a proc mount of this pid namespace. The process must
// wait, and run nothing but what the owner trusts; it may use its first variables no more. Where
// the host lets nobody trace its children (ptrace_scope of Yama), nothing is done. Returns 0 or a
// negative errno: -EPROTO where the sizes differ.
long show_variables(int proc, long pid, const char* variables, std::uint64_t size);

}  // namespace jail::child
