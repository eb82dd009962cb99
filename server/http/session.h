// One client connection: reads requests and writes responses, one after the other.
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
  std::size_t max_bodies_bytes = 256u << 20;  // for all connections together
  std::uint32_t max_connections = 512;
  std::uint32_t max_connections_per_peer = 0;      // see peer_of(); 0: no bound for each peer
  std::chrono::milliseconds head_timeout{10'000};  // from the first byte of a head to its last
  std::chrono::milliseconds body_timeout{30'000};
  // The rate at which the bytes of a body that its handler reads in pieces extend its time.
  std::size_t min_body_bytes_per_second = 16u << 10;
  std::chrono::milliseconds idle_timeout{60'000};   // between two requests
  std::chrono::milliseconds write_timeout{60'000};  // for a whole answer, or for a piece of one
  // How long a connection that is refused in the middle of a request is still read. Closing it at
  // once would reset it, and the client would lose the answer that says why.
  std::chrono::milliseconds linger_timeout{3'000};
  // How long a connection without a request stays open once the server stops.
  std::chrono::milliseconds drain_grace{250};
  // Replaces write_timeout and linger_timeout once the server cannot wait any longer.
  std::chrono::milliseconds last_write_timeout{2'000};
};

class Session {
 public:
  // The socket's executor must be a strand; referenced objects must outlive the session.
  static std::shared_ptr<Session> create(Socket socket, HttpOptions options, BodyBudget& budget,
                                         Handler& handler, runtime::Logger& logger);
  virtual ~Session() = default;

  // Serves until the connection ends. The session must outlive the call, as it must that of the
  // next function.
  virtual boost::asio::awaitable<void> run() = 0;

  // Answers with the reason and ends; for a connection beyond a limit.
  virtual boost::asio::awaitable<void> reject(Response why) = 0;

  // Ends the session after the current request, or one that comes within the grace, is answered.
  // Thread-safe.
  virtual void drain() = 0;

  // Tells the current work that nobody waits for it. A request that is still being read has
  // drain_grace to become complete, and is refused after that. Thread-safe.
  virtual void abandon() = 0;
};

}  // namespace server
