// The whole of some bytes into a descriptor.
#pragma once

#include <string_view>

namespace server {

// False with errno when it cannot all be written. A descriptor that somebody made non-blocking is
// waited for, since it may be shared with the program that started us.
bool write_all(int fd, std::string_view bytes);

}  // namespace server
