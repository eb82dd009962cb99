#include "server/api/live_events.h"

#include <boost/asio/dispatch.hpp>
#include <chrono>
#include <utility>

#include "runtime/json/writer.h"
#include "runtime/store/job_record.h"

namespace server {
namespace {

namespace agent = runtime::agent;
namespace asio = boost::asio;
using runtime::json::Writer;

constexpr std::chrono::milliseconds heartbeat{15'000};
// The bytes of output that wait for the client at which reading pauses, and at which it resumes.
constexpr std::size_t high_water = 512u << 10;
constexpr std::size_t low_water = 128u << 10;

}  // namespace

std::string start_of_program(std::string_view job_id, std::string_view language,
                             runtime::OutputEncoding encoding) {
  Writer writer;
  writer.begin_object().key("job_id").string(job_id);
  writer.key("language").string(language);
  writer.key("output_encoding").string(runtime::name_of(encoding)).end_object();
  return std::move(writer).take();
}

std::string start_of_task(std::string_view job_id) {
  Writer writer;
  writer.begin_object().key("job_id").string(job_id).key("kind").string(runtime::task_job);
  writer.end_object();
  return std::move(writer).take();
}

LiveEvents::LiveEvents(EventSink& sink, Backlog backlog)
    : executor_(sink.executor()),
      backlog_(backlog),
      flow_(gate_, high_water, low_water),
      writer_(sink, flow_, heartbeat) {}

void LiveEvents::expect_start(std::string started, runtime::OutputEncoding encoding) {
  started_ = std::move(started);
  encoding_ = encoding;
}

void LiveEvents::say_started() {
  if (!is_over_ && !started_.empty()) writer_.send("started", std::exchange(started_, {}));
}

std::function<void()> LiveEvents::hear_start() {
  return [self = shared_from_this()] {
    asio::dispatch(self->executor_, [self] { self->say_started(); });
  };
}

std::function<void(runtime::Stream, std::string_view)> LiveEvents::hear_output() {
  return [self = shared_from_this()](runtime::Stream stream, std::string_view bytes) {
    self->flow_.add(bytes.size());
    asio::dispatch(self->executor_,
                   [self, stream, bytes = std::string(bytes)] { self->output(stream, bytes); });
  };
}

agent::EventSink LiveEvents::hear_steps() {
  return [self = shared_from_this()](const agent::Event& event) {
    self->flow_.add(event.data.size());
    asio::dispatch(self->executor_, [self, event] { self->step(event); });
  };
}

std::function<void()> LiveEvents::hear_end() {
  return [self = shared_from_this()] {
    asio::dispatch(self->executor_, [self] {
      self->finish_output();
      self->stop();
    });
  };
}

void LiveEvents::send(std::string_view type, std::string_view data) {
  if (!is_over_) writer_.send(type, data);
}

void LiveEvents::end(std::string_view type, std::string_view data) {
  if (std::exchange(is_over_, true)) return;
  writer_.send(type, data);
  writer_.finish();
}

void LiveEvents::stop() {
  is_over_ = true;
  writer_.finish();
}

void LiveEvents::step(const agent::Event& event) {
  if (is_over_) return flow_.remove(event.data.size());
  say_started();
  const bool is_bulk = event.type == agent::EventType::token ||
                       event.type == agent::EventType::standard_output ||
                       event.type == agent::EventType::standard_error;
  if (is_bulk && drops_now()) {
    writer_.skip();
    return flow_.remove(event.data.size());
  }
  writer_.send(agent::name_of(event.type), event.data, event.data.size());
}

Utf8Chunks& LiveEvents::chunks_of(runtime::Stream stream) {
  return chunks_[stream == runtime::Stream::standard_output ? 0 : 1];
}

void LiveEvents::output(runtime::Stream stream, const std::string& bytes) {
  if (!is_over_ && drops_now()) {
    chunks_of(stream).finish();
    writer_.skip();
    return flow_.remove(bytes.size());
  }
  const bool as_text = encoding_ == runtime::OutputEncoding::utf8;
  say(stream, as_text ? chunks_of(stream).add(bytes) : bytes, bytes.size());
}

void LiveEvents::finish_output() {
  for (const auto stream : {runtime::Stream::standard_output, runtime::Stream::standard_error}) {
    say(stream, chunks_of(stream).finish(), 0);
  }
}

// `taken` is the number of bytes of the flow that end here or with the event.
void LiveEvents::say(runtime::Stream stream, const std::string& bytes, std::size_t taken) {
  if (bytes.empty() || is_over_) return flow_.remove(taken);
  Writer writer;
  encoding_ == runtime::OutputEncoding::utf8 ? writer.string(bytes) : writer.base64(bytes);
  const bool out = stream == runtime::Stream::standard_output;
  writer_.send(out ? "stdout" : "stderr", std::move(writer).take(), taken);
}

}  // namespace server
