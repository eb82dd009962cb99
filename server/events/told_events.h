// Events that one coroutine tells a client over HTTP, one after the other.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "server/events/response_events.h"

namespace server {

// After so long without an event a heartbeat is due.
inline constexpr std::chrono::seconds silence_before_a_heartbeat{15};

// On the stream's executor; the stream outlives it. What returns false: the client takes no more.
class ToldEvents {
 public:
  ToldEvents(ResponseStream& stream, EventFormat format, boost::asio::any_io_executor executor)
      : stream_(stream), sink_(stream, format, std::move(executor)) {}

  // Sends the head before there is an event.
  boost::asio::awaitable<bool> open();
  // `data` is a JSON value. `id`, which may be empty: of the event, in SSE.
  boost::asio::awaitable<bool> say(std::string_view type, std::string data, std::string id = {});
  boost::asio::awaitable<bool> beat();
  // The last event, after which the answer is complete.
  boost::asio::awaitable<bool> say_last(std::string_view type, std::string data);
  // The same: "end", with the reason.
  boost::asio::awaitable<bool> say_end(std::string_view reason);

 private:
  ResponseStream& stream_;
  ResponseEvents sink_;
  std::uint64_t count_ = 0;
};

}  // namespace server
