// The destination of a stream's events: one client, whatever protocol it uses.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <string>

namespace server {

// Everything happens on its executor, a strand; one write at a time.
class EventSink {
 public:
  virtual ~EventSink() = default;

  virtual boost::asio::any_io_executor executor() = 0;

  // Writes one event, a JSON object. Waits until the kernel has it. Returns false where the client
  // takes no more.
  virtual boost::asio::awaitable<bool> write(std::string event) = 0;

  // Shows the client, and every proxy on the way, that the stream lives. `is_event` true asks for
  // an event instead, where the protocol has no heartbeat.
  struct Heartbeat {
    bool is_event = true;
    bool is_sent = true;  // false: the client takes no more
  };
  virtual boost::asio::awaitable<Heartbeat> beat();
};

}  // namespace server
