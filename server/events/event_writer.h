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
#include "server/events/event_sink.h"

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
  // Held while the gate moves: otherwise two threads could move it in the wrong order.
  std::mutex mutex_;
  const runtime::OutputGate gate_;
  const std::size_t high_;
  const std::size_t low_;
  std::size_t waiting_ = 0;
};

// Must be used on the sink's executor. The sink must outlive run(), and the flow must outlive the
// writer.
class EventWriter {
 public:
  EventWriter(EventSink& sink, OutputFlow& flow, std::chrono::milliseconds heartbeat);

  // `output_bytes` is how much of the flow goes with it.
  void send(std::string_view type, std::string_view data, std::size_t output_bytes = 0);
  // Counts an event that the client does not get.
  void skip() noexcept { ++seq_; }
  // Must be called when no more events come.
  void finish();

  // The number of events so far, including those that are still to be written.
  std::uint64_t count() const noexcept { return seq_; }

  // Writes until finish(), with a heartbeat when there was no event for a while. Returns false
  // where the client took no more.
  boost::asio::awaitable<bool> run();

 private:
  struct Event {
    std::string text;
    std::size_t output_bytes;
  };

  EventSink& sink_;
  OutputFlow& flow_;
  const std::chrono::milliseconds heartbeat_;
  boost::asio::steady_timer wake_;
  std::deque<Event> events_;
  std::uint64_t seq_ = 0;
  bool finished_ = false;
};

}  // namespace server
