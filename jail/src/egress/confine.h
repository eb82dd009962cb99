// What the proxy gives up before it reads a byte of a stranger: rights, files, most of the kernel.
#pragma once

#include <string_view>

#include "egress/wire.h"

namespace jail::egress {

// For the calling thread and all that it makes from then on, and for good. `filter` is a seccomp
// program: struct sock_filter, one after the other. Where a step fails the caller has to end.
Confinement confine(std::string_view filter);

// Called when the last thread is made.
void make_no_more_threads();

}  // namespace jail::egress
