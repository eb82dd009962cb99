// Sockets of a living jail's network: its owner reaches servers inside, but none of the host's.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "living_jail.h"
#include "processes.h"
#include "tests/time_scale.h"

namespace kernel_ring {
namespace {

using jail::ErrorKind;
using jail::Fd;
using jail::Jail;
using jail::Phase;
using jail::SocketFamily;
using std::chrono::seconds;

constexpr std::uint16_t port = 8000;

// The server says that it is up, and then "inside" to every client.
std::string server_at(const std::string& address) {
  const std::string family = address.find(':') == address.npos ? "AF_INET" : "AF_INET6";
  return "import socket, os\n"
         "s = socket.create_server(('" +
         address + "', " + std::to_string(port) + "), family=socket." + family +
         ", backlog=128)\n"
         "os.write(1, b'u')\n"
         "while True:\n"
         "    c = s.accept()[0]\n"
         "    c.sendall(b'inside\\n')\n"
         "    c.close()\n";
}

class LivingPort : public LivingJail {
 protected:
  jail::Result<Fd> socket_of(Jail& jail, SocketFamily family = SocketFamily::ipv4) {
    const auto request = jail.request_socket(family);
    if (!request) return request.error();
    pollfd answer{request->get(), POLLIN, 0};
    EXPECT_EQ(::poll(&answer, 1, scaled_ms(10'000)), 1);
    return Jail::take_socket(request->get());
  }

  // Returns 0 or an errno.
  static int connect_to(const Fd& socket, SocketFamily family, std::uint16_t number = port) {
    sockaddr_storage room{};
    socklen_t size = sizeof(sockaddr_in);
    if (family == SocketFamily::ipv6) {
      auto& address = reinterpret_cast<sockaddr_in6&>(room);
      address.sin6_family = AF_INET6;
      address.sin6_port = htons(number);
      address.sin6_addr = in6addr_loopback;
      size = sizeof address;
    } else {
      auto& address = reinterpret_cast<sockaddr_in&>(room);
      address.sin_family = AF_INET;
      address.sin_port = htons(number);
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    }
    if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&room), size) == 0) return 0;
    if (errno != EINPROGRESS) return errno;
    pollfd connected{socket.get(), POLLOUT, 0};
    if (::poll(&connected, 1, scaled_ms(10'000)) != 1) return ETIMEDOUT;
    int error = 0;
    socklen_t error_size = sizeof error;
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &error_size);
    return error;
  }

  static std::string said_by(const Fd& socket) {
    std::string text;
    char byte = 0;
    pollfd readable{socket.get(), POLLIN, 0};
    while (::poll(&readable, 1, scaled_ms(10'000)) == 1 && ::read(socket.get(), &byte, 1) == 1) {
      text += byte;
    }
    return text;
  }
};

TEST_F(LivingPort, ReachesAServerInside) {
  begin(unhurried_spec());
  const auto server = attacker(python_process(server_at("127.0.0.1")));
  const auto socket = socket_of(*jail_);
  ASSERT_TRUE(socket) << socket.error().message();
  EXPECT_NE(::fcntl(socket->get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_EQ(::fcntl(socket->get(), F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(connect_to(*socket, SocketFamily::ipv4), 0);
  EXPECT_EQ(said_by(*socket), "inside\n");
}

TEST_F(LivingPort, ReachesAServerThatSpeaksIPv6Alone) {
  begin(unhurried_spec());
  const auto server = attacker(python_process(server_at("::1")));
  const auto v4 = socket_of(*jail_);
  ASSERT_TRUE(v4);
  EXPECT_EQ(connect_to(*v4, SocketFamily::ipv4), ECONNREFUSED);
  const auto v6 = socket_of(*jail_, SocketFamily::ipv6);
  ASSERT_TRUE(v6) << v6.error().message();
  EXPECT_EQ(connect_to(*v6, SocketFamily::ipv6), 0);
  EXPECT_EQ(said_by(*v6), "inside\n");
}

TEST_F(LivingPort, NothingOfTheHostIsReached) {
  const Fd host(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const name = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(::bind(host.get(), name, size), 0);
  ASSERT_EQ(::listen(host.get(), 8), 0);
  ASSERT_EQ(::getsockname(host.get(), name, &size), 0);
  begin(unhurried_spec());
  const auto socket = socket_of(*jail_);
  ASSERT_TRUE(socket);
  EXPECT_EQ(connect_to(*socket, SocketFamily::ipv4, ntohs(address.sin_port)), ECONNREFUSED);
}

TEST_F(LivingPort, NeitherIsAServerOfAnotherJail) {
  begin(unhurried_spec());
  const auto server = attacker(python_process(server_at("127.0.0.1")));
  auto other = kernel_ring::ready_jail(unhurried_spec());
  ASSERT_TRUE(other);
  ASSERT_TRUE(other->start());
  const auto socket = socket_of(*other);
  ASSERT_TRUE(socket);
  EXPECT_EQ(connect_to(*socket, SocketFamily::ipv4), ECONNREFUSED);
}

TEST_F(LivingPort, WithoutALoopbackInterfaceNobodyIsThere) {
  jail::JailSpec spec = unhurried_spec();
  spec.network = jail::Network::none();
  begin(spec);
  const auto socket = socket_of(*jail_);
  ASSERT_TRUE(socket);
  EXPECT_EQ(connect_to(*socket, SocketFamily::ipv4), ENETUNREACH);
}

TEST_F(LivingPort, ManyAreMadeAndNoneIsKeptInside) {
  begin(unhurried_spec());
  const auto server = attacker(python_process(server_at("127.0.0.1")));
  const int init = process_of(jail_->process_fd());
  const auto open_files = [&] { return open_descriptors_of(init); };
  const auto before = open_files();
  for (int i = 0; i < 300; ++i) {
    const auto socket = socket_of(*jail_);
    ASSERT_TRUE(socket) << socket.error().message();
    ASSERT_EQ(connect_to(*socket, SocketFamily::ipv4), 0);
    ASSERT_EQ(said_by(*socket), "inside\n");
  }
  EXPECT_TRUE(soon([&] { return open_files() == before; }));
  EXPECT_EQ(run(shell_process("echo well")).out, "well\n");
}

TEST_F(LivingPort, RequestsThatNobodyWaitsForDoNoHarm) {
  begin(unhurried_spec());
  for (int i = 0; i < 300; ++i) {
    // Orders wait for init in a queue that may be full.
    ASSERT_TRUE(soon([this] {
      const auto request = jail_->request_socket(SocketFamily::ipv4);
      EXPECT_TRUE(request || request.error().kind == ErrorKind::exhausted);
      return static_cast<bool>(request);
    })) << i;
  }
  EXPECT_EQ(run(shell_process("echo well")).out, "well\n");
}

// The guest holds fewer sockets than would end it as out of memory.
TEST_F(LivingPort, AGuestThatFloodsItsOwnNetworkKeepsNobodyFromAsking) {
  begin(unhurried_spec());
  const auto hostile =
      attacker(python_process("import os, socket\n"
                              "held = [socket.socket() for _ in range(64)]\n"
                              "os.write(1, b'x')\n"
                              "while True:\n"
                              "    s = socket.socket()\n"
                              "    s.close()\n"));
  const auto socket = socket_of(*jail_);
  EXPECT_TRUE(socket) << socket.error().message();
}

TEST_F(LivingPort, AJailThatHasEndedHasNone) {
  begin(unhurried_spec());
  const auto request = jail_->request_socket(SocketFamily::ipv4);
  ASSERT_TRUE(request);
  jail_->cancel();
  ASSERT_TRUE(jail_->wait(Phase::ended, scaled(seconds(10))));
  const auto after = jail_->request_socket(SocketFamily::ipv4);
  ASSERT_FALSE(after);
  EXPECT_EQ(after.error().kind, ErrorKind::invalid);
  // An earlier request is answered, or fails since nobody is left to answer it.
  const auto socket = Jail::take_socket(request->get());
  if (!socket) {
    EXPECT_EQ(socket.error().kind, ErrorKind::closed);
  }
}

TEST_F(LivingPort, AnAnswerThatIsNotThereIsNoError) {
  begin(unhurried_spec());
  const int init = process_of(jail_->process_fd());
  ASSERT_EQ(::kill(init, SIGSTOP), 0);
  const auto request = jail_->request_socket(SocketFamily::ipv4);
  ASSERT_TRUE(request);
  const auto early = Jail::take_socket(request->get());
  ASSERT_TRUE(early) << early.error().message();
  EXPECT_FALSE(early->valid());
  ASSERT_EQ(::kill(init, SIGCONT), 0);
  pollfd answer{request->get(), POLLIN, 0};
  ASSERT_EQ(::poll(&answer, 1, scaled_ms(10'000)), 1);
  const auto socket = Jail::take_socket(request->get());
  ASSERT_TRUE(socket);
  EXPECT_TRUE(socket->valid());
}

TEST_F(LivingPort, OnlyALivingJailHasThem) {
  auto one = kernel_ring::ready_jail(spec_for({"/usr/bin/sleep", "30"}));
  ASSERT_TRUE(one);
  ASSERT_TRUE(one->start());
  const auto refused = one->request_socket(SocketFamily::ipv4);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::invalid);
}

}  // namespace
}  // namespace kernel_ring
