#include "server/events/told_events.h"

#include "runtime/json/writer.h"
#include "server/events/event_writer.h"

namespace server {

using boost::asio::awaitable;

awaitable<bool> ToldEvents::open() { co_return co_await sink_.open(); }

awaitable<bool> ToldEvents::say(std::string_view type, std::string data, std::string id) {
  if (!id.empty()) sink_.set_next_id(std::move(id));
  const auto now = std::chrono::system_clock::now();
  co_return co_await sink_.write(encode_event(type, data, ++count_, now));
}

awaitable<bool> ToldEvents::beat() {
  const auto beat = co_await sink_.beat();
  if (!beat.is_event) co_return beat.is_sent;
  co_return co_await say("heartbeat", "{}");
}

awaitable<bool> ToldEvents::say_last(std::string_view type, std::string data) {
  const bool is_said = co_await say(type, std::move(data));
  if (!is_said) co_return false;
  co_return co_await stream_.end();
}

awaitable<bool> ToldEvents::say_end(std::string_view reason) {
  runtime::json::Writer writer;
  writer.begin_object().key("reason").string(reason).end_object();
  co_return co_await say_last("end", std::move(writer).take());
}

}  // namespace server
