#include "server/api/process_events.h"

#include <chrono>
#include <utility>

#include "runtime/service/sandbox_json.h"

namespace server {
namespace {

namespace asio = boost::asio;
using runtime::LivingProcess;
using runtime::OutputEncoding;
using runtime::Stream;

constexpr std::size_t event_bytes = 64u << 10;

}  // namespace

std::string_view name_of(Stream stream) noexcept {
  return stream == Stream::standard_output ? "stdout" : "stderr";
}

ProcessEvents::ProcessEvents(ResponseStream& stream, EventFormat format,
                             asio::any_io_executor executor, OutputEncoding encoding,
                             std::function<std::string()> describe)
    : stream_(stream),
      events_(stream, format, std::move(executor)),
      encoding_(encoding),
      describe_(std::move(describe)) {}

asio::awaitable<bool> ProcessEvents::say_started() { return events_.say("started", describe_()); }

asio::awaitable<bool> ProcessEvents::follow(const LivingProcess& process, std::uint64_t place,
                                            LivingProcess::Pace* pace, runtime::Cancel gone) {
  if (!stream_.begun()) {
    const bool is_open = co_await events_.open();
    if (!is_open) co_return false;
  }
  for (bool is_over = false; !is_over;) {
    const auto output = co_await process.next_output(
        place, event_bytes, std::chrono::steady_clock::now() + silence_before_a_heartbeat, gone);
    if (gone.requested()) {
      // The client may still be there; then the server is ending.
      co_await events_.say_last("error", stopping().body);
      co_return false;
    }
    const auto& part = output.part;
    const bool is_quiet = part.pieces.empty() && part.lost == 0 && !output.is_over;
    bool is_taken = false;
    if (is_quiet) {
      is_taken = co_await events_.beat();
    } else {
      is_taken = co_await say_part(part);
    }
    if (!is_taken) co_return false;
    place = part.next;
    if (pace != nullptr) pace->set(place);
    is_over = output.is_over;
  }
  for (const Stream stream : {Stream::standard_output, Stream::standard_error}) {
    const std::string held = chunks_[stream == Stream::standard_output ? 0 : 1].finish();
    if (held.empty()) continue;
    const bool is_taken =
        co_await events_.say(name_of(stream), runtime::output_json(held, encoding_));
    if (!is_taken) co_return false;
  }
  co_return co_await events_.say_last("exit", describe_());
}

asio::awaitable<bool> ProcessEvents::say_part(const runtime::OutputLog::Part& part) {
  if (part.lost > 0) {
    const bool is_taken = co_await events_.say("lost", std::to_string(part.lost));
    if (!is_taken) co_return false;
  }
  for (const auto& piece : part.pieces) {
    const bool is_taken = co_await say_output(piece.stream, piece.bytes);
    if (!is_taken) co_return false;
  }
  co_return true;
}

asio::awaitable<bool> ProcessEvents::say_output(Stream stream, const std::string& bytes) {
  const bool as_text = encoding_ == OutputEncoding::utf8;
  const std::string ready =
      as_text ? chunks_[stream == Stream::standard_output ? 0 : 1].add(bytes) : bytes;
  if (ready.empty()) co_return true;
  co_return co_await events_.say(name_of(stream), runtime::output_json(ready, encoding_));
}

}  // namespace server
