#include "server/mcp/mcp.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "runtime/json/writer.h"

namespace server {
namespace {

using boost::asio::awaitable;
using runtime::json::Object;
using runtime::json::Value;
using runtime::json::Writer;

// The newest come first. The versions before `stateless` begin with initialize.
constexpr std::string_view session_versions[] = {"2025-11-25", "2025-06-18", "2025-03-26",
                                                 "2024-11-05"};
constexpr std::string_view stateless = "2026-07-28";
constexpr std::string_view version_member = "io.modelcontextprotocol/protocolVersion";
constexpr std::string_view server_member = "io.modelcontextprotocol/serverInfo";

// Errors of https://www.jsonrpc.org/specification, and the protocol's own.
constexpr int parse_error = -32700;
constexpr int invalid_request = -32600;
constexpr int method_not_found = -32601;
constexpr int invalid_params = -32602;
constexpr int internal_error = -32603;
constexpr int header_mismatch = -32020;
constexpr int unsupported_version = -32022;

constexpr std::size_t max_structured_bytes = 256u << 10;

bool is_known(std::string_view version) {
  return version == stateless || std::find(std::begin(session_versions), std::end(session_versions),
                                           version) != std::end(session_versions);
}

const Value* member(const Object* object, std::string_view name) {
  if (object == nullptr) return nullptr;
  const auto found = object->find(name);
  return found == object->end() ? nullptr : &found->second;
}

const Object* object_in(const Object* object, std::string_view name) {
  const Value* const value = member(object, name);
  return value == nullptr ? nullptr : value->as_object();
}

std::string text_in(const Object* object, std::string_view name) {
  const Value* const value = member(object, name);
  const std::string* const text = value == nullptr ? nullptr : value->as_string();
  return text == nullptr ? std::string() : *text;
}

// Returns the id of a request as it was sent; "null" where it is missing, or neither a string nor
// an integer.
std::string id_text(const Value* id) {
  Writer writer;
  if (id != nullptr && id->as_string() != nullptr) {
    writer.string(*id->as_string());
  } else if (id != nullptr && id->as_integer() != nullptr) {
    writer.integer(*id->as_integer());
  } else {
    writer.null();
  }
  return std::move(writer).take();
}

std::string error_of(std::string_view id, int code, std::string_view text,
                     std::string_view data = {}) {
  Writer writer;
  writer.begin_object().key("jsonrpc").string("2.0").key("id").json(id);
  writer.key("error").begin_object().key("code").integer(code).key("message").string(text);
  if (!data.empty()) writer.key("data").json(data);
  writer.end_object().end_object();
  return std::move(writer).take();
}

std::string result_of(std::string_view id, std::string_view result) {
  Writer writer;
  writer.begin_object().key("jsonrpc").string("2.0").key("id").json(id);
  writer.key("result").json(result).end_object();
  return std::move(writer).take();
}

std::string versions_json(std::string_view requested) {
  Writer writer;
  writer.begin_object().key("supported").begin_array().string(stateless);
  for (const auto version : session_versions) writer.string(version);
  writer.end_array().key("requested").string(requested).end_object();
  return std::move(writer).take();
}

}  // namespace

McpEnvelope read_envelope(const std::string& message) {
  const auto parsed = runtime::json::parse(message, "message");
  const Object* const object = parsed ? parsed->as_object() : nullptr;
  const Value* const id = member(object, "id");
  if (id != nullptr) return {.id = id_text(id)};
  if (text_in(object, "method") != "notifications/cancelled") return {};
  const Value* const cancelled = member(object_in(object, "params"), "requestId");
  return {.cancels = cancelled == nullptr ? std::string() : id_text(cancelled)};
}

std::string mcp_refusal(std::string_view why) { return error_of("null", invalid_request, why); }

std::string mcp_failure(std::string_view id) {
  return error_of(id, internal_error, "the server failed; its log says why");
}

// A request, whose parts are views into `document`.
struct Mcp::Message {
  Value document;
  std::string id;
  std::string method;
  const Object* params = nullptr;
  bool is_stateless = false;
  std::string sandbox;  // the sandbox whose tools are meant; empty: all tools

  ToolScope scope() const {
    return sandbox.empty() ? ToolScope::all_sandboxes : ToolScope::one_sandbox;
  }
};

Mcp::Mcp(const runtime::Services& services, const runtime::RequestRules& rules, std::string version)
    : version_(std::move(version)), tools_(services, rules) {}

awaitable<McpAnswer> Mcp::answer(runtime::Caller caller, std::string text, McpHeaders headers,
                                 runtime::Cancel cancel, std::string sandbox) const {
  auto parsed = runtime::json::parse(text, "message");
  if (!parsed) co_return McpAnswer{400, error_of("null", parse_error, parsed.error().message())};
  Message message;
  message.sandbox = std::move(sandbox);
  message.document = std::move(*parsed);
  const Object* const object = message.document.as_object();
  const Value* const id = member(object, "id");
  message.id = id_text(id);
  message.method = text_in(object, "method");
  if (object == nullptr || text_in(object, "jsonrpc") != "2.0") {
    co_return McpAnswer{400,
                        error_of(message.id, invalid_request, "expected a JSON-RPC 2.0 message")};
  }
  // A notification, or an answer to a request that this server never made.
  if (id == nullptr || message.method.empty()) co_return McpAnswer{202};
  message.params = object_in(object, "params");
  const std::string version = text_in(object_in(message.params, "_meta"), version_member);
  message.is_stateless = !version.empty();
  const std::string_view asked = message.is_stateless ? version : headers.version.value_or("");
  if (!asked.empty() && (!is_known(asked) || (message.is_stateless && asked != stateless))) {
    co_return McpAnswer{400, error_of(message.id, unsupported_version,
                                      "unsupported protocol version", versions_json(asked))};
  }
  const bool differs = (headers.method && *headers.method != message.method) ||
                       (headers.name && *headers.name != text_in(message.params, "name")) ||
                       (message.is_stateless && headers.version && *headers.version != version);
  if (differs) {
    co_return McpAnswer{400, error_of(message.id, header_mismatch,
                                      "the headers of HTTP say something else than the message")};
  }
  co_return co_await answer_request(std::move(caller), message, std::move(cancel));
}

awaitable<McpAnswer> Mcp::answer_request(runtime::Caller caller, const Message& message,
                                         runtime::Cancel cancel) const {
  if (message.method == "initialize" && !message.is_stateless) {
    co_return McpAnswer{200, result_of(message.id, initialize(message))};
  }
  if (message.method == "ping" && !message.is_stateless) {
    co_return McpAnswer{200, result_of(message.id, "{}")};
  }
  if (message.method == "server/discover" && message.is_stateless) {
    co_return McpAnswer{200, result_of(message.id, discover())};
  }
  if (message.method == "tools/list") {
    co_return McpAnswer{200, result_of(message.id, list_tools(message))};
  }
  if (message.method != "tools/call") {
    co_return McpAnswer{message.is_stateless ? 404 : 200,
                        error_of(message.id, method_not_found, "no such method")};
  }
  const std::string name = text_in(message.params, "name");
  if (!McpTools::has(name, message.scope())) {
    co_return McpAnswer{200, error_of(message.id, invalid_params, "name: no such tool")};
  }
  const Value* const given = member(message.params, "arguments");
  if (given != nullptr && given->as_object() == nullptr) {
    co_return McpAnswer{200, error_of(message.id, invalid_params, "arguments: expected an object")};
  }
  Object arguments;
  if (given != nullptr) arguments = *given->as_object();
  const auto done = co_await tools_.call(name, std::move(arguments), std::move(caller),
                                         std::move(cancel), message.sandbox);
  Writer writer;
  writer.begin_object().key("content").begin_array().begin_object();
  writer.key("type").string("text").key("text").string(done.failure.value_or(done.json));
  writer.end_object().end_array();
  // Large content is sent only once.
  const bool is_small = done.json.size() <= max_structured_bytes;
  if (is_small) writer.key("structuredContent").json(done.json);
  writer.key("isError").boolean(done.failure.has_value());
  if (message.is_stateless) write_server(writer);
  writer.end_object();
  co_return McpAnswer{200, result_of(message.id, std::move(writer).take())};
}

std::string Mcp::initialize(const Message& message) const {
  const std::string asked = text_in(message.params, "protocolVersion");
  const bool is_fine = is_known(asked) && asked != stateless;
  Writer writer;
  writer.begin_object();
  writer.key("protocolVersion").string(is_fine ? std::string_view(asked) : session_versions[0]);
  writer.key("capabilities").begin_object().key("tools").begin_object();
  writer.end_object().end_object();
  writer.key("serverInfo").begin_object().key("name").string("agent-sandbox");
  writer.key("version").string(version_).end_object().end_object();
  return std::move(writer).take();
}

std::string Mcp::discover() const {
  Writer writer;
  writer.begin_object().key("supportedVersions").begin_array().string(stateless).end_array();
  writer.key("capabilities").begin_object().key("tools").begin_object();
  writer.end_object().end_object();
  writer.key("ttlMs").integer(0).key("cacheScope").string("private");
  write_server(writer);
  writer.end_object();
  return std::move(writer).take();
}

std::string Mcp::list_tools(const Message& message) const {
  Writer writer;
  writer.begin_object().key("tools");
  tools_.write_list(writer, message.scope());
  if (message.is_stateless) {
    writer.key("ttlMs").integer(0).key("cacheScope").string("private");
    write_server(writer);
  }
  writer.end_object();
  return std::move(writer).take();
}

// Writes the members of each result without a session.
void Mcp::write_server(Writer& writer) const {
  writer.key("resultType").string("complete");
  writer.key("_meta").begin_object().key(server_member).begin_object();
  writer.key("name").string("agent-sandbox").key("version").string(version_);
  writer.end_object().end_object();
}

}  // namespace server
