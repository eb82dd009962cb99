// What proxy and look-ups give up before they read a byte of a stranger: rights, files, most of the
// kernel.
#pragma once

#include <cstdint>
#include <string_view>

#include "egress/wire.h"

namespace jail::egress {

enum class Files : std::uint8_t { none, readable };

// For the calling thread and all that it makes from then on, and for good. `filter` is a seccomp
// program: struct sock_filter, one after the other; `files` is what it leaves of them. Where a step
// fails the caller has to end.
Confinement confine(std::string_view filter, Files files);

// Called when the last thread is made.
void make_no_more_threads();

}  // namespace jail::egress
