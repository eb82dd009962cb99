#include "server/cli/sandbox/listen_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <list>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "jail/fd.h"
#include "runtime/config/config.h"
#include "runtime/json/members.h"
#include "server/cli/exit_codes.h"
#include "server/cli/sandbox/followed_events.h"
#include "server/cli/sandbox/json_text.h"
#include "server/cli/sandbox/tunnel.h"

namespace server::client {
namespace {

namespace json = runtime::json;

constexpr int max_waiting_clients = 128;
// A sandbox has at most 64; whoever comes beyond that is refused by the server.
constexpr std::size_t max_tunnels = 128;

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  sockaddr* pointer() { return reinterpret_cast<sockaddr*>(&storage); }
};

SocketAddress socket_address_of(const ListenAddress& listen) {
  SocketAddress address;
  auto& four = reinterpret_cast<sockaddr_in&>(address.storage);
  if (::inet_pton(AF_INET, listen.address.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = htons(listen.port);
    address.size = sizeof(sockaddr_in);
    return address;
  }
  auto& six = reinterpret_cast<sockaddr_in6&>(address.storage);
  six = {};
  ::inet_pton(AF_INET6, listen.address.c_str(), &six.sin6_addr);
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(listen.port);
  address.size = sizeof(sockaddr_in6);
  return address;
}

std::string shown_address(const std::string& address, std::uint16_t port) {
  const bool is_six = address.find(':') != address.npos;
  return (is_six ? "[" + address + "]" : address) + ":" + std::to_string(port);
}

// Opens the port. `listen` gets the number that the kernel has chosen.
jail::Result<jail::Fd> open_port(ListenAddress& listen) {
  SocketAddress address = socket_address_of(listen);
  jail::Fd socket(
      ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int yes = 1;
  if (socket.valid()) {
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (address.storage.ss_family == AF_INET6) {
      ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
    }
  }
  const bool is_open = socket.valid() &&
                       ::bind(socket.get(), address.pointer(), address.size) == 0 &&
                       ::listen(socket.get(), max_waiting_clients) == 0 &&
                       ::getsockname(socket.get(), address.pointer(), &address.size) == 0;
  if (!is_open) {
    const int error = errno;
    std::string why = std::generic_category().message(error);
    if (error == EADDRINUSE) why = "another program uses this port";
    if (error == EADDRNOTAVAIL) why = "this host does not have this address";
    if (error == EACCES) why = "this user may not use this port";
    return jail::invalid("--listen " + shown_address(listen.address, listen.port) + ": " + why);
  }
  const bool is_six = address.storage.ss_family == AF_INET6;
  listen.port = ntohs(is_six ? reinterpret_cast<sockaddr_in6&>(address.storage).sin6_port
                             : reinterpret_cast<sockaddr_in&>(address.storage).sin_port);
  return socket;
}

class PortListener {
 public:
  PortListener(ServerClient& client, jail::Fd socket, std::string path)
      : client_(client), socket_(std::move(socket)), path_(std::move(path)) {}

  void add_awaited(std::vector<pollfd>& all) const {
    const bool has_room = tunnels_.size() < max_tunnels && !is_exhausted_;
    all.push_back({.fd = has_room ? socket_.get() : -1, .events = POLLIN, .revents = 0});
    for (const auto& tunnel : tunnels_) {
      for (const pollfd& entry : tunnel->awaited()) {
        if (entry.fd >= 0) all.push_back(entry);
      }
    }
  }

  void move() {
    accept();
    for (auto at = tunnels_.begin(); at != tunnels_.end();) {
      (*at)->move();
      if (!(*at)->is_over()) {
        ++at;
        continue;
      }
      if (!(*at)->complaint().empty()) server::fail(0, (*at)->complaint());
      at = tunnels_.erase(at);
      is_exhausted_ = false;
    }
  }

 private:
  void accept() {
    while (tunnels_.size() < max_tunnels) {
      jail::Fd local(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!local.valid()) {
        // The client waits until a descriptor is free.
        is_exhausted_ = !tunnels_.empty() && (errno == EMFILE || errno == ENFILE);
        return;
      }
      const int yes = 1;
      ::setsockopt(local.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
      tunnels_.push_back(std::make_unique<Tunnel>(client_, std::move(local), path_));
    }
  }

  ServerClient& client_;
  const jail::Fd socket_;
  const std::string path_;
  std::list<std::unique_ptr<Tunnel>> tunnels_;
  bool is_exhausted_ = false;
};

}  // namespace

int listen_for_port(ServerClient& client, const PortOptions& options) {
  const auto answer = client.get(sandbox_path(options.id));
  if (!answer) return refused(client, answer.error());
  const auto sandbox = json::parse(*answer, "answer");
  const std::string id = sandbox ? json::text_member(&*sandbox, "id") : std::string();
  if (id.empty()) return fail_unreadable();
  if (json::text_member(&*sandbox, "state") == "ended") {
    return server::fail(exit_refused, "the sandbox has ended");
  }
  ListenAddress listen = *options.listen;
  auto socket = open_port(listen);
  if (!socket) return server::fail(exit_usage, socket.error().message());
  const std::string here = shown_address(listen.address, listen.port);
  const std::string port = std::to_string(options.port);
  if (!runtime::is_loopback(listen.address)) {
    server::fail(0, "everybody who reaches " + here + " can use port " + port + " of the sandbox");
  }
  if (const int failed = print(client, here + "\n")) return failed;
  // Another sandbox may get the name later; this is about the one that has it now.
  PortListener listener(client, std::move(*socket), sandbox_path(id) + "/tunnel?port=" + port);
  const auto add_awaited = [&](std::vector<pollfd>& all) { listener.add_awaited(all); };
  const auto on_event = [](const FollowedEvent& event) {
    if (event.type == "end") tell_end(event.data);
    return 0;
  };
  return follow(
      client, {.path = sandbox_path(id) + "/events?follow=true"}, {}, on_event,
      [&] { listener.move(); }, add_awaited);
}

}  // namespace server::client
