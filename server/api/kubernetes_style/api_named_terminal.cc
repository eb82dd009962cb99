// WS /api/v1/terminal/sandbox/{id}/ws: a shell in a named sandbox.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "runtime/json/reader.h"
#include "runtime/json/writer.h"
#include "runtime/service/field_readers.h"
#include "server/api/decode.h"
#include "server/api/kubernetes_style/envelope.h"
#include "server/api/kubernetes_style/table.h"
#include "server/api/route_groups.h"
#include "server/api/terminal_session.h"
#include "server/events/utf8_chunks.h"

namespace server::kubernetes_style {
namespace {

using runtime::Field;
using runtime::RequestField;
using runtime::json::Object;
using runtime::json::Value;
using runtime::json::Writer;

// The members of a client's message beside its type.
struct TypedMessage {
  std::string data;
  runtime::ResizeRequest size{.columns = 80, .rows = 24};
};

template <auto member>
runtime::Complaint read_side(const Field& field, const Value& value,
                             const runtime::RequestRules& rules, TypedMessage& message) {
  return runtime::read_integer<member>(field, value, rules, message.size);
}

runtime::Complaint read_data(const Field&, const Value& value, const runtime::RequestRules&,
                             TypedMessage& message) {
  if (value.as_string() == nullptr) return "expected a string";
  message.data = *value.as_string();
  return std::nullopt;
}

constexpr RequestField<TypedMessage> size_rows[] = {
    {runtime::side_field("cols"), read_side<&runtime::ResizeRequest::columns>},
    {runtime::side_field("rows"), read_side<&runtime::ResizeRequest::rows>}};
constexpr RequestField<TypedMessage> input_rows[] = {{{.name = "data"}, read_data}};

// All messages are text; bytes that are not UTF-8 become U+FFFD.
class TextDialect final : public TerminalDialect {
 public:
  explicit TextDialect(const runtime::RequestRules& rules) : rules_(rules) {}

  std::variant<Order, Response> order_of(Channel::Message message) override {
    if (message.kind != Channel::Message::Kind::text) {
      return problem(RefusalCode::bad_request, "expected messages of text");
    }
    auto body = object_of(message.bytes);
    if (auto* refusal = std::get_if<Response>(&body)) return std::move(*refusal);
    Object members = *std::get<Value>(body).as_object();
    const std::string type = take_type(members);
    Order order;
    TypedMessage content;
    std::optional<Response> refusal;
    if (type == "init" || type == "resize") {
      refusal = decode_into<TypedMessage>(members, size_rows, rules_, content);
      order.size = content.size;
    } else if (type == "input") {
      refusal = decode_into<TypedMessage>(members, input_rows, rules_, content);
      order.typed = std::move(content.data);
    } else if (type == "close") {
      refusal = decode_into<TypedMessage>(members, {}, rules_, content);
      order.is_goodbye = true;
    } else {
      refusal = problem(RefusalCode::bad_request, "type: expected init, resize, input or close");
    }
    if (refusal) return std::move(*refusal);
    return order;
  }

  Messages begun() override { return {{R"({"type":"ready"})"}}; }

  Messages output(std::string bytes) override { return text_of(chunks_.add(bytes)); }

  Messages lost(std::uint64_t) override { return {}; }

  Messages ended(const runtime::Sandboxes&, const runtime::Sandbox&,
                 const runtime::LivingProcess& process) override {
    Messages messages = text_of(chunks_.finish());
    const auto report = process.state().report;
    const bool has_code = report.ended == jail::Ended::exited;
    Writer writer;
    writer.begin_object().key("type").string("exit").key("code");
    writer.integer(has_code ? report.exit_code : 128 + report.signal).end_object();
    messages.push_back({std::move(writer).take()});
    messages.push_back({R"({"type":"closed"})"});
    return messages;
  }

  Messages parted() override { return {{R"({"type":"closed"})"}}; }

  Messages failed(const Response& problem) override {
    const auto read = runtime::json::parse(in_envelope(problem).body, "envelope");
    Writer writer;
    writer.begin_object().key("type").string("error").key("error");
    writer.string(*read->as_object()->at("error").as_string()).end_object();
    return {{std::move(writer).take()}, {R"({"type":"closed"})"}};
  }

 private:
  static Messages text_of(const std::string& text) {
    if (text.empty()) return {};
    Writer writer;
    writer.begin_object().key("type").string("output").key("data").string(text).end_object();
    return {{std::move(writer).take()}};
  }

  const runtime::RequestRules& rules_;
  Utf8Chunks chunks_;
};

boost::asio::awaitable<void> serve_named_terminal(runtime::Services services,
                                                  const runtime::RequestRules* rules,
                                                  Upgrade upgrade) {
  TerminalWish wish;
  wish.process.terminal = jail::TerminalSize{80, 24};
  auto dialect = std::make_unique<TextDialect>(*rules);
  return serve_terminal(services, std::move(upgrade), std::move(wish), std::move(dialect));
}

}  // namespace

void add_terminal_route(const RouteParts& parts) {
  Table table(parts.table);
  table.add({"GET",
             "/api/v1/terminal/sandbox/{id}/ws",
             Access::key(Scope::sandboxes),
             Cost::program,
             {},
             QueryNames(),
             Route::Versions::plain,
             {},
             Route::Body::whole,
             Route::Leads::here,
             [services = parts.services, rules = &parts.rules](Upgrade upgrade) {
               return serve_named_terminal(services, rules, std::move(upgrade));
             },
             [services = parts.services](const Call& call) {
               return why_no_terminal(services, call, std::string());
             }});
}

}  // namespace server::kubernetes_style
