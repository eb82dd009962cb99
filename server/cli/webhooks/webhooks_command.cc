#include "server/cli/webhooks/webhooks_command.h"

#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "runtime/json/members.h"
#include "runtime/json/writer.h"
#include "server/api/query.h"
#include "server/cli/exit_codes.h"
#include "server/cli/sandbox/field_words.h"
#include "server/cli/sandbox/server_client.h"
#include "server/cli/sandbox/show_answer.h"
#include "server/cli/webhooks/webhooks_text.h"

namespace server::client {
namespace {

namespace json = runtime::json;

std::string webhook_path(std::string_view id) { return "/v1/webhooks/" + percent_encoded(id); }

void write_webhook_events(json::Writer& writer, const std::vector<std::string>& events) {
  writer.key("events").begin_array();
  for (const std::string& event : events) writer.string(event);
  writer.end_array();
}

// The answer, or what the server said of the webhook `id` in the words of the command line.
jail::Result<std::string> of_webhook(jail::Result<std::string> answer, const std::string& id) {
  if (answer) return answer;
  jail::Error error = answer.error();
  error.doing = refusal_of_a_webhook(std::move(error.doing), id);
  return error;
}

struct DispatchWebhooks {
  ServerClient& client;

  int operator()(const CreateWebhookOptions& options) const {
    json::Writer writer;
    writer.begin_object().key("url").string(options.url);
    write_webhook_events(writer, options.events);
    if (!options.name.empty()) writer.key("name").string(options.name);
    writer.end_object();
    const auto answer =
        client.ask({.method = "POST", .path = "/v1/webhooks", .body = std::move(writer).take()});
    return show(client, of_webhook(answer, {}), options.format, [](const json::Value& webhook) {
      return "id: " + shown(webhook, "id") + "\nsecret: " + shown(webhook, "secret") + "\n";
    });
  }
  int operator()(const ListWebhooksOptions& options) const {
    return show(client, client.get("/v1/webhooks"), options.format, [](const json::Value& answer) {
      const json::Array* const all = array_in(answer, "webhooks");
      return webhooks_text(all == nullptr ? json::Array() : *all, table_width(STDOUT_FILENO));
    });
  }
  int operator()(const GetWebhookOptions& options) const {
    const auto answer = client.get(webhook_path(options.id));
    return show(client, of_webhook(answer, options.id), options.format, webhook_text);
  }
  int operator()(const ChangeWebhookOptions& options) const {
    json::Writer writer;
    writer.begin_object();
    if (options.url) writer.key("url").string(*options.url);
    if (!options.events.empty()) write_webhook_events(writer, options.events);
    if (options.name) writer.key("name").string(*options.name);
    if (options.is_enabled) writer.key("enabled").boolean(*options.is_enabled);
    writer.end_object();
    const auto answer = client.ask(
        {.method = "PATCH", .path = webhook_path(options.id), .body = std::move(writer).take()});
    return show(client, of_webhook(answer, options.id), options.format, webhook_text);
  }
  int operator()(const TestWebhookOptions& options) const {
    const auto answer =
        client.ask({.method = "POST", .path = webhook_path(options.id) + "/test", .body = "{}"});
    if (!answer) return refused(client, of_webhook(answer, options.id).error());
    const auto attempt = json::parse(*answer, "answer");
    if (!attempt) return fail_unreadable();
    const int printed = options.format == Format::json
                            ? print_json(client, *answer)
                            : print(client, webhook_try_text(*attempt) + "\n");
    if (printed != 0) return printed;
    return shown(*attempt, "delivered") == "true" ? 0 : exit_refused;
  }
  int operator()(const WebhookSecretOptions& options) const {
    json::Writer writer;
    writer.begin_object();
    if (options.previous_seconds) {
      writer.key("previous_seconds").number(*options.previous_seconds);
    }
    writer.end_object();
    const auto answer = client.ask({.method = "POST",
                                    .path = webhook_path(options.id) + "/secret",
                                    .body = std::move(writer).take()});
    return show(client, of_webhook(answer, options.id), options.format,
                [](const json::Value& webhook) { return shown(webhook, "secret") + "\n"; });
  }
  // One that cannot be deleted does not keep the others from it.
  int operator()(const DeleteWebhooksOptions& options) const {
    int exit_code = 0;
    for (const std::string& id : options.ids) {
      const auto answer = client.ask({.method = "DELETE", .path = webhook_path(id)});
      if (answer) continue;
      exit_code = refused(client, of_webhook(answer, id).error());
      if (exit_code != exit_refused) break;
    }
    return exit_code;
  }
};

}  // namespace

int webhooks(const WebhooksOptions& options, const runtime::Environment& environment) {
  auto address = server_address(environment);
  if (!address) return server::fail(exit_usage, address.error().message());
  auto signals = Signals::block();
  if (!signals) return server::fail(exit_own_failure, signals.error().message());
  ServerClient client(std::move(*address), *signals);
  return std::visit(DispatchWebhooks{client}, options);
}

}  // namespace server::client
