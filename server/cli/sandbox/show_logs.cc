#include "server/cli/sandbox/show_logs.h"

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/json/base64.h"
#include "runtime/json/members.h"
#include "server/cli/exit_codes.h"
#include "server/cli/sandbox/followed_events.h"
#include "server/cli/sandbox/json_text.h"
#include "server/cli/sandbox/process_events.h"

namespace server::client {
namespace {

namespace json = runtime::json;

// 0: there is none.
std::int64_t integer_in(const json::Value& object, std::string_view name) {
  const json::Value* const number = json::member(object, name);
  return number == nullptr || number->as_integer() == nullptr ? 0 : *number->as_integer();
}

// What a process wrote goes where it wrote it, as it is.
class Logs {
 public:
  explicit Logs(ServerClient& client) : client_(client) {}

  bool add(ProcessEvents::Stream stream, std::string_view bytes) {
    const bool is_error = stream == ProcessEvents::Stream::standard_error;
    const int fd = is_error ? STDERR_FILENO : STDOUT_FILENO;
    if (client_.signals().write_all(fd, bytes)) return true;
    write_error_ = errno;
    return false;
  }
  static void tell_lost(std::int64_t bytes) {
    if (bytes > 0) {
      server::fail(0, std::to_string(bytes) + " bytes of output are not kept any more");
    }
  }
  // What has a stream and data, in base64. Returns the exit status; 0: it is printed.
  int print(const json::Value& piece) {
    const auto bytes = json::decode_base64(json::text_member(&piece, "data"));
    if (!bytes) return fail_unreadable();
    const auto stream = json::text_member(&piece, "stream") == "stderr"
                            ? ProcessEvents::Stream::standard_error
                            : ProcessEvents::Stream::standard_output;
    return add(stream, *bytes) ? 0 : fail_to_write(client_.signals(), write_error_);
  }
  int write_error() const { return write_error_; }

 private:
  ServerClient& client_;
  int write_error_ = 0;
};

int follow_process(ServerClient& client, const std::string& path) {
  Logs logs(client);
  ProcessEvents events(
      Encoding::base64,
      {.on_output = [&](ProcessEvents::Stream stream,
                        std::string_view bytes) { return logs.add(stream, bytes); },
       .on_lost =
           [](std::int64_t bytes) {
             Logs::tell_lost(bytes);
             return true;
           }});
  const auto call =
      client.begin({.path = path, .accept = "application/x-ndjson"},
                   {.on_body = [&](std::string_view bytes) { return events.feed(bytes); }});
  const auto answer = client.finish(*call);
  if (logs.write_error() != 0) return fail_to_write(client.signals(), logs.write_error());
  if (!events.error().empty()) return server::fail(exit_own_failure, events.error());
  if (!answer) return refused(client, answer.error());
  if (events.ended() != nullptr) return 0;
  return server::fail(exit_own_failure, "the server ended before the process did");
}

int show_process(ServerClient& client, const std::string& path) {
  const auto answer = client.get(path);
  if (!answer) return refused(client, answer.error());
  const auto kept = json::parse(*answer, "answer");
  const json::Array* const pieces = kept ? array_in(*kept, "pieces") : nullptr;
  if (pieces == nullptr) return fail_unreadable();
  Logs::tell_lost(integer_in(*kept, "lost_bytes"));
  Logs logs(client);
  for (const json::Value& piece : *pieces) {
    if (const int failed = logs.print(piece)) return failed;
  }
  return 0;
}

// What all processes of a sandbox write, as it comes.
int follow_sandbox(ServerClient& client, const std::string& path) {
  Logs logs(client);
  return follow(client, path, [&](const FollowedEvent& event) {
    if (event.type == "lost") Logs::tell_lost(integer_in(event.data, "bytes"));
    return event.type == "log" ? logs.print(event.data) : 0;
  });
}

int show_sandbox(ServerClient& client, const std::string& path, const std::string& begin) {
  Logs logs(client);
  std::string from = begin;
  for (;;) {
    const auto answer = client.get(path + from);
    if (!answer) return refused(client, answer.error());
    const auto page = json::parse(*answer, "answer");
    const json::Array* const entries = page ? array_in(*page, "entries") : nullptr;
    if (entries == nullptr) return fail_unreadable();
    Logs::tell_lost(integer_in(*page, "lost_bytes"));
    for (const json::Value& entry : *entries) {
      if (const int failed = logs.print(entry)) return failed;
    }
    const json::Value* const has_more = json::member(*page, "has_more");
    if (has_more == nullptr || has_more->as_bool() == nullptr) return fail_unreadable();
    if (!*has_more->as_bool()) return 0;
    from = "&from=" + std::to_string(integer_in(*page, "next"));
  }
}

}  // namespace

int show_logs(ServerClient& client, const LogsOptions& options) {
  const std::string sandbox = sandbox_path(options.id);
  if (options.pid != 0 && !options.tail) {
    const std::string path =
        sandbox + "/processes/" + std::to_string(options.pid) + "/output?from=0&encoding=base64";
    return options.follow ? follow_process(client, path) : show_process(client, path);
  }
  const std::string of_one = options.pid == 0 ? "" : "&process=" + std::to_string(options.pid);
  const std::string path = sandbox + "/logs?encoding=base64" + of_one;
  const std::string begin = options.tail ? "&tail=" + std::to_string(*options.tail) : "";
  return options.follow ? follow_sandbox(client, path + begin) : show_sandbox(client, path, begin);
}

}  // namespace server::client
