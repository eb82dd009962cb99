#include "server/cli/sandbox/known_names.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>
#include <string_view>
#include <utility>

#include "jail/fd.h"
#include "runtime/json/members.h"
#include "runtime/observe/uuid.h"
#include "server/cli/sandbox/json_text.h"
#include "server/cli/sandbox/server_client.h"

namespace server::client {
namespace {

namespace json = runtime::json;

using Kind = KnownNamesOptions::Kind;
using Call = std::unique_ptr<runtime::llm::PolledCall>;

constexpr time_t patience_seconds = 1;
constexpr std::size_t name_bytes = 64;

// The lists that have the names; of sandboxes each in one state.
std::vector<std::string> lists_of(Kind kind) {
  if (kind == Kind::jobs) return {"/jobs?limit=50"};
  if (kind == Kind::templates) return {"/v1/templates"};
  if (kind == Kind::volumes) return {"/v1/volumes?limit=200"};
  if (kind == Kind::webhooks) return {"/v1/webhooks"};
  return {"/v1/sandboxes?limit=200&state=running", "/v1/sandboxes?limit=200&state=paused"};
}

// Letters, digits and what stands between them in names of sandboxes and templates: nothing that a
// terminal or a shell takes for something else, and no option.
bool is_name(std::string_view text) {
  const auto is_letter = [](unsigned char byte) { return byte < 0x80 && std::isalnum(byte) != 0; };
  const auto may_stand = [&](char byte) {
    return is_letter(static_cast<unsigned char>(byte)) || byte == '-' || byte == '_' || byte == '.';
  };
  return !text.empty() && text.size() <= name_bytes &&
         is_letter(static_cast<unsigned char>(text.front())) &&
         std::all_of(text.begin(), text.end(), may_stand);
}

// Readable when it is over.
jail::Fd timer() {
  jail::Fd over(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  itimerspec at{};
  at.it_value.tv_sec = patience_seconds;
  if (over.valid() && ::timerfd_settime(over.get(), 0, &at, nullptr) != 0) over.reset();
  return over;
}

}  // namespace

std::optional<KnownNamesOptions> known_names_of(const std::vector<std::string>& args) {
  if (args.size() != 2 || args.front() != "complete") return std::nullopt;
  if (args.back() == "sandboxes") return KnownNamesOptions{.kind = Kind::sandboxes};
  if (args.back() == "jobs") return KnownNamesOptions{.kind = Kind::jobs};
  if (args.back() == "templates") return KnownNamesOptions{.kind = Kind::templates};
  if (args.back() == "volumes") return KnownNamesOptions{.kind = Kind::volumes};
  if (args.back() == "webhooks") return KnownNamesOptions{.kind = Kind::webhooks};
  return std::nullopt;
}

std::vector<std::string> names_in(const json::Value& answer, KnownNamesOptions options) {
  const auto names_of = [&](std::string_view list,
                            std::initializer_list<std::string_view> members) {
    std::vector<std::string> names;
    const json::Array* const items = array_in(answer, list);
    if (items == nullptr) return names;
    for (const json::Value& item : *items) {
      for (const std::string_view member : members) {
        std::string name = json::text_member(&item, member);
        if (is_name(name)) names.push_back(std::move(name));
      }
    }
    return names;
  };
  switch (options.kind) {
    case Kind::sandboxes:
      return names_of("sandboxes", {"name", "id"});
    case Kind::templates:
      return names_of("templates", {"name"});
    case Kind::volumes:
      return names_of("volumes", {"name"});
    case Kind::webhooks:
      return names_of("webhooks", {"id"});
    case Kind::jobs:
      break;
  }
  std::vector<std::string> ids = names_of("jobs", {"job_id"});
  std::erase_if(ids, [](const std::string& id) { return !runtime::is_uuid(id); });
  return ids;
}

int known_names(KnownNamesOptions options, const runtime::Environment& environment) {
  auto address = server_address(environment);
  auto signals = Signals::block();
  const jail::Fd over = timer();
  if (!address || !signals || !over.valid()) return 0;
  ServerClient client(std::move(*address), *signals);
  std::vector<Call> calls;
  for (std::string& path : lists_of(options.kind)) {
    calls.push_back(client.begin({.path = std::move(path)}));
  }
  std::array<pollfd, 1> timed{{{.fd = over.get(), .events = POLLIN, .revents = 0}}};
  const auto has_ended = [](const Call& call) { return call->outcome() != nullptr; };
  while (!std::all_of(calls.begin(), calls.end(), has_ended)) {
    client.wait(timed);
    if (timed[0].revents != 0 || signals->ending() != 0) return 0;
  }
  std::string text;
  for (const Call& call : calls) {
    const auto answer = client.answer_of(*call);
    const auto value = answer ? json::parse(*answer, "answer") : answer.error();
    if (!value) return 0;
    for (const std::string& name : names_in(*value, options)) text += name + "\n";
  }
  signals->write_all(STDOUT_FILENO, text);
  return 0;
}

}  // namespace server::client
