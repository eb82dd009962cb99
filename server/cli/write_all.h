// The whole of some bytes into a descriptor.
#pragma once

#include <functional>
#include <string_view>

#include "jail/fd.h"

namespace server {

// False with errno when it cannot all be written. A descriptor that somebody made non-blocking is
// waited for, since it may be shared with the program that started us.
bool write_all(int fd, std::string_view bytes);

// Writes to standard output. Returns 0, or the exit status after saying why it cannot be written;
// where nobody reads any more nothing is said, and it is that of the broken pipe's signal.
int print(std::string_view bytes);

// The same as write_all(), and false with EINTR as soon as `goes_on`, which is asked ten times a
// second, says no: nobody may ever read what is written.
bool write_all_while(int fd, std::string_view bytes, const std::function<bool()>& goes_on);

// Whether poll(2) says right now that `fd` takes some.
bool takes_bytes(int fd);

// The same as write_all(), in pieces, each after `can_write` has waited until poll(2) says that
// `fd` takes some; it returns false to end the writing with EINTR.
bool write_when(int fd, std::string_view bytes, const std::function<bool()>& can_write);

// The terminal that `fd` is, opened once more so that writing to it never waits; not valid where it
// is none, or where this user may not open it.
jail::Fd reopened_terminal(int fd);

}  // namespace server
