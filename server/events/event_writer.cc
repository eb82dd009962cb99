#include "server/events/event_writer.h"

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

asio::awaitable<EventSink::Heartbeat> EventSink::beat() { co_return Heartbeat(); }

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

EventWriter::EventWriter(EventSink& sink, OutputFlow& flow, std::chrono::milliseconds heartbeat)
    : sink_(sink), flow_(flow), heartbeat_(heartbeat), wake_(sink.executor()) {}

void EventWriter::send(std::string_view type, std::string_view data, std::size_t output_bytes) {
  events_.push_back(
      {encode_event(type, data, ++seq_, std::chrono::system_clock::now()), output_bytes});
  wake_.cancel();
}

void EventWriter::finish() {
  finished_ = true;
  wake_.cancel();
}

asio::awaitable<bool> EventWriter::run() {
  for (;;) {
    while (!events_.empty()) {
      Event event = std::move(events_.front());
      events_.pop_front();
      const bool sent = co_await sink_.write(std::move(event.text));
      flow_.remove(event.output_bytes);
      if (!sent) co_return false;
    }
    if (finished_) co_return true;
    wake_.expires_after(heartbeat_);
    const auto [error] = co_await wake_.async_wait(as_values);
    if (error || !events_.empty() || finished_) continue;
    const EventSink::Heartbeat beat = co_await sink_.beat();
    if (!beat.is_sent) co_return false;
    if (beat.is_event) send("heartbeat", "{}");
  }
}

}  // namespace server
