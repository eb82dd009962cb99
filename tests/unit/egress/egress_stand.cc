// The proxy as the library starts it, with listening sockets of this host in place of a jail's: for
// tests that drive it with third-party clients.
//
//   egress_stand [--rule RULE] [--address NAME=IP] [--connections N] [--idle S] [--connect S]
//   [--jails N]
//
// Prints "ports", and "pid" of the proxy, then a line for each decision, its parts between tabs;
// last "closed". Takes "close N" (the end of a jail, counted from 0), "pause", "resume" (taking
// decisions) and "kill" (the proxy) as lines; ends with its input.
#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "jail/egress.h"
#include "parent/fd_passing.h"

namespace {

struct Arguments {
  std::vector<std::string> rules;
  jail::EgressOptions options;
  int jails = 1;
};

Arguments parse(int count, char** values) {
  Arguments arguments;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string name = values[i];
    const std::string value = values[i + 1];
    if (name == "--rule") arguments.rules.push_back(value);
    if (name == "--address") {
      const auto equals = value.find('=');
      arguments.options.addresses.emplace_back(value.substr(0, equals), value.substr(equals + 1));
    }
    if (name == "--connections") {
      arguments.options.connections_per_jail = static_cast<std::uint32_t>(std::stoul(value));
    }
    if (name == "--idle") arguments.options.idle = std::chrono::seconds(std::stoi(value));
    if (name == "--connect") arguments.options.connect = std::chrono::seconds(std::stoi(value));
    if (name == "--jails") arguments.jails = std::stoi(value);
  }
  return arguments;
}

struct Listener {
  jail::Fd fd;
  int port = 0;
};

Listener listen_on_loopback() {
  Listener listener{jail::Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* place = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener.fd.get(), place, size) != 0 || ::listen(listener.fd.get(), 128) != 0 ||
      ::getsockname(listener.fd.get(), place, &size) != 0) {
    std::perror("listen");
    std::exit(1);
  }
  listener.port = ntohs(address.sin_port);
  return listener;
}

void print(const jail::EgressDecision& decision) {
  std::printf("%s\t%s\t%s\t%s\t%s\t%s\t%llu\t%llu\t%llu\n",
              decision.event == jail::EgressEvent::ended ? "ended" : "decided",
              decision.jail.c_str(), decision.destination.c_str(), decision.address.c_str(),
              decision.allowed ? "allowed" : "refused", decision.reason.c_str(),
              static_cast<unsigned long long>(decision.sent),
              static_cast<unsigned long long>(decision.received),
              static_cast<unsigned long long>(decision.dropped));
}

std::string pid_of(int pidfd) {
  std::ifstream facts("/proc/self/fdinfo/" + std::to_string(pidfd));
  std::string word;
  while (facts >> word && word != "Pid:") {
  }
  facts >> word;
  return word;
}

class Stand {
 public:
  Stand(jail::EgressProxy proxy, std::vector<jail::Fd> ends)
      : proxy_(std::move(proxy)), ends_(std::move(ends)) {}

  void run() {
    while (!over_) {
      pollfd watched[] = {{STDIN_FILENO, POLLIN, 0}, {takes_ ? proxy_.event_fd() : -1, POLLIN, 0}};
      if (::poll(watched, 2, -1) < 0) continue;
      if (watched[1].revents != 0) take_decisions();
      if (watched[0].revents != 0) read_input();
      std::fflush(stdout);
    }
  }

 private:
  void take_decisions() {
    const auto decisions = proxy_.decisions();
    if (!decisions) {
      std::puts(decisions.error().kind == jail::ErrorKind::closed ? "closed" : "another error");
      takes_ = false;
      return;
    }
    for (const auto& decision : *decisions) print(decision);
  }

  void read_input() {
    char bytes[256];
    const ssize_t got = ::read(STDIN_FILENO, bytes, sizeof bytes);
    over_ = got <= 0;
    for (ssize_t i = 0; i < got; ++i) {
      if (bytes[i] == '\n') {
        obey(line_);
        line_.clear();
      } else {
        line_ += bytes[i];
      }
    }
  }

  void obey(const std::string& line) {
    if (line == "pause") takes_ = false;
    if (line == "resume") takes_ = true;
    if (line == "kill") ::syscall(SYS_pidfd_send_signal, proxy_.process_fd(), SIGKILL, nullptr, 0);
    if (line.starts_with("close ")) ends_.at(std::stoul(line.substr(6))).reset();
  }

  jail::EgressProxy proxy_;
  std::vector<jail::Fd> ends_;
  std::string line_;
  bool takes_ = true;
  bool over_ = false;
};

}  // namespace

int main(int count, char** values) {
  const Arguments arguments = parse(count, values);
  auto proxy = jail::EgressProxy::start(arguments.options);
  if (!proxy) {
    std::fprintf(stderr, "%s\n", proxy.error().message().c_str());
    return 1;
  }
  std::vector<jail::Fd> ends;
  std::string ports = "ports";
  for (int i = 0; i < arguments.jails; ++i) {
    const Listener listener = listen_on_loopback();
    const int fd = listener.fd.get();
    auto end = proxy->admit(arguments.rules, "jail-" + std::to_string(i));
    if (!end || !jail::send_with_fds(end->get(), "l", {&fd, 1})) {
      std::fprintf(stderr, "%s\n", end ? "hand over" : end.error().message().c_str());
      return 1;
    }
    ends.push_back(std::move(*end));
    ports += " " + std::to_string(listener.port);
  }
  std::printf("%s\npid %s\n", ports.c_str(), pid_of(proxy->process_fd()).c_str());
  std::fflush(stdout);
  Stand(std::move(*proxy), std::move(ends)).run();
  return 0;
}
