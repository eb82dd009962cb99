// Events that one coroutine sends to a client over HTTP, one after the other.
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

// A heartbeat is due after this time without an event.
inline constexpr std::chrono::seconds silence_before_a_heartbeat{15};

// Must be used on the stream's executor; the stream must outlive it. The functions return false
// where the client takes no more.
class ToldEvents {
 public:
  ToldEvents(ResponseStream& stream, EventFormat format, boost::asio::any_io_executor executor)
      : stream_(stream), sink_(stream, format, std::move(executor)) {}

  // Sends the head before there is an event.
  boost::asio::awaitable<bool> open();
  // `data` is a JSON value. `id` is that of the event in SSE, and may be empty.
  boost::asio::awaitable<bool> say(std::string_view type, std::string data, std::string id = {});
  boost::asio::awaitable<bool> beat();
  // Sends the last event, after which the answer is complete.
  boost::asio::awaitable<bool> say_last(std::string_view type, std::string data);
  // The same for the event "end", with the reason.
  boost::asio::awaitable<bool> say_end(std::string_view reason);

 private:
  ResponseStream& stream_;
  ResponseEvents sink_;
  std::uint64_t count_ = 0;
};

}  // namespace server
