// A process that shares this one's memory and does nothing else.
#pragma once

namespace jail::zygote {

// When a program ends, its process takes its address space apart before anybody is told that it has
// ended, and that takes longer than most programs run. While another process shares the memory the
// exit is reported at once, and the memory goes when init ends.
//
// The program can change every byte of the memory that the holder runs in, so the holder may make
// no system call but read, write and exit (seccomp's strict mode), has no descriptor but one that
// nothing ever comes out of, and keeps one useless capability: who has none cannot look at it in
// /proc. It takes a process number out of the way of the program's own. To be called with the
// capabilities of the jail's user namespace. 0 or an errno.
int start_memory_holder();

// Until the holder has given up its system calls.
void wait_for_memory_holder();

}  // namespace jail::zygote
