// Data that is sent right before a socket is closed arrives, however often that happens.
#include <errno.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <span>
#include <thread>

#include "child/channel.h"
#include "jail/fd.h"
#include "parent/fd_passing.h"

namespace {

// In a few of 10,000 rounds the kernel reports the other end's closing before it delivers the
// message.
constexpr int max_rounds = 100'000;
// Where both threads share one processor there are fewer rounds.
constexpr std::chrono::seconds longest{4};

// Another thread sends one byte and closes, while `receive`, which returns like recv(2) and does
// not wait, is called again and again. Returns how many bytes were lost.
template <class Receive>
int lost_at_the_end(Receive receive) {
  constexpr int none = -1;
  constexpr int over = -2;
  std::atomic<int> handed{none};
  std::jthread sender([&] {
    for (int socket = none; socket != over; socket = handed.exchange(none)) {
      if (socket == none) {
        std::this_thread::yield();
        continue;
      }
      const char byte = 'x';
      EXPECT_EQ(::send(socket, &byte, sizeof byte, MSG_NOSIGNAL), 1);
      ::close(socket);
    }
  });
  int lost = 0;
  const auto begun = std::chrono::steady_clock::now();
  for (int i = 0; i < max_rounds && std::chrono::steady_clock::now() - begun < longest; ++i) {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    const jail::Fd own(ends[0]);
    handed = ends[1];
    long got = 0;
    do {
      got = receive(own.get());
    } while (got == -EAGAIN);
    if (got != 1) ++lost;
  }
  handed = over;
  return lost;
}

// Returns what the first call of `receive` returns where the other end has sent one byte and closed
// without reading what was sent to it.
template <class Receive>
long received_past_an_unread_order(Receive receive) {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  const jail::Fd own(ends[0]);
  const char byte = 'x';
  EXPECT_EQ(::send(own.get(), &byte, sizeof byte, MSG_NOSIGNAL), 1);
  EXPECT_EQ(::send(ends[1], &byte, sizeof byte, MSG_NOSIGNAL), 1);
  ::close(ends[1]);
  return receive(own.get());
}

TEST(Messages, AnOrderThatNobodyReadHidesNoReport) {
  char byte = 0;
  EXPECT_EQ(received_past_an_unread_order([&](int socket) {
              return static_cast<long>(jail::receive_message(socket, {&byte, sizeof byte}));
            }),
            1);
  EXPECT_EQ(
      received_past_an_unread_order([&](int socket) {
        jail::Fd fd;
        int flags = 0;
        return static_cast<long>(jail::receive_with_fd(socket, {&byte, sizeof byte}, fd, flags));
      }),
      1);
  EXPECT_EQ(received_past_an_unread_order([&](int socket) {
              std::size_t count = 0;
              return jail::child::receive(socket, &byte, sizeof byte, nullptr, 0, &count,
                                          MSG_DONTWAIT);
            }),
            1);
}

TEST(Messages, TheOwnerMissesNoneBeforeTheEnd) {
  char byte = 0;
  EXPECT_EQ(lost_at_the_end([&](int socket) -> long {
              const ssize_t got = jail::receive_message(socket, {&byte, 1});
              return got < 0 ? -errno : got;
            }),
            0);
}

TEST(Messages, TheOwnerMissesNoDescriptorBeforeTheEnd) {
  char byte = 0;
  EXPECT_EQ(lost_at_the_end([&](int socket) -> long {
              jail::Fd fd;
              int flags = 0;
              const ssize_t got = jail::receive_with_fd(socket, {&byte, 1}, fd, flags);
              return got < 0 ? -errno : got;
            }),
            0);
}

TEST(Messages, AChildMissesNoneBeforeTheEnd) {
  char byte = 0;
  EXPECT_EQ(lost_at_the_end([&](int socket) {
              return jail::child::receive(socket, &byte, 1, nullptr, 0, nullptr, MSG_DONTWAIT);
            }),
            0);
}

}  // namespace
