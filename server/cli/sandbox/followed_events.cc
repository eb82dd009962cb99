#include "server/cli/sandbox/followed_events.h"

#include <utility>

#include "runtime/json/members.h"
#include "runtime/json/writer.h"
#include "runtime/llm/stream_parts.h"
#include "runtime/llm/wire_json.h"
#include "server/cli/exit_codes.h"
#include "server/cli/plain_text.h"
#include "server/cli/sandbox/json_text.h"

namespace server::client {
namespace {

namespace json = runtime::json;

constexpr std::size_t max_shown_of_an_error = 1000;
// A result with all output and all artifacts that there can be is one event.
constexpr std::size_t max_event_bytes = 64u << 20;

class EventReader {
 public:
  EventReader(const LastEvent& last, const std::function<int(const FollowedEvent&)>& on_event)
      : last_(last), on_event_(on_event) {}

  // False: there is no use in going on.
  bool feed(std::string_view bytes) {
    for (const std::string& line : lines_.feed(bytes)) {
      take(line);
      if (exit_code_ != 0 || has_ended_) return false;
    }
    if (lines_.overflowed()) exit_code_ = fail_unreadable();
    return exit_code_ == 0;
  }

  int exit_code() const { return exit_code_; }
  bool has_ended() const { return has_ended_; }

 private:
  void take(const std::string& line) {
    const auto event = json::parse(line, "event");
    const json::Value* const data = event ? json::member(*event, "data") : nullptr;
    if (data == nullptr) {
      exit_code_ = fail_unreadable();
      return;
    }
    const std::string type = json::text_member(&*event, "type");
    if (type == "heartbeat") return;
    if (type == "error") {
      const std::string detail = json::text_member(data, "detail");
      exit_code_ = server::fail(exit_own_failure, plain_line(detail, max_shown_of_an_error));
      return;
    }
    has_ended_ = has_ended_ || type == last_.type;
    exit_code_ = on_event_({.type = type, .data = *data, .line = line});
  }

  const LastEvent& last_;
  const std::function<int(const FollowedEvent&)>& on_event_;
  runtime::llm::LineReader lines_{max_event_bytes};
  int exit_code_ = 0;
  bool has_ended_ = false;
};

}  // namespace

std::optional<runtime::agent::Event> task_event_of(const FollowedEvent& event) {
  using runtime::agent::EventType;
  for (int number = 0; number <= static_cast<int>(EventType::swarm); ++number) {
    const auto type = static_cast<EventType>(number);
    if (runtime::agent::name_of(type) != event.type) continue;
    json::Writer writer;
    runtime::llm::write_value(writer, event.data);
    return runtime::agent::Event{.type = type, .data = std::move(writer).take()};
  }
  return std::nullopt;
}

int follow(ServerClient& client, ServerRequest request, const LastEvent& last,
           const std::function<int(const FollowedEvent&)>& on_event,
           const std::function<void()>& meanwhile,
           const std::function<void(std::vector<pollfd>&)>& add_awaited) {
  EventReader reader(last, on_event);
  request.accept = "application/x-ndjson";
  const auto call = client.begin(
      std::move(request), {.on_body = [&](std::string_view bytes) { return reader.feed(bytes); }});
  while (call->outcome() == nullptr && client.signals().ending() == 0) {
    std::vector<pollfd> others;
    if (add_awaited) add_awaited(others);
    client.wait(others);
    if (meanwhile) meanwhile();
  }
  if (reader.exit_code() != 0) return reader.exit_code();
  if (reader.has_ended()) return 0;
  const auto answer = client.finish(*call);
  if (!answer) return fail(answer.error(), client.signals(), last.refused);
  return server::fail(exit_own_failure, std::string(last.missing));
}

int follow(ServerClient& client, const std::string& path,
           const std::function<int(const FollowedEvent&)>& on_event) {
  return follow(client, {.path = path}, {}, on_event);
}

void tell_end(const json::Value& data) {
  const std::string reason = json::text_member(&data, "reason");
  if (reason == "sandbox_ended") {
    server::fail(0, "the sandbox has ended");
  } else if (reason == "directory_gone") {
    server::fail(0, "the directory is not there any more");
  } else {
    server::fail(0, "there are no more events: " + plain_line(reason, max_shown_of_an_error));
  }
}

}  // namespace server::client
