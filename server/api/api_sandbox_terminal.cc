// WS /v1/sandboxes/{id}/terminal: a terminal in a living sandbox.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "runtime/json/reader.h"
#include "runtime/json/writer.h"
#include "runtime/service/sandbox_json.h"
#include "runtime/service/sandbox_queries.h"
#include "server/api/decode.h"
#include "server/api/query.h"
#include "server/api/route_groups.h"
#include "server/api/terminal_session.h"

namespace server {
namespace {

using runtime::json::Object;
using runtime::json::Value;
using runtime::json::Writer;

std::variant<TerminalWish, Response> read_wish(const Call& call) {
  runtime::TerminalQuery query;
  if (auto refusal = read_query(call.query, runtime::terminal_query_fields(), query)) {
    return std::move(*refusal);
  }
  if (const auto refusal = runtime::check_terminal_query(query)) return problem(*refusal);
  TerminalWish wish{
      .process = std::move(query.process), .pid = std::move(query.pid), .has_size = query.has_size};
  wish.process.terminal = {static_cast<std::uint16_t>(query.size.columns),
                           static_cast<std::uint16_t>(query.size.rows)};
  return wish;
}

// The terminal's bytes are binary messages, everything else is text messages.
class PlainDialect final : public TerminalDialect {
 public:
  explicit PlainDialect(const runtime::RequestRules& rules) : rules_(rules) {}

  std::variant<Order, Response> order_of(Channel::Message message) override {
    Order order;
    if (message.kind == Channel::Message::Kind::binary) {
      order.typed = std::move(message.bytes);
      return order;
    }
    auto body = object_of(message.bytes);
    if (auto* refusal = std::get_if<Response>(&body)) return std::move(*refusal);
    Object members = *std::get<Value>(body).as_object();
    const std::string type = take_type(members);
    std::optional<Response> refusal =
        problem(RefusalCode::bad_request, "type: expected resize or signal");
    if (type == "resize") refusal = read_size(members, order);
    if (type == "signal") refusal = read_signal(members, order);
    if (refusal) return std::move(*refusal);
    return order;
  }

  Messages begun() override { return {}; }

  Messages output(std::string bytes) override { return {{std::move(bytes), true}}; }

  Messages lost(std::uint64_t bytes) override {
    Writer writer;
    writer.begin_object().key("type").string("lost");
    writer.key("bytes").integer(static_cast<std::int64_t>(bytes)).end_object();
    return {{std::move(writer).take()}};
  }

  Messages ended(const runtime::Sandboxes& sandboxes, const runtime::Sandbox& sandbox,
                 const runtime::LivingProcess& process) override {
    Writer writer;
    writer.begin_object().key("type").string("exit");
    runtime::write_process_members(writer, sandboxes, sandbox, process);
    writer.end_object();
    return {{std::move(writer).take()}};
  }

  Messages parted() override { return {}; }

  Messages failed(const Response& problem) override {
    Writer writer;
    writer.begin_object().key("type").string("error").key("problem").json(problem.body);
    writer.end_object();
    return {{std::move(writer).take()}};
  }

 private:
  std::optional<Response> read_size(const Object& members, Order& order) const {
    auto& size = order.size.emplace();
    if (auto refusal = decode_into(members, runtime::process_resize_fields(), rules_, size)) {
      return refusal;
    }
    return std::nullopt;
  }

  std::optional<Response> read_signal(const Object& members, Order& order) const {
    auto& signal = order.signal.emplace();
    if (auto refusal = decode_into(members, runtime::process_signal_fields(), rules_, signal)) {
      return refusal;
    }
    return std::nullopt;
  }

  const runtime::RequestRules& rules_;
};

// Called before the connection becomes a WebSocket.
std::optional<Response> why_no_plain_terminal(const runtime::Services& services, const Call& call) {
  auto read = read_wish(call);
  if (auto* refusal = std::get_if<Response>(&read)) return std::move(*refusal);
  return why_no_terminal(services, call, std::get<TerminalWish>(read).pid);
}

boost::asio::awaitable<void> serve_plain_terminal(runtime::Services services,
                                                  const runtime::RequestRules* rules,
                                                  Upgrade upgrade) {
  // The request was valid before the handshake.
  auto wish = std::get<TerminalWish>(read_wish(upgrade.call));
  auto dialect = std::make_unique<PlainDialect>(*rules);
  return serve_terminal(services, std::move(upgrade), std::move(wish), std::move(dialect));
}

}  // namespace

void add_sandbox_terminal_route(const RouteParts& parts) {
  parts.table.add({"GET",
                   "/v1/sandboxes/{id}/terminal",
                   Access::key(Scope::sandboxes),
                   Cost::program,
                   {},
                   runtime::names_of(runtime::terminal_query_fields()),
                   Route::Versions::plain,
                   {},
                   Route::Body::whole,
                   Route::Leads::here,
                   [services = parts.services, rules = &parts.rules](Upgrade upgrade) {
                     return serve_plain_terminal(services, rules, std::move(upgrade));
                   },
                   [services = parts.services](const Call& call) {
                     return why_no_plain_terminal(services, call);
                   }});
}

}  // namespace server
