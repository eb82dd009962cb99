// The events of one stream, in order, to a client that may be slow.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>

#include "runtime/sandbox/output_gate.h"
#include "server/websocket/channel.h"

namespace server {

// {"type": ..., "data": ..., "timestamp": ..., "seq": ...}; `data` is a JSON value.
std::string encode_event(std::string_view type, std::string_view data, std::uint64_t seq,
                         std::chrono::system_clock::time_point time);

// Closes a gate while too much of the program's output waits for the client. Thread-safe.
class OutputFlow {
 public:
  OutputFlow(runtime::OutputGate gate, std::size_t high, std::size_t low)
      : gate_(std::move(gate)), high_(high), low_(low) {}

  void add(std::size_t bytes);
  void remove(std::size_t bytes);

 private:
  // Held while the gate moves: else the last word could be the older one.
  std::mutex mutex_;
  const runtime::OutputGate gate_;
  const std::size_t high_;
  const std::size_t low_;
  std::size_t waiting_ = 0;
};

// On the channel's executor. The channel outlives it.
class EventWriter {
 public:
  EventWriter(Channel& channel, OutputFlow& flow, std::chrono::milliseconds heartbeat);

  // `output_bytes`: how much of the flow goes with it.
  void send(std::string_view type, std::string_view data, std::size_t output_bytes = 0);
  // Closes the channel behind the last event.
  void finish(CloseCode code);

  // Writes until finish(), or until the client is gone; a heartbeat when nothing else was to be
  // said for a while.
  boost::asio::awaitable<void> run();

 private:
  struct Event {
    std::string text;
    std::size_t output_bytes;
  };

  Channel& channel_;
  OutputFlow& flow_;
  const std::chrono::milliseconds heartbeat_;
  boost::asio::steady_timer wake_;
  std::deque<Event> events_;
  std::uint64_t seq_ = 0;
  bool finished_ = false;
  CloseCode code_ = CloseCode::normal;
};

}  // namespace server
