// The progress of a run as the events of a stream.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/agent/event.h"
#include "runtime/sandbox/output_gate.h"
#include "runtime/sandbox/run_request.h"
#include "runtime/sandbox/runner.h"
#include "server/events/event_writer.h"
#include "server/events/utf8_chunks.h"

namespace server {

// Everything except the first steps of the functions from hear_*() happens on the sink's executor.
// The sink must outlive this until nothing is written any more.
class LiveEvents final : public std::enable_shared_from_this<LiveEvents> {
 public:
  // The behaviour while too much waits for the client.
  enum class Backlog : std::uint8_t {
    pauses,  // the gate closes until the client has read more: for the client whose run it is
    drops,   // output is left out, and its numbers with it: for clients that only watch
  };

  LiveEvents(EventSink& sink, Backlog backlog);

  EventWriter& writer() noexcept { return writer_; }
  const runtime::OutputGate& gate() const noexcept { return gate_; }

  // The data of the event `started`, which is sent when the program starts, and the encoding in
  // which its output is sent.
  void expect_start(std::string started, runtime::OutputEncoding encoding);
  void say_started();

  // The callbacks of a run; each of them keeps this object alive. They may be called on any thread.
  std::function<void()> hear_start();
  std::function<void(runtime::Stream, std::string_view)> hear_output();
  runtime::agent::EventSink hear_steps();
  std::function<void()> hear_end();  // calls finish_output(), then stop()

  void send(std::string_view type, std::string_view data);
  // Sends what is held back of a character whose rest does not come.
  void finish_output();
  // Sends the last event. Only the first call counts: a stream has one end.
  void end(std::string_view type, std::string_view data);
  // Ends the stream without a further event.
  void stop();
  bool is_over() const noexcept { return is_over_; }

 private:
  Utf8Chunks& chunks_of(runtime::Stream stream);
  void output(runtime::Stream stream, const std::string& bytes);
  void step(const runtime::agent::Event& event);
  void say(runtime::Stream stream, const std::string& bytes, std::size_t taken);
  bool drops_now() const { return backlog_ == Backlog::drops && !gate_.is_open(); }

  const boost::asio::any_io_executor executor_;
  const Backlog backlog_;
  const runtime::OutputGate gate_;
  OutputFlow flow_;
  EventWriter writer_;
  std::string started_;
  std::array<Utf8Chunks, 2> chunks_;
  runtime::OutputEncoding encoding_ = runtime::OutputEncoding::utf8;
  bool is_over_ = false;
};

// The data of the event `started`.
std::string start_of_program(std::string_view job_id, std::string_view language,
                             runtime::OutputEncoding encoding);
std::string start_of_task(std::string_view job_id);

}  // namespace server
