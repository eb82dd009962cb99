// What happens to a process of a sandbox, as the server tells it line by line.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/json/reader.h"
#include "runtime/llm/stream_parts.h"
#include "runtime/sandbox/run_request.h"

namespace server::client {

using Encoding = runtime::OutputEncoding;

class ProcessEvents {
 public:
  enum class Stream : unsigned char { standard_output, standard_error };
  // What is told of. Each may be empty. False ends the reading.
  struct Listener {
    std::function<bool(Stream, std::string_view)> on_output = {};  // bytes
    std::function<bool(std::int64_t)> on_lost = {};                // bytes that were dropped
  };

  // `encoding`: of output, as it was asked for.
  ProcessEvents(Encoding encoding, Listener listener);

  // False: the listener wants no more, or error() says what is wrong.
  bool feed(std::string_view bytes);

  // The number of the process that was started; 0: nothing is known of it yet.
  std::int64_t pid() const noexcept { return pid_; }
  // The process as it was told of when it had ended; null: it runs, or the events broke off.
  const runtime::json::Value* ended() const noexcept { return ended_ ? &*ended_ : nullptr; }
  // Empty: nothing is wrong.
  const std::string& error() const noexcept { return error_; }

 private:
  bool take(const std::string& line);
  bool take_output(Stream stream, const runtime::json::Value* bytes);

  const Encoding encoding_;
  const Listener listener_;
  runtime::llm::LineReader lines_;
  std::int64_t pid_ = 0;
  std::optional<runtime::json::Value> ended_;
  std::string error_;
};

// The status that a command ends with whose process ended so.
int exit_code_of(const runtime::json::Value& process);
// One line about a process that did not end by itself; empty for one that did.
std::string fate_of(const runtime::json::Value& process);

}  // namespace server::client
