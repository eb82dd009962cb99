#include "server/cli/sandbox/process_events.h"

#include <csignal>
#include <utility>

#include "runtime/json/base64.h"
#include "runtime/json/members.h"
#include "server/cli/exit_codes.h"
#include "server/cli/sandbox/field_words.h"

namespace server::client {

namespace json = runtime::json;

ProcessEvents::ProcessEvents(Encoding encoding, Listener listener)
    : encoding_(encoding), listener_(std::move(listener)) {}

bool ProcessEvents::feed(std::string_view bytes) {
  for (const std::string& line : lines_.feed(bytes)) {
    if (!take(line)) return false;
  }
  if (lines_.overflowed()) error_ = "the server sent an event that is too long";
  return error_.empty();
}

bool ProcessEvents::take(const std::string& line) {
  auto event = json::parse(line, "event");
  if (!event) {
    error_ = "the server sent what is no event: " + event.error().message();
    return false;
  }
  const std::string type = json::text_member(&*event, "type");
  const json::Value* const content = json::member(*event, "data");
  if (type == "stdout") return take_output(Stream::standard_output, content);
  if (type == "stderr") return take_output(Stream::standard_error, content);
  if (content == nullptr) return true;
  if (type == "started") {
    const json::Value* const pid = json::member(*content, "pid");
    if (pid != nullptr && pid->as_integer() != nullptr) pid_ = *pid->as_integer();
  } else if (type == "exit") {
    ended_ = *content;
  } else if (type == "lost" && content->as_integer() != nullptr && listener_.on_lost) {
    return listener_.on_lost(*content->as_integer());
  }
  return true;  // also for what a later server may tell
}

bool ProcessEvents::take_output(Stream stream, const json::Value* bytes) {
  const std::string* const text = bytes == nullptr ? nullptr : bytes->as_string();
  if (text == nullptr || !listener_.on_output) return true;
  if (encoding_ == Encoding::utf8) return listener_.on_output(stream, *text);
  const auto decoded = json::decode_base64(*text);
  if (!decoded) {
    error_ = "the server sent output that is no base64";
    return false;
  }
  return listener_.on_output(stream, *decoded);
}

int exit_code_of(const json::Value& process) {
  const std::string outcome = json::text_member(json::member(process, "outcome"), "code");
  if (outcome == "timeout_wall") return exit_timeout;
  if (outcome == "out_of_memory") return exit_out_of_memory;
  if (outcome == "cancelled") return exit_signal_base + SIGTERM;
  const json::Value* const exit_code = json::member(process, "exit_code");
  if (exit_code != nullptr && exit_code->as_integer() != nullptr) {
    return static_cast<int>(*exit_code->as_integer() & 0xFF);
  }
  const int signal = signal_number(json::text_member(&process, "signal"));
  return signal == 0 ? exit_own_failure : exit_signal_base + signal;
}

std::string fate_of(const json::Value& process) {
  const json::Value* const exit_code = json::member(process, "exit_code");
  if (exit_code != nullptr && exit_code->as_integer() != nullptr) return {};
  const json::Value* const outcome = json::member(process, "outcome");
  const std::string remedy = remedy_in_options(json::text_member(outcome, "remedy"));
  return json::text_member(outcome, "cause") + (remedy.empty() ? "" : "; " + remedy);
}

}  // namespace server::client
