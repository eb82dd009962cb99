// The output and the end of a process, as the events of a stream.
#pragma once

#include <array>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "runtime/living/living_process.h"
#include "runtime/sandbox/run_request.h"
#include "server/events/told_events.h"
#include "server/events/utf8_chunks.h"

namespace server {

// "stdout" or "stderr"
std::string_view name_of(runtime::Stream stream) noexcept;

// Must be used on the stream's executor, which it outlives.
class ProcessEvents {
 public:
  // `describe` returns the process as JSON.
  ProcessEvents(ResponseStream& stream, EventFormat format, boost::asio::any_io_executor executor,
                runtime::OutputEncoding encoding, std::function<std::string()> describe);

  // Returns false where the client takes no more.
  boost::asio::awaitable<bool> say_started();

  // Sends all output from `place` on, a heartbeat when there is none for a while, and the end of
  // the process; then ends the answer. `pace`, which may be null, is told how far the client has
  // read. Returns false where the client left or `gone` was requested.
  boost::asio::awaitable<bool> follow(const runtime::LivingProcess& process, std::uint64_t place,
                                      runtime::LivingProcess::Pace* pace, runtime::Cancel gone);

 private:
  boost::asio::awaitable<bool> say_part(const runtime::OutputLog::Part& part);
  boost::asio::awaitable<bool> say_output(runtime::Stream stream, const std::string& bytes);

  ResponseStream& stream_;
  ToldEvents events_;
  const runtime::OutputEncoding encoding_;
  const std::function<std::string()> describe_;
  std::array<Utf8Chunks, 2> chunks_;
};

}  // namespace server
