// Names to addresses, in a process that does nothing else: it reads the host's files and asks its
// services, which the proxy cannot.
#pragma once

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "egress/wire.h"

namespace jail::egress {

// Blocks. By getaddrinfo(): /etc/hosts, the DNS, whatever this host is set up for.
Found look_up(const std::string& name);

using LookUp = std::function<Found(const std::string&)>;

// Threads that answer one question each, `look_ups_at_once` together, until nobody holds the other
// end of `socket`, which stays the caller's.
std::vector<std::jthread> answer_questions(int socket, const LookUp& look_up);

// Until nobody holds the other end of it.
void wait_for_end(int socket);

}  // namespace jail::egress
