// What the kernel shows of a process's arguments and environment.
#pragma once

namespace jail::zygote {

// The text of /proc/self/environ ends where the variable `name` begins: it was the last one.
// 0 or an errno.
int end_environment_before(const char* name);

// Both are blocks of texts, each ended by NUL, that stay where they are. 0 or an errno.
int show_arguments(char* arguments, char* arguments_end, char* environment, char* environment_end);

}  // namespace jail::zygote
