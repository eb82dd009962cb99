// Resolves names to addresses, in a process that does nothing else: it reads the host's files and
// asks its services, which the proxy cannot.
#pragma once

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "egress/wire.h"

namespace jail::egress {

// Blocks. Uses getaddrinfo(), and so /etc/hosts, the DNS and whatever this host is configured for.
Found look_up(const std::string& name);

using LookUp = std::function<Found(const std::string&)>;

// Starts `look_ups_at_once` threads that answer one question each at a time, until nobody holds the
// other end of `socket`. The caller keeps `socket`.
std::vector<std::jthread> answer_questions(int socket, const LookUp& look_up);

// Blocks until nobody holds the other end of `socket`.
void wait_for_end(int socket);

}  // namespace jail::egress
