// The rights that the proxy and the look-ups give up before they read a byte of a stranger:
// privileges, files, most of the kernel.
#pragma once

#include <cstdint>
#include <string_view>

#include "egress/wire.h"

namespace jail::egress {

enum class Files : std::uint8_t { none, readable };

// Confines the calling thread and all threads that it makes from then on, irrevocably. `filter` is
// a seccomp program, an array of struct sock_filter; `files` says which files stay accessible.
// Where a step fails the caller must end.
Confinement confine(std::string_view filter, Files files);

// Must be called when the last thread has been made.
void make_no_more_threads();

}  // namespace jail::egress
