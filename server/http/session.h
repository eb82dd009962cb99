// One client connection: requests in, responses out, one after the other.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/observe/logger.h"
#include "server/http/body_budget.h"
#include "server/http/handler.h"
#include "server/http/socket.h"

namespace server {

struct HttpOptions {
  std::size_t max_head_bytes = 16u << 10;
  std::size_t max_body_bytes = 16u << 20;
  std::size_t max_bodies_bytes = 256u << 20;  // of all connections together
  std::uint32_t max_connections = 512;
  std::uint32_t max_connections_per_peer = 0;      // see peer_of(); 0: no bound of its own
  std::chrono::milliseconds head_timeout{10'000};  // first byte of a head to its last
  std::chrono::milliseconds body_timeout{30'000};
  // A body that its handler reads in pieces has as much time more as its bytes take at this rate.
  std::size_t min_body_bytes_per_second = 16u << 10;
  std::chrono::milliseconds idle_timeout{60'000};   // between two requests
  std::chrono::milliseconds write_timeout{60'000};  // of a whole answer, or of a piece of one
  // How long a connection that is refused in the middle of a request goes on being read. Closing
  // it at once would reset it, and the client would lose the answer that says why.
  std::chrono::milliseconds linger_timeout{3'000};
  // How long a connection without a request stays open once the server stops.
  std::chrono::milliseconds drain_grace{250};
  // Instead of write_timeout and linger_timeout, once the server cannot wait any longer.
  std::chrono::milliseconds last_write_timeout{2'000};
};

class Session {
 public:
  // The socket's executor is a strand; what is passed by reference outlives the session.
  static std::shared_ptr<Session> create(Socket socket, HttpOptions options, BodyBudget& budget,
                                         Handler& handler, runtime::Logger& logger);
  virtual ~Session() = default;

  // Serves until the connection ends. The session outlives it, and so it does the one below.
  virtual boost::asio::awaitable<void> run() = 0;

  // Says why and ends; for a connection beyond a limit.
  virtual boost::asio::awaitable<void> turn_away(Response why) = 0;

  // Ends when the request at hand, or one that comes within the grace, is answered. Thread-safe.
  virtual void drain() = 0;

  // Tells the work at hand that nobody waits for it. A request that is still being read has
  // drain_grace to become whole, and is refused after that. Thread-safe.
  virtual void abandon() = 0;
};

}  // namespace server
