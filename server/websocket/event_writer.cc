#include "server/websocket/event_writer.h"

#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "runtime/json/utc_text.h"
#include "runtime/json/writer.h"
#include "server/http/as_values.h"

namespace server {
namespace {

namespace asio = boost::asio;

}  // namespace

std::string encode_event(std::string_view type, std::string_view data, std::uint64_t seq,
                         std::chrono::system_clock::time_point time) {
  runtime::json::Writer writer;
  writer.begin_object().key("type").string(type).key("data").json(data);
  writer.key("timestamp").string(runtime::json::utc_text(time));
  writer.key("seq").integer(static_cast<std::int64_t>(seq)).end_object();
  return std::move(writer).take();
}

void OutputFlow::add(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  waiting_ += bytes;
  if (waiting_ > high_) gate_.close();
}

void OutputFlow::remove(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  waiting_ -= bytes;
  if (waiting_ <= low_) gate_.open();
}

EventWriter::EventWriter(Channel& channel, OutputFlow& flow, std::chrono::milliseconds heartbeat)
    : channel_(channel), flow_(flow), heartbeat_(heartbeat), wake_(channel.executor()) {}

void EventWriter::send(std::string_view type, std::string_view data, std::size_t output_bytes) {
  events_.push_back(
      {encode_event(type, data, ++seq_, std::chrono::system_clock::now()), output_bytes});
  wake_.cancel();
}

void EventWriter::finish(CloseCode code) {
  finished_ = true;
  code_ = code;
  wake_.cancel();
}

asio::awaitable<void> EventWriter::run() {
  for (;;) {
    while (!events_.empty()) {
      Event event = std::move(events_.front());
      events_.pop_front();
      const bool sent = co_await channel_.write(std::move(event.text));
      flow_.remove(event.output_bytes);
      if (!sent) co_return;
    }
    if (finished_) {
      co_await channel_.close(code_);
      co_return;
    }
    wake_.expires_after(heartbeat_);
    const auto [error] = co_await wake_.async_wait(as_values);
    if (!error && events_.empty() && !finished_) send("heartbeat", "{}");
  }
}

}  // namespace server
