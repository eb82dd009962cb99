// The whole of some bytes into a descriptor.
#pragma once

#include <functional>
#include <string_view>

#include "jail/fd.h"

namespace server {

// False with errno when it cannot all be written. A descriptor that somebody made non-blocking is
// waited for, since it may be shared with the program that started us.
bool write_all(int fd, std::string_view bytes);

// The same, and false with EINTR as soon as `goes_on`, which is asked ten times a second, says no:
// nobody may ever read what is written.
bool write_all_while(int fd, std::string_view bytes, const std::function<bool()>& goes_on);

// How many bytes may be written to `fd` when poll(2) says that it takes some, without waiting as a
// rule: a pipe takes as many at once, a terminal may not.
std::size_t bytes_that_fit(int fd);

// The terminal that `fd` is, opened once more so that writing to it never waits; not valid where it
// is none, or where this user may not open it.
jail::Fd reopened_terminal(int fd);

}  // namespace server
