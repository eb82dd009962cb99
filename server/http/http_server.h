// Listens on one address or Unix socket and keeps a session for each connection.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "jail/result.h"
#include "server/http/listener.h"
#include "server/http/session.h"

namespace server {

// A connection belongs to one of the executors from its first byte to its last; the first executor
// also accepts and stops. The server must outlive their threads, unless stop() was awaited before.
class HttpServer {
 public:
  // There must be at least one executor, and each must run one handler at a time: strands, or loops
  // of one thread.
  HttpServer(std::vector<boost::asio::any_io_executor> executors, HttpOptions options,
             Handler& handler, runtime::Logger& logger);

  // Accepts connections from now on.
  void listen(Listener listener);

  // Finishes running requests, and meanwhile goes on accepting, so that new requests get the
  // handler's answer that the server stops. After `patience`, work that still runs is told that
  // nobody waits for it. Returns false where something was left even then.
  boost::asio::awaitable<bool> stop(std::chrono::milliseconds patience);

 private:
  // One of the executors, and the number of its connections.
  struct Worker {
    boost::asio::any_io_executor executor;
    std::size_t connections = 0;
  };

  boost::asio::awaitable<void> accept_loop();
  Worker& idlest();
  void start_session(Socket socket, Worker& worker);
  void empty_backlog();
  void give_back_memory_later();
  std::optional<Response> why_too_many(const std::string& peer) const;
  void end_session(Worker& worker);
  bool all_ended(const std::vector<std::weak_ptr<Session>>& sessions) const;
  boost::asio::awaitable<bool> wait_for(std::vector<std::weak_ptr<Session>> sessions,
                                        std::chrono::milliseconds patience);
  boost::asio::awaitable<bool> drain_all(std::chrono::milliseconds patience);
  std::vector<std::weak_ptr<Session>> open_sessions() const;

  std::vector<Worker> workers_;
  const boost::asio::any_io_executor executor_;  // the first worker's
  const HttpOptions options_;
  BodyBudget budget_;
  Handler& handler_;
  runtime::Logger& logger_;
  boost::asio::basic_socket_acceptor<Socket::protocol_type> acceptor_;
  Listener listener_;  // its socket is the acceptor's, which is closed after the socket's file is
                       // removed
  boost::asio::steady_timer changed_;  // expires early when a session ends
  boost::asio::steady_timer memory_timer_;
  std::unordered_set<std::shared_ptr<Session>> sessions_;
  std::map<std::string, std::uint32_t> peers_;  // the number of sessions of each peer
  std::uint32_t turned_away_ = 0;               // sessions that only get a refusal
  bool draining_ = false;
  bool hurried_ = false;  // nothing is waited for any more
};

}  // namespace server
