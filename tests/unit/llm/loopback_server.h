// A server for tests that handles each connection as the test says, byte by byte.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "jail/fd.h"

namespace runtime::llm {

class LoopbackServer {
 public:
  // A connection, in a thread of its own. Blocks.
  class Peer {
   public:
    explicit Peer(int socket) : socket_(socket) {}
    // Returns head and body of the next request. Empty: the client left.
    std::string read_request();
    // Returns false where the client left.
    bool send(std::string_view bytes) const;
    // Waits until the client has left, at most for `time`.
    bool left_within(std::chrono::milliseconds time) const;

   private:
    const int socket_;
    std::string buffer_;
  };
  // The connection is closed when it returns.
  using Handler = std::function<void(Peer&)>;

  explicit LoopbackServer(Handler handler);
  ~LoopbackServer();

  std::string url(std::string_view path = "/") const;
  int accepted() const { return accepted_; }

 private:
  void accept_all();

  const Handler handler_;
  jail::Fd listener_;
  std::atomic<int> accepted_{0};
  std::mutex mutex_;
  std::list<jail::Fd> sockets_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

// A port of loopback that answers no attempt to connect: its queue is full.
class DeafPort {
 public:
  DeafPort();
  std::string url() const;

 private:
  jail::Fd listener_;
  std::vector<jail::Fd> waiting_;
};

// Returns a socket that is bound to a free port of loopback, which `port` gets.
jail::Fd bound_socket(std::uint16_t& port);

std::string reply_with(std::string_view body, std::string_view status = "200 OK",
                       std::string_view headers = "");

}  // namespace runtime::llm
