#include "egress/look_up.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "egress/destination.h"

namespace jail::egress {
namespace {

void serve(int socket, const LookUp& look_up) {
  char datagram[max_question_bytes];
  for (;;) {
    const ssize_t got = ::recv(socket, datagram, sizeof datagram, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    const auto question = parse_question({datagram, static_cast<std::size_t>(got)});
    if (!question) continue;  // the proxy sends no such question, and nobody waits for the answer
    // The proxy has judged the name already; this check is for a proxy that somebody has taken
    // over.
    const bool is_name = canonical_name(question->name) == question->name;
    const std::string answer = to_datagram(
        Answer{question->slot, is_name ? look_up(question->name) : Found{{}, "no name"}});
    if (::send(socket, answer.data(), answer.size(), MSG_NOSIGNAL) < 0) return;
  }
}

}  // namespace

Found look_up(const std::string& name) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* list = nullptr;
  const int error = ::getaddrinfo(name.c_str(), nullptr, &hints, &list);
  if (error != 0) return {{}, ::gai_strerror(error)};
  Found found;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    if (entry->ai_family == AF_INET) {
      const auto* v4 = reinterpret_cast<const sockaddr_in*>(entry->ai_addr);
      found.addresses.push_back(
          address_of_v4(reinterpret_cast<const std::uint8_t*>(&v4->sin_addr)));
    } else if (entry->ai_family == AF_INET6) {
      const auto* v6 = reinterpret_cast<const sockaddr_in6*>(entry->ai_addr);
      found.addresses.push_back(address_of_v6(v6->sin6_addr.s6_addr));
    }
  }
  ::freeaddrinfo(list);
  if (found.addresses.empty()) found.trouble = "no address";
  return found;
}

std::vector<std::jthread> answer_questions(int socket, const LookUp& look_up) {
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < look_ups_at_once; ++i) {
    threads.emplace_back([=] { serve(socket, look_up); });
  }
  return threads;
}

void wait_for_end(int socket) {
  pollfd end{socket, 0, 0};  // POLLHUP is reported without being requested
  while (::poll(&end, 1, -1) < 0 && errno == EINTR) {
  }
}

}  // namespace jail::egress
