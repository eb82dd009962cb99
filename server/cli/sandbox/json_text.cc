#include "server/cli/sandbox/json_text.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <map>

#include "runtime/json/members.h"
#include "runtime/llm/wire_json.h"
#include "server/cli/exit_codes.h"
#include "server/cli/plain_text.h"

namespace server::client {
namespace {

constexpr std::size_t max_shown_characters = 1000;

}  // namespace

void write_texts(runtime::json::Writer& writer, const NamedTexts& texts) {
  std::map<std::string_view, std::string_view> last;
  for (const auto& [name, text] : texts) last.insert_or_assign(name, text);
  writer.begin_object();
  for (const auto& [name, text] : last) writer.key(name).string(text);
  writer.end_object();
}

std::string shown(const runtime::json::Value& object, std::string_view name) {
  const runtime::json::Value* const value = runtime::json::member(object, name);
  if (value == nullptr || value->is_null()) return "-";
  const std::string* const text = value->as_string();
  return plain_line(text != nullptr ? *text : runtime::llm::text_of(*value), max_shown_characters);
}

std::string shown_time(const runtime::json::Value& object, std::string_view name) {
  std::string time = shown(object, name).substr(0, 19);
  if (time.size() > 10 && time[10] == 'T') time[10] = ' ';
  return time;
}

std::string shown_moment(const runtime::json::Value& object, std::string_view name) {
  const std::string time = shown_time(object, name);
  return time == "-" ? time : time + " UTC";
}

const runtime::json::Array* array_in(const runtime::json::Value& object, std::string_view name) {
  const runtime::json::Value* const array = runtime::json::member(object, name);
  return array == nullptr ? nullptr : array->as_array();
}

int refused(const ServerClient& client, const jail::Error& error) {
  return fail(error, client.signals(), exit_refused);
}

int fail_without_address(const ServerClient& client) {
  if (client.address().socket_path.empty()) return 0;
  return server::fail(exit_usage, "AGENT_SANDBOX_URL: a Unix socket has no address to open");
}

int fail_unreadable() {
  return server::fail(exit_own_failure, "the server's answer is not what was asked for");
}

int fail_to_write(const Signals& signals, int error) {
  if (signals.ending() != 0) return exit_signal_base + signals.ending();
  // As the signal of a broken pipe would have ended us.
  if (error == EPIPE) return exit_signal_base + SIGPIPE;
  const jail::Error failed{jail::ErrorKind::kernel, "write output", error, {}};
  return server::fail(exit_own_failure, failed.message());
}

int print(ServerClient& client, std::string_view text) {
  Signals& signals = client.signals();
  return signals.write_all(STDOUT_FILENO, text) ? 0 : fail_to_write(signals, errno);
}

int print_json(ServerClient& client, std::string_view text) {
  if (!runtime::json::parse(text, "answer")) return fail_unreadable();
  return print(client, json_for_standard_output(text) + "\n");
}

}  // namespace server::client
