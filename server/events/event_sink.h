// Where the events of a stream go: one client, over whatever it speaks.
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

  // One event, a JSON object. Waits until the kernel has it. False: the client takes no more.
  virtual boost::asio::awaitable<bool> write(std::string event) = 0;

  // Shows the client, and every proxy on the way, that the stream lives. True in `is_event` asks
  // for an event instead, where what is spoken has nothing else.
  struct Heartbeat {
    bool is_event = true;
    bool is_sent = true;  // false: the client takes no more
  };
  virtual boost::asio::awaitable<Heartbeat> beat();
};

}  // namespace server
