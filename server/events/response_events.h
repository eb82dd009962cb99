// Sends events as an HTTP answer in pieces.
#pragma once

#include <string>
#include <utility>

#include "server/events/event_format.h"
#include "server/events/event_sink.h"
#include "server/http/response_stream.h"

namespace server {

// The first event or heartbeat begins the answer, a 200: until then another answer is possible. The
// stream must outlive it.
class ResponseEvents final : public EventSink {
 public:
  ResponseEvents(ResponseStream& stream, EventFormat format, boost::asio::any_io_executor executor)
      : stream_(stream), format_(format), executor_(std::move(executor)) {}

  boost::asio::any_io_executor executor() override { return executor_; }
  boost::asio::awaitable<bool> write(std::string event) override;
  boost::asio::awaitable<Heartbeat> beat() override;

  // Sends the head before there is an event. Returns false where the client takes no more.
  boost::asio::awaitable<bool> open();

  // Sets the `id` of the next event, in SSE. A client that reconnects sends the last id that it saw
  // in Last-Event-ID.
  void set_next_id(std::string id) { next_id_ = std::move(id); }

 private:
  void begin();

  ResponseStream& stream_;
  const EventFormat format_;
  const boost::asio::any_io_executor executor_;
  std::string next_id_;
};

}  // namespace server
