#include "server/http/incoming.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>

#include "jail/fd.h"

namespace server {
namespace {

using boost::asio::awaitable;

// The kernel reports an end once, which was before anybody asked.
TEST(Incoming, AnEndThatCameWhileNobodyWaitedIsToldAfterwards) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  jail::Fd peer(ends[1]);
  boost::asio::io_context loop;
  Socket socket(loop.get_executor(), boost::asio::generic::stream_protocol(AF_UNIX, 0), ends[0]);
  const auto incoming = std::make_shared<Incoming>(socket);
  incoming->watch([] {});
  incoming->unwatch();
  loop.poll();
  peer.reset();
  loop.run_for(std::chrono::milliseconds(100));
  loop.restart();
  std::optional<bool> more;
  const auto ask = [&]() -> awaitable<void> { more = co_await incoming->more(); };
  boost::asio::co_spawn(loop, ask(), [](std::exception_ptr) {});
  loop.run_for(std::chrono::seconds(2));
  EXPECT_EQ(more, false);
}

}  // namespace
}  // namespace server
