// The routes of webhooks: where events of a caller's sandboxes are sent.
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "runtime/json/writer.h"
#include "runtime/service/webhook_json.h"
#include "server/api/decode.h"
#include "server/api/route_groups.h"
#include "server/api/sandbox_target.h"

namespace server {
namespace {

using boost::asio::awaitable;
using runtime::Refusal;
using runtime::Webhooks;
using runtime::WebhookSecretShown;

Response answer_of(const Webhooks::View& webhook,
                   WebhookSecretShown secret = WebhookSecretShown::no, int status = 200) {
  runtime::json::Writer writer;
  runtime::write_webhook(writer, webhook, secret);
  return json_answer(std::move(writer), status);
}

Response answer_of(const Webhooks::Or<Webhooks::View>& outcome) {
  if (const auto* refusal = std::get_if<Refusal>(&outcome)) return problem(*refusal);
  return answer_of(std::get<Webhooks::View>(outcome));
}

awaitable<Response> create_webhook(runtime::Services services, const runtime::RequestRules* rules,
                                   Call call) {
  runtime::WebhookRequest request;
  if (auto refusal = decode_into(call.body, runtime::webhook_fields(), *rules, request)) {
    co_return std::move(*refusal);
  }
  const auto made = co_await services.webhooks->create(caller_of(call), std::move(request));
  if (const auto* refusal = std::get_if<Refusal>(&made)) co_return problem(*refusal);
  const auto& webhook = std::get<Webhooks::View>(made);
  services.logger.info("webhook created",
                       {{"request_id", call.head.request_id}, {"webhook_id", webhook.id}});
  Response response = answer_of(webhook, WebhookSecretShown::yes, 201);
  response.headers.push_back({"Location", "/v1/webhooks/" + webhook.id});
  co_return response;
}

awaitable<Response> list_webhooks(runtime::Services services, Call call) {
  runtime::json::Writer writer;
  writer.begin_object().key("webhooks").begin_array();
  for (const auto& webhook : services.webhooks->list(call.principal)) {
    runtime::write_webhook(writer, webhook);
  }
  writer.end_array().end_object();
  co_return json_answer(std::move(writer));
}

awaitable<Response> show_webhook(runtime::Services services, Call call) {
  co_return answer_of(services.webhooks->find(call.principal, call.parameter("id")));
}

awaitable<Response> change_webhook(runtime::Services services, const runtime::RequestRules* rules,
                                   Call call) {
  runtime::WebhookChange change;
  if (auto refusal = decode_into(call.body, runtime::webhook_change_fields(), *rules, change)) {
    co_return std::move(*refusal);
  }
  const auto changed =
      co_await services.webhooks->change(caller_of(call), call.parameter("id"), std::move(change));
  co_return answer_of(changed);
}

awaitable<Response> replace_secret(runtime::Services services, const runtime::RequestRules* rules,
                                   Call call) {
  runtime::WebhookSecretRequest request;
  const std::string_view body = call.body.empty() ? std::string_view("{}") : call.body;
  if (auto refusal = decode_into(body, runtime::webhook_secret_fields(), *rules, request)) {
    co_return std::move(*refusal);
  }
  const auto changed = co_await services.webhooks->replace_secret(
      caller_of(call), call.parameter("id"), request.former_signs_for);
  if (const auto* refusal = std::get_if<Refusal>(&changed)) co_return problem(*refusal);
  const auto& webhook = std::get<Webhooks::View>(changed);
  services.logger.info("webhook has another secret",
                       {{"request_id", call.head.request_id}, {"webhook_id", webhook.id}});
  co_return answer_of(webhook, WebhookSecretShown::yes);
}

awaitable<Response> delete_webhook(runtime::Services services, Call call) {
  const auto refused = co_await services.webhooks->remove(caller_of(call), call.parameter("id"));
  co_return refused ? problem(*refused) : no_content();
}

awaitable<Response> test_webhook(runtime::Services services, const runtime::RequestRules* rules,
                                 Call call) {
  if (auto refusal = refuse_fields(call.body, *rules)) co_return std::move(*refusal);
  const auto sent =
      co_await services.webhooks->test(caller_of(call), call.parameter("id"), call.gone);
  if (const auto* refusal = std::get_if<Refusal>(&sent)) co_return problem(*refusal);
  runtime::json::Writer writer;
  runtime::write_webhook_try(writer, std::get<runtime::WebhookTry>(sent));
  co_return json_answer(std::move(writer));
}

// The answer where the operator allows no webhooks.
awaitable<Response> no_webhooks(Call) { co_return problem(Webhooks::off()); }

}  // namespace

void add_webhook_routes(const RouteParts& parts) {
  using Versions = Route::Versions;
  const auto unless_off = [&parts](RouteHandler handle) {
    return parts.services.webhooks == nullptr ? RouteHandler(no_webhooks) : std::move(handle);
  };
  parts.table.add({"POST", "/v1/webhooks", Access::key(Scope::sandboxes), Cost::record,
                   unless_off(bound(create_webhook, parts.services, &parts.rules)), QueryNames(),
                   Versions::plain});
  parts.table.add({"GET", "/v1/webhooks", Access::key(Scope::read), Cost::record,
                   unless_off(bound(list_webhooks, parts.services)), QueryNames(),
                   Versions::plain});
  parts.table.add({"GET", "/v1/webhooks/{id}", Access::key(Scope::read), Cost::record,
                   unless_off(bound(show_webhook, parts.services)), QueryNames(), Versions::plain});
  parts.table.add({"PATCH", "/v1/webhooks/{id}", Access::key(Scope::sandboxes), Cost::record,
                   unless_off(bound(change_webhook, parts.services, &parts.rules)), QueryNames(),
                   Versions::plain});
  parts.table.add({"DELETE", "/v1/webhooks/{id}", Access::key(Scope::sandboxes), Cost::record,
                   unless_off(bound(delete_webhook, parts.services)), QueryNames(),
                   Versions::plain});
  parts.table.add({"POST", "/v1/webhooks/{id}/secret", Access::key(Scope::sandboxes), Cost::record,
                   unless_off(bound(replace_secret, parts.services, &parts.rules)), QueryNames(),
                   Versions::plain, std::string_view(), Route::Body::none});
  parts.table.add({"POST", "/v1/webhooks/{id}/test", Access::key(Scope::sandboxes), Cost::record,
                   unless_off(bound(test_webhook, parts.services, &parts.rules)), QueryNames(),
                   Versions::plain, std::string_view(), Route::Body::none});
}

}  // namespace server
