#include "runtime/lessons/json_calls.h"

#include <utility>
#include <variant>

#include "runtime/config/secret.h"
#include "runtime/json/writer.h"
#include "runtime/llm/failure_text.h"

namespace runtime::lessons {
namespace {

using jail::Error;
using jail::ErrorKind;

constexpr std::size_t longest_reason = 200;

// Removes the key from `text`: services repeat a key that they refuse. It is the header's value, or
// the part behind "Bearer".
std::string without_keys(std::string text, const JsonService& service) {
  for (const auto& [name, value] : service.headers) {
    const Secret key(value.substr(value.find(' ') + 1));
    text = llm::redacted(std::move(text), key);
  }
  return text;
}

// Services give their reason in one of these members.
std::string reason_in(const json::Value& value, const JsonService& service) {
  constexpr std::size_t looked_at = 4096;
  for (const std::string_view path : {"status.error", "error.message", "error", "message"}) {
    const json::Value* reason = at_path(value, path);
    if (reason == nullptr || reason->as_string() == nullptr) continue;
    const std::string text = without_keys(reason->as_string()->substr(0, looked_at), service);
    return ": " + json::quoted(llm::foreign_text(text, Secret(), longest_reason), longest_reason);
  }
  return {};
}

Error refused_by(const JsonService& service, int status, const json::Value& value) {
  Error error{ErrorKind::kernel, service.name + " answered " + std::to_string(status), 0, {}};
  error.doing += reason_in(value, service);
  if (status == 401 || status == 403) {
    error.kind = ErrorKind::refused;
    error.hint = "check " + service.key_variable;
  } else if (status == 429) {
    error.kind = ErrorKind::exhausted;
  }
  return error;
}

bool is_for_the_caller(int status) {
  return (status >= 200 && status < 300) || status == 404 || status == 409;
}

jail::Result<JsonReply> read_outcome(const JsonService& service, const llm::HttpOutcome& outcome) {
  if (const auto* fault = std::get_if<llm::HttpFault>(&outcome)) {
    return Error{ErrorKind::closed, service.name + ": " + fault->text, 0, {}};
  }
  const auto& reply = std::get<llm::HttpReply>(outcome);
  auto value = json::parse(reply.body, service.name);
  if (!is_for_the_caller(reply.status)) {
    return refused_by(service, reply.status, value ? *value : json::Value());
  }
  if (value || reply.status >= 300) {
    auto held = std::make_shared<const json::Value>(value ? std::move(*value) : json::Value());
    return JsonReply{reply.status, std::move(held)};
  }
  return Error{ErrorKind::invalid, service.name + " answered what is no JSON", 0, {}};
}

}  // namespace

boost::asio::awaitable<jail::Result<JsonReply>> call_json(JsonService service, std::string method,
                                                          std::string url, std::string body,
                                                          Cancel cancel) {
  llm::HttpRequest request;
  request.method = std::move(method);
  request.url = std::move(url);
  request.headers = service.headers;
  if (!body.empty()) request.headers.emplace_back("Content-Type", "application/json");
  request.body = std::move(body);
  llm::FetchOptions options;
  options.deadline = std::chrono::steady_clock::now() + service.deadline;
  options.cancel = std::move(cancel);
  const llm::HttpOutcome outcome =
      co_await service.client->fetch(std::move(request), std::move(options));
  co_return read_outcome(service, outcome);
}

const json::Value* at_path(const json::Value& value, std::string_view path) {
  const json::Value* at = &value;
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    const json::Object* object = at->as_object();
    if (object == nullptr) return nullptr;
    const auto found = object->find(path.substr(0, dot));
    if (found == object->end()) return nullptr;
    at = &found->second;
    path.remove_prefix(dot == path.npos ? path.size() : dot + 1);
  }
  return at;
}

}  // namespace runtime::lessons
